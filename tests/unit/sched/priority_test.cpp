// priority_test.cpp: what the hint does to the order, and that it does no more.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include "unit/sched/priorities.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;
using test::hold_worker_until;
using test::kHigh;
using test::kLow;
using test::kNormal;

constexpr char letter(Priority priority) {
  return priority == Priority::low    ? 'l'
         : priority == Priority::high ? 'h'
                                      : 'n';
}

// On one worker: fibers write without atomics.
class PriorityTest : public test::RuntimeTest {
 protected:
  void SetUp() override { undisturbed(); }

  static std::string of_each(std::size_t count) {
    return std::string(count, 'h') + std::string(count, 'n') +
           std::string(count, 'l');
  }
  // Each adds the letter of its priority.
  static auto adds_to(std::string& order) {
    return [&order] { order += letter(this_fiber::priority()); };
  }
};

// ---- What it is

TEST_F(PriorityTest, IsWhatTheSpawnSaid) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([](Nursery& nursery) {
    EXPECT_EQ(this_fiber::priority(), Priority::normal);
    for (const auto priority :
         {Priority::low, Priority::normal, Priority::high}) {
      auto task = nursery.spawn(SpawnOptions{.priority = priority},
                                [] { return this_fiber::priority(); });
      EXPECT_EQ(task.priority(), priority);
      EXPECT_EQ(task.join().value(), priority);
      auto tried = nursery.try_spawn(SpawnOptions{.priority = priority},
                                     [] { return this_fiber::priority(); });
      EXPECT_EQ(tried.value().join().value(), priority);
    }
    auto plain = nursery.spawn([] {});  // in a frame of one that was not
    EXPECT_EQ(plain.priority(), Priority::normal);
  }));
  EXPECT_EQ(this_fiber::priority(), Priority::normal);  // of a plain thread
  EXPECT_EQ(Task<>().priority(), Priority::normal);
}

TEST_F(PriorityTest, IsNotInherited) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([](Nursery& nursery) {
    nursery.spawn(kHigh, [](Nursery& inner) {
      auto child = inner.spawn([] { return this_fiber::priority(); });
      EXPECT_EQ(child.join().value(), Priority::normal);
    });
  }));
}

// ---- Order

// R-TASK-03
TEST_F(PriorityTest, StartsHighFirstAndLowLast) {
  constexpr std::size_t kOfEach = 10;
  Runtime runtime = start(1);
  std::string order;
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    for (std::size_t i = 0; i < kOfEach; ++i) {
      nursery.spawn(kLow, adds_to(order));
      nursery.spawn(adds_to(order));
      nursery.spawn(kHigh, adds_to(order));
    }
    EXPECT_TRUE(nursery.join());  // which runs children in place
  }));
  EXPECT_EQ(order, of_each(kOfEach));
  expect_empty(runtime);
}

// R-TASK-03
TEST_F(PriorityTest, StartsHighFirstAndLowLastFromOutside) {
  constexpr std::size_t kOfEach = 10;
  for (const auto policy :
       {SpawnPolicy::local, SpawnPolicy::round_robin, SpawnPolicy::global}) {
    Runtime runtime = start(Config{.workers = 1, .spawn = policy});
    std::string order;
    std::atomic<bool> go{false};
    Gate held;
    Nursery all(runtime);
    all.spawn([&] {
      held.open();
      hold_worker_until([&] { return go.load(); });
    });
    EXPECT_TRUE(held.pass());
    for (std::size_t i = 0; i < kOfEach; ++i) {
      all.spawn(kLow, adds_to(order));
      all.spawn(adds_to(order));
      all.spawn(kHigh, adds_to(order));
    }
    go = true;
    EXPECT_TRUE(all.join());
    EXPECT_EQ(order, of_each(kOfEach));
    expect_empty(runtime);
  }
}

// R-TASK-03
TEST_F(PriorityTest, WakesHighFirstAndLowLast) {
  constexpr std::size_t kOfEach = 10;
  Runtime runtime = start(1);
  std::string order;
  Gate gate;
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    const auto waits = [&] {
      EXPECT_TRUE(gate.pass());
      adds_to(order)();
    };
    std::size_t waiting = 0;  // in this order
    for (const auto& options : {kLow, kNormal, kHigh}) {
      for (std::size_t i = 0; i < kOfEach; ++i) nursery.spawn(options, waits);
      waiting += kOfEach;
      while (gate.waiting() != waiting) this_fiber::yield();
    }
    gate.open();
  }));
  EXPECT_EQ(order, of_each(kOfEach));
}

