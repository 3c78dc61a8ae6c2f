#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;
using test::WorkersTest;
using namespace std::chrono_literals;

class TaskTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, TaskTest, ::testing::Values(1u, 2u, 4u));

// R-JOIN-05 R-SPAWN-05
TEST_P(TaskTest, GivesTheResultOfItsBody) {
  in_fiber([&] {
    Nursery nursery;
    std::vector<Task<std::string>> tasks;
    for (int i = 0; i < 1000; ++i) {
      tasks.push_back(
          nursery.spawn([](int n) { return std::to_string(n); }, i));
    }
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(tasks[static_cast<std::size_t>(i)].join().value(),
                std::to_string(i));
    }
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(TaskTest, MovesClosuresAndResults) {
  in_fiber([&] {
    Nursery nursery;
    auto task = nursery.spawn(
        [own = std::make_unique<int>(40)](std::unique_ptr<int> more) {
          return std::make_unique<int>(*own + *more);
        },
        std::make_unique<int>(2));
    EXPECT_EQ(*task.join().value(), 42);
    EXPECT_TRUE(nursery.join());
  });
}

struct alignas(128) Large {
  std::array<std::uint64_t, 64> words{};
};

TEST_P(TaskTest, CarriesLargeAndOveralignedValues) {
  in_fiber([&] {
    Nursery nursery;
    Large given;
    given.words[63] = 7;
    auto task = nursery.spawn([given] {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&given) % 128, 0u);
      Large result = given;
      ++result.words[63];
      return result;
    });
    const auto result = task.join();
    EXPECT_EQ(result.value().words[63], 8u);
    EXPECT_TRUE(nursery.join());
  });
}

// Counts how many of its kind live.
struct Counted {
  explicit Counted(std::atomic<int>& n) : alive(&n) { ++*alive; }
  Counted(const Counted& other) : alive(other.alive) { ++*alive; }
  Counted(Counted&& other) noexcept : alive(other.alive) { ++*alive; }
  ~Counted() { --*alive; }
  std::atomic<int>* alive;
};

TEST_P(TaskTest, DestroysEveryClosureAndEveryResult) {
  std::atomic<int> alive{0};
  in_fiber([&] {
    Nursery nursery({.on_failure = OnFailure::wait_for_all});
    for (int i = 0; i < 100; ++i) {
      auto dropped = nursery.spawn([c = Counted(alive)] { return c; });
      auto cancelled = nursery.spawn([c = Counted(alive)] { return c; });
      cancelled.cancel();
      auto thrown =
          nursery.spawn([c = Counted(alive)]() -> Counted { throw c; });
      EXPECT_TRUE(dropped.wait());
      EXPECT_TRUE(thrown.wait());
      (void)cancelled.wait();
      auto joined = nursery.spawn([c = Counted(alive)] { return c; });
      EXPECT_TRUE(joined.join());
    }
    EXPECT_THROW((void)nursery.join(), Counted);
  });
  EXPECT_EQ(alive, 0);
}

struct ThrowsOnCopy {
  explicit ThrowsOnCopy(std::atomic<int>& n) : counted(n) {}
  ThrowsOnCopy(const ThrowsOnCopy& other) : counted(other.counted) {
    throw std::runtime_error("copy");
  }
  void operator()() const { ADD_FAILURE() << "a body without a copy runs"; }
  Counted counted;
};

TEST_P(TaskTest, LeavesNothingBehindWhenItsClosureCannotBeCopied) {
  std::atomic<int> alive{0};
  in_fiber([&] {
    Nursery nursery;
    const ThrowsOnCopy body(alive);
    for (int i = 0; i < 10; ++i) {
      EXPECT_THROW((void)nursery.spawn(body), std::runtime_error);
      EXPECT_THROW((void)nursery.spawn(SpawnOptions{.name = "named"}, body),
                   std::runtime_error);
    }
    EXPECT_EQ(nursery.live(), 0u);
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(runtime().ref().stats().fibers_live, 1u);
  });
  EXPECT_EQ(alive, 0);
}

TEST_P(TaskTest, KeepsTheTypeOfAnException) {
  in_fiber([&] {
    Nursery nursery;
    auto task = nursery.spawn([]() -> int { throw std::string("what"); });
    try {
      (void)task.join();
      ADD_FAILURE() << "does not throw";
    } catch (const std::string& what) {
      EXPECT_EQ(what, "what");
    }
    EXPECT_FALSE(task);
    EXPECT_THROW((void)nursery.join(), std::string);
  });
}

