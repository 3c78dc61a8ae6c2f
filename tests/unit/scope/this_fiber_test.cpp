#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;
using test::RuntimeTest;
using test::WorkersTest;

class ThisFiberTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ThisFiberTest, ::testing::Values(1u, 4u));

TEST_P(ThisFiberTest, HasAnIdThatNoOtherHas) {
  std::mutex mutex;
  std::set<std::uint64_t> ids;
  std::vector<std::thread> threads;
  const auto note = [&] {
    const auto id = this_fiber::id().value;
    EXPECT_NE(id, 0u);
    std::lock_guard hold(mutex);
    EXPECT_TRUE(ids.insert(id).second);
  };
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      note();
      Nursery nursery(runtime());
      for (int k = 0; k < 200; ++k) {
        auto task = nursery.spawn([&](Nursery& inner) {
          note();
          inner.spawn(note);
        });
        EXPECT_TRUE(task.join());
      }
      EXPECT_TRUE(nursery.join());
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ids.size(), 4u + 4 * 2 * 200);
}

TEST_P(ThisFiberTest, HasTheIdOfItsTask) {
  in_fiber([&] {
    Gate gate;
    Nursery nursery;
    auto task = nursery.spawn([&] {
      EXPECT_TRUE(gate.pass());
      return this_fiber::id();
    });
    const auto id = task.id();
    gate.open();
    EXPECT_EQ(task.join().value(), id);
    std::ostringstream text;
    text << FiberId{17};
    EXPECT_EQ(text.str(), "#17");
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ThisFiberTest, HasANameOfItsOwn) {
  in_fiber([&] {
    EXPECT_EQ(this_fiber::name(), "");
    Gate gate;
    Nursery nursery({.name = "nursery"});
    EXPECT_EQ(nursery.name(), "nursery");
    std::string name = "child";
    auto task = nursery.spawn(SpawnOptions{.name = name}, [&] {
      EXPECT_EQ(this_fiber::name(), "child");
      EXPECT_TRUE(gate.pass());
      EXPECT_TRUE(this_fiber::set_name("renamed"));
      EXPECT_EQ(this_fiber::name(), "renamed");
    });
    name = "gone";
    while (gate.waiting() == 0) this_fiber::yield();
    EXPECT_EQ(task.name(), "child");
    gate.open();
    EXPECT_TRUE(task.join());
    auto next = nursery.spawn([] { return std::string(this_fiber::name()); });
    EXPECT_EQ(next.join().value(), "");
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ThisFiberTest, KnowsItsRuntime) {
  in_fiber([&] {
    EXPECT_TRUE(this_fiber::is_fiber());
    EXPECT_EQ(this_fiber::runtime().worker_count(), GetParam());
    EXPECT_TRUE(this_fiber::runtime().running());
    Nursery root(this_fiber::runtime());
    EXPECT_EQ(root.spawn([] { return 3; }).join().value(), 3);
    EXPECT_TRUE(root.join());
  });
}

TEST_P(ThisFiberTest, IsAProxyOnAPlainThread) {
  EXPECT_FALSE(this_fiber::is_fiber());
  EXPECT_FALSE(this_fiber::cancelled());
  EXPECT_TRUE(this_fiber::checkpoint());
  EXPECT_NE(this_fiber::id().value, 0u);
  EXPECT_EQ(this_fiber::id(), this_fiber::id());
  this_fiber::yield();
  std::thread thread([] {
    EXPECT_TRUE(this_fiber::set_name("plain"));
    EXPECT_EQ(this_fiber::name(), "plain");
  });
  thread.join();
}

TEST_P(ThisFiberTest, IsCancelledAtItsCheckpoints) {
  in_fiber([&] {
    std::atomic<bool> started{false};
    Nursery nursery;
    auto task = nursery.spawn([&]() -> Status {
      EXPECT_FALSE(this_fiber::cancelled());
      started = true;
      for (;;) WEFT_TRY(this_fiber::checkpoint());
    });
    while (!started) this_fiber::yield();
    task.cancel();
    EXPECT_EQ(task.join().error(), Errc::cancelled);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ThisFiberTest, WaitsForItsChildrenEvenIfCancelled) {
  in_fiber([&] {
    Gate gate;
    std::atomic<bool> ended{false};
    Nursery nursery;
    auto parent = nursery.spawn([&](Nursery& inner) {
      inner.spawn([&] {
        const Shield shield;
        EXPECT_TRUE(gate.pass());
        ended = true;
      });
    });
    while (gate.waiting() == 0) this_fiber::yield();
    parent.cancel();
    gate.open();
    EXPECT_TRUE(parent.join());
    EXPECT_TRUE(ended);
    EXPECT_TRUE(nursery.join());
  });
}

inline FiberLocal<int> counter{7};
std::atomic<int> locals_alive{0};
struct Tracked {
  Tracked() { ++locals_alive; }
  Tracked(const Tracked&) { ++locals_alive; }
  ~Tracked() { --locals_alive; }
  int value = 0;
};
inline FiberLocal<Tracked> tracked;

TEST_P(ThisFiberTest, HasLocalsOfItsOwn) {
  in_fiber([&] {
    Nursery nursery;
    ++*counter;
    for (int i = 0; i < 100; ++i) {
      nursery.spawn([i] {
        EXPECT_EQ(*counter, 7);
        *counter = i;
        this_fiber::yield();
        EXPECT_EQ(*counter, i);
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(*counter, 8);
    auto in_place = nursery.spawn([] { return *counter; });
    EXPECT_FALSE(in_place);  // closed by the join
  });
}

TEST_P(ThisFiberTest, DestroysItsLocalsAtItsEnd) {
  const int before = locals_alive;
  in_fiber([&] {
    Nursery nursery;
    for (int i = 0; i < 100; ++i) {
      nursery.spawn([i] {
        tracked->value = i;
        this_fiber::yield();
        EXPECT_EQ(tracked->value, i);
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(locals_alive, before);
  });
  std::thread thread([&] {
    tracked->value = 1;
    EXPECT_EQ(locals_alive, before + 1);
  });
  thread.join();
  EXPECT_EQ(locals_alive, before);
}

// Uses another local while it is destroyed.
struct Restless {
  ~Restless() {
    if (touched) tracked->value = 1;
  }
  bool touched = false;
};
inline FiberLocal<Restless> restless;

TEST_P(ThisFiberTest, DestroysLocalsThatItsLocalsMade) {
  const int before = locals_alive;
  in_fiber([&] {
    Nursery nursery;
    nursery.spawn([] { restless->touched = true; });
    EXPECT_TRUE(nursery.join());
  });
  std::thread thread([] { restless->touched = true; });
  thread.join();
  EXPECT_EQ(locals_alive, before);
}

}  // namespace
}  // namespace weft