// By a channel, one at a time, from a fiber that need not wait.
TEST_F(PriorityTest, WakesHighFirstByAChannel) {
  Runtime runtime = start(1);
  std::string order;
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    auto low = make_channel<int>(1);
    auto normal = make_channel<int>(1);
    auto high = make_channel<int>(1);
    const auto waits = [&order](Receiver<int> from) {
      EXPECT_TRUE(from.receive());
      adds_to(order)();
    };
    auto last = nursery.spawn(kLow, waits, low.receiver);
    nursery.spawn(waits, normal.receiver);
    nursery.spawn(kHigh, waits, high.receiver);
    while (last.state() != FiberState::parked) this_fiber::yield();
    EXPECT_TRUE(high.sender.send(1));  // not the newest: that runs first
    EXPECT_TRUE(low.sender.send(1));
    EXPECT_TRUE(normal.sender.send(1));
  }));
  EXPECT_EQ(order, "hnl");
}

TEST_F(PriorityTest, GoesBeforeAChildInPlace) {
  Runtime runtime = start(1);
  std::string order;
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    auto joined = nursery.spawn(adds_to(order));
    nursery.spawn(kLow, adds_to(order));
    nursery.spawn(kHigh, adds_to(order));
    EXPECT_TRUE(joined.join());
    EXPECT_EQ(order, "hn");
  }));
}

TEST_F(PriorityTest, IsFirstInFirstOutAmongItsLike) {
  constexpr int kTasks = 600;  // more than the ring of the queue has slots
  Runtime runtime = start(1);
  for (const auto& options : {kLow, kHigh}) {
    std::vector<int> order;
    EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
      for (int i = 0; i < kTasks; ++i) {
        nursery.spawn(options, [&order, i] { order.push_back(i); });
      }
    }));
    ASSERT_EQ(order.size(), std::size_t{kTasks});
    for (int i = 0; i < kTasks; ++i) {
      EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    }
  }
}

TEST_F(PriorityTest, YieldsAsItsLikeWaits) {
  Runtime runtime = start(1);
  std::string order;
  const auto twice = [&] {
    adds_to(order)();
    this_fiber::yield();
    adds_to(order)();
  };
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn(kLow, twice);
    nursery.spawn(kNormal, twice);
    nursery.spawn(kHigh, twice);
  }));
  EXPECT_EQ(order, "hnhnll");  // the high one lets one other run
  order.clear();
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    for (char name : {'a', 'b', 'c'}) {
      nursery.spawn(kLow, [&order, name] {
        for (int i = 0; i < 3; ++i) {
          order += name;
          this_fiber::yield();
        }
      });
    }
  }));
  EXPECT_EQ(order, "abcabcabc");
}

// Where all others have yielded as well.
TEST_F(PriorityTest, YieldsToOneOfThoseThatYielded) {
  Runtime runtime = start(1);
  std::string order;
  const auto thrice = [&] {
    for (int i = 0; i < 3; ++i) {
      adds_to(order)();
      this_fiber::yield();
    }
  };
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 3; ++i) nursery.spawn(thrice);
    this_fiber::yield();
    EXPECT_EQ(order, "nnn");  // they are behind us, in turn
    nursery.spawn(kHigh, thrice);
    this_fiber::yield();
    EXPECT_EQ(order, "nnnhnhnhn");
    this_fiber::yield();
  }));
  EXPECT_EQ(order, "nnnhnhnhnnnn");
}

TEST_F(PriorityTest, YieldsLowBehindThoseThatYielded) {
  Runtime runtime = start(1);
  std::string order;
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn(kLow, [&](Nursery& inner) {
      auto last = inner.spawn([] {});
      for (int i = 0; i < 2; ++i) {
        inner.spawn([&] {
          for (int round = 0; round < 3; ++round) {
            adds_to(order)();
            this_fiber::yield();
          }
        });
      }
      // Not in place. Who joins runs right after the child.
      EXPECT_TRUE(last.join(Deadline::after(std::chrono::hours(1))));
      adds_to(order)();
      this_fiber::yield();
      adds_to(order)();
    });
  }));
  EXPECT_EQ(order, "nnlnnnnl");
}

}  // namespace
}  // namespace weft