TEST_P(TaskTest, GivesAnErrorByValue) {
  in_fiber([&] {
    Nursery nursery;
    auto task = nursery.spawn([]() -> Result<int> { return Error::os(2); });
    EXPECT_EQ(task.join().error(), Error::os(2));
    EXPECT_EQ(nursery.join().error(), Error::os(2));
  });
}

TEST_P(TaskTest, MayBeDroppedBeforeDuringAndAfterItsFiber) {
  std::atomic<int> ended{0};
  in_fiber([&] {
    Gate gate;
    Nursery nursery;
    {
      const auto before = nursery.spawn([&] {
        ++ended;
        return 1;
      });
    }
    {
      const auto during = nursery.spawn([&] {
        EXPECT_TRUE(gate.pass());
        ++ended;
        return std::make_unique<int>(2);
      });
      while (gate.waiting() == 0) this_fiber::yield();
    }
    gate.open();
    {
      auto after = nursery.spawn([&] {
        ++ended;
        return std::make_unique<int>(3);
      });
      EXPECT_TRUE(after.wait());
    }
    EXPECT_TRUE(nursery.join());
  });
  EXPECT_EQ(ended, 3);
}

TEST_P(TaskTest, TellsItsNameUntilItsFiberEnds) {
  in_fiber([&] {
    for (int i = 0; i < 300; ++i) {
      Nursery nursery;
      auto task = nursery.spawn(SpawnOptions{.name = "short-lived"},
                                [] { this_fiber::yield(); });
      while (!task.done()) {
        const auto name = std::string(task.name());
        EXPECT_TRUE(name == "short-lived" || name.empty()) << name;
        this_fiber::yield();
      }
      EXPECT_TRUE(nursery.join());
    }
  });
}

// R-CTRL-06 R-JOIN-01 R-AFF-04
TEST_P(TaskTest, IsUsedAgainRightAfterItsJoin) {
  in_fiber([&] {
    Nursery nursery;
    const auto work = [&](Nursery& inner) {
      for (int i = 0; i < 2000; ++i) {
        auto task = inner.spawn([i] { return i; });
        ASSERT_EQ(task.join(Deadline::after(1h)).value(), i);
      }
    };
    for (int i = 0; i < 4; ++i) nursery.spawn(work);
    EXPECT_TRUE(nursery.join());
  });
}

// R-CTRL-07
TEST_P(TaskTest, TellsTheStateOfItsFiber) {
  in_fiber([&] {
    Gate gate;
    Nursery nursery;
    auto task = nursery.spawn([&] { EXPECT_TRUE(gate.pass()); });
    while (task.state() != FiberState::parked) this_fiber::yield();
    EXPECT_FALSE(task.done());
    gate.open();
    EXPECT_TRUE(task.wait());
    EXPECT_EQ(task.state(), FiberState::completed);
    EXPECT_TRUE(task.done());
    auto unstarted = nursery.spawn([] {});
    unstarted.cancel();
    EXPECT_TRUE(unstarted.wait());
    const auto state = unstarted.state();
    EXPECT_TRUE(state == FiberState::cancelled ||
                (GetParam() > 1 && state == FiberState::completed));
    EXPECT_EQ(Task<>().state(), FiberState::completed);
    EXPECT_TRUE(nursery.join());
  });
}

// R-JOIN-04
TEST_P(TaskTest, IsJoinedByAPlainThread) {
  Gate gate;
  Nursery nursery(runtime());
  for (int i = 0; i < 1000; ++i) {
    auto task = nursery.spawn([i] { return i; });
    ASSERT_EQ(task.join().value(), i);
  }
  auto waiting = nursery.spawn([&] {
    EXPECT_TRUE(gate.pass());
    return 1;
  });
  EXPECT_EQ(waiting.join(Deadline::after(1us)).error(), Errc::timed_out);
  gate.open();
  EXPECT_EQ(waiting.join().value(), 1);
  EXPECT_TRUE(nursery.join());
}

// R-JOIN-06: results are reached through the handle, and that has one holder.
TEST_P(TaskTest, GivesItsResultToItsHolderAlone) {
  static_assert(!std::is_copy_constructible_v<Task<int>> &&
                !std::is_copy_assignable_v<Task<int>> &&
                std::is_nothrow_move_constructible_v<Task<int>> &&
                !std::is_constructible_v<Task<int>, FiberId>);
  in_fiber([&] {
    Nursery nursery;
    auto first = nursery.spawn([] { return 5; });
    Task<int> second = std::move(first);
    EXPECT_EQ(first.join().error(), Errc::invalid);  // NOLINT: moved from
    EXPECT_EQ(first.id(), FiberId{});
    EXPECT_EQ(second.join().value(), 5);
    EXPECT_EQ(second.join().error(), Errc::invalid);  // taken
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
