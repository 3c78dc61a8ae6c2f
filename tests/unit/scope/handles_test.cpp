// handles_test.cpp: join_all(), join_race(), join_any().

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::Gate;
using test::WorkersTest;
using namespace std::chrono_literals;

constexpr SpawnOptions kKept{.on_failure = OnFailure::keep};

class HandlesTest : public WorkersTest {
 protected:
  static Result<int> fails_with(int code) { return Error::user(code); }
  static Result<int> throws(const char* what) {
    throw std::runtime_error(what);
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, HandlesTest, ::testing::Values(1u, 2u, 4u));

// A child that waits until it is let in, then gives what it was told.
struct Guarded {
  Gate gate;
  Task<int> start(Nursery& nursery, Result<int> result) {
    return nursery.spawn(kKept, [this, result]() -> Result<int> {
      WEFT_TRY(gate.pass());
      return result;
    });
  }
};

TEST_P(HandlesTest, AllGivesTheValuesInOrder) {
  in_fiber([] {
    for (const int count : {0, 1, 7, 100}) {
      Nursery nursery;
      std::vector<Task<int>> tasks;
      for (int i = 0; i < count; ++i) {
        tasks.push_back(nursery.spawn([i] { return i; }));
      }
      const auto values = join_all(tasks);
      ASSERT_TRUE(values);
      ASSERT_EQ(values->size(), static_cast<std::size_t>(count));
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ((*values)[static_cast<std::size_t>(i)], i);
        EXPECT_FALSE(tasks[static_cast<std::size_t>(i)]);  // taken
      }
      EXPECT_TRUE(nursery.join());
    }
  });
}

TEST_P(HandlesTest, AllTakesSpansArraysAndValuesThatCanOnlyBeMoved) {
  in_fiber([] {
    Nursery nursery;
    std::array<Task<std::unique_ptr<int>>, 2> moved{
        nursery.spawn([] { return std::make_unique<int>(1); }),
        nursery.spawn([] { return std::make_unique<int>(2); })};
    const auto values = join_all(moved);
    ASSERT_TRUE(values);
    EXPECT_EQ(*(*values)[0] + *(*values)[1], 3);

    Task<> plain[] = {nursery.spawn([] {}), nursery.spawn([] {})};
    EXPECT_TRUE(join_all(std::span<Task<>>(plain)));
    EXPECT_FALSE(plain[0] || plain[1]);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(HandlesTest, AllWaitsForTheOthersOfOneThatFailedAndTakesNothing) {
  in_fiber([] {
    Guarded slow;
    Nursery nursery;
    std::vector<Task<int>> tasks;
    tasks.push_back(nursery.spawn(kKept, [] { return 1; }));
    tasks.push_back(nursery.spawn(kKept, fails_with, 3));
    tasks.push_back(slow.start(nursery, 2));
    tasks.push_back(nursery.spawn(kKept, fails_with, 4));
    auto joiner = nursery.spawn(kKept, [&] { return join_all(tasks); });
    await_parked(tasks[2]);
    EXPECT_FALSE(joiner.done());
    slow.gate.open();
    EXPECT_EQ(joiner.join().error(), Error::user(3));
    for (auto& task : tasks) EXPECT_TRUE(task && task.done());
    EXPECT_EQ(tasks[0].join().value(), 1);
    EXPECT_EQ(tasks[1].join().error(), Error::user(3));
    EXPECT_EQ(tasks[2].join().value(), 2);
    EXPECT_EQ(tasks[3].join().error(), Error::user(4));
    EXPECT_TRUE(nursery.join());
  });
}

// Of siblings that a failure stopped each gives that failure.
TEST_P(HandlesTest, AllGivesTheFailureThatStoppedTheOthers) {
  in_fiber([] {
    Gate never;
    std::vector<Task<>> tasks;
    Nursery nursery;
    tasks.push_back(nursery.spawn([&] { return never.pass(); }));
    await_parked(tasks[0]);
    tasks.push_back(nursery.spawn([]() -> Status { return Error::user(5); }));
    EXPECT_EQ(join_all(tasks).error(), Error::user(5));
    EXPECT_EQ(nursery.join().error(), Error::user(5));
  });
}

TEST_P(HandlesTest, AllRethrowsAndTheExceptionStaysInItsTask) {
  in_fiber([] {
    Nursery nursery;
    std::vector<Task<int>> tasks;
    tasks.push_back(nursery.spawn(kKept, [] { return 1; }));
    tasks.push_back(nursery.spawn(kKept, throws, "second"));
    for (int again = 0; again < 2; ++again) {
      EXPECT_THROW((void)join_all(tasks), std::runtime_error);
    }
    EXPECT_THROW((void)tasks[1].join(), std::runtime_error);
    EXPECT_EQ(tasks[0].join().value(), 1);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(HandlesTest, AllTimesOutAndCanBeCalledAgain) {
  in_fiber([] {
    Guarded slow;
    Nursery nursery;
    std::vector<Task<int>> tasks;
    tasks.push_back(nursery.spawn([] { return 1; }));
    tasks.push_back(slow.start(nursery, 2));
    EXPECT_EQ(join_all(tasks, Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_TRUE(tasks[0] && tasks[1]);
    slow.gate.open();
    for (auto& task : tasks) EXPECT_TRUE(task.wait());
    // No time is needed for those that have ended.
    EXPECT_EQ(join_all(tasks, Deadline::after(-1s)).value(),
              (std::vector<int>{1, 2}));
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(HandlesTest, RaceGivesTheFirstToEndWhichIsStillToBeJoined) {
  in_fiber([] {
    for (const std::size_t count : {1u, 2u, 16u, 17u, 40u}) {
      for (const std::size_t chosen : {std::size_t{0}, count - 1}) {
        std::vector<Guarded> guarded(count);
        std::vector<Task<int>> tasks;
        Nursery nursery;
        for (auto& one : guarded) tasks.push_back(one.start(nursery, 7));
        auto racer = nursery.spawn([&] { return join_race(tasks); });
        await_parked(racer);
        guarded[chosen].gate.open();
        EXPECT_EQ(racer.join().value(), chosen);
        EXPECT_EQ(tasks[chosen].join().value(), 7);
        for (auto& one : guarded) one.gate.open();
        tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(chosen));
        EXPECT_EQ(join_all(tasks).value().size(), count - 1);
        EXPECT_TRUE(nursery.join());
      }
    }
  });
}

TEST_P(HandlesTest, RaceIsWonByAFailureToo) {
  in_fiber([] {
    Guarded slow;
    Nursery nursery;
    std::vector<Task<int>> tasks;
    tasks.push_back(slow.start(nursery, 1));
    tasks.push_back(nursery.spawn(kKept, throws, "first"));
    EXPECT_EQ(join_race(tasks).value(), 1u);
    EXPECT_EQ(join_race(tasks).value(), 1u);  // nothing was taken
    EXPECT_THROW((void)tasks[1].join(), std::runtime_error);
    slow.gate.open();
    EXPECT_EQ(tasks[0].join().value(), 1);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(HandlesTest, AnyTakesTheFirstThatSucceedsAndLeavesTheRest) {
  in_fiber([] {
    std::vector<Guarded> guarded(3);
    Nursery nursery;
    std::vector<Task<int>> tasks;
    tasks.push_back(guarded[0].start(nursery, Error::user(1)));
    tasks.push_back(guarded[1].start(nursery, 11));
    tasks.push_back(guarded[2].start(nursery, 12));
    auto joiner = nursery.spawn([&] { return join_any(tasks); });
    await_parked(joiner);
    guarded[0].gate.open();
    EXPECT_TRUE(tasks[0].done() || !joiner.done());
    guarded[2].gate.open();
    const auto winner = joiner.join().value();
    EXPECT_EQ(winner.index, 2u);
    EXPECT_EQ(winner.value, 12);
    EXPECT_FALSE(tasks[2]);
    EXPECT_EQ(tasks[0].join().error(), Error::user(1));
    guarded[1].gate.open();
    EXPECT_EQ(tasks[1].join().value(), 11);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(HandlesTest, AnyGivesTheFirstFailureInTimeIfNoneSucceeds) {
  in_fiber([] {
    for (const std::size_t count : {3u, 30u}) {
      std::vector<Guarded> guarded(count);
      Nursery nursery;
      std::vector<Task<int>> tasks;
      for (std::size_t i = 0; i < count; ++i) {
        tasks.push_back(
            guarded[i].start(nursery, Error::user(static_cast<int>(i))));
      }
      auto joiner = nursery.spawn(kKept, [&] { return join_any(tasks); });
      await_parked(joiner);
      for (std::size_t i = count; i-- > 0;) {  // the last is the first
        guarded[i].gate.open();
        if (i == 0) break;
        test::await_live(2 + i);  // so it has told the joiner
        await_parked(joiner);
      }
      EXPECT_EQ(joiner.join().error(),
                Error::user(static_cast<int>(count) - 1));
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(tasks[i].join().error(), Error::user(static_cast<int>(i)));
      }
      EXPECT_TRUE(nursery.join());
    }
  });
}

TEST_P(HandlesTest, AnyRethrowsIfNoneSucceeds) {
  in_fiber([] {
    Nursery nursery;
    std::vector<Task<int>> tasks;
    tasks.push_back(nursery.spawn(kKept, throws, "only"));
    EXPECT_THROW((void)join_any(tasks), std::runtime_error);
    EXPECT_THROW((void)tasks[0].join(), std::runtime_error);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(HandlesTest, AnyOfTasksWithoutAValue) {
  in_fiber([] {
    Nursery nursery;
    std::vector<Task<>> tasks;
    tasks.push_back(
        nursery.spawn(kKept, []() -> Status { return Errc::denied; }));
    EXPECT_EQ(join_any(tasks).error(), Errc::denied);
    tasks.push_back(nursery.spawn([] {}));
    EXPECT_EQ(join_any(tasks).value().index, 1u);
    EXPECT_EQ(join_race(tasks).value(), 0u);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(HandlesTest, RefuseNobodyAndOneself) {
  in_fiber([] {
    std::vector<Task<int>> none;
    EXPECT_EQ(join_race(none).error(), Errc::invalid);
    EXPECT_EQ(join_any(none).error(), Errc::invalid);
    EXPECT_TRUE(join_all(none).value().empty());
    EXPECT_TRUE(join_all(std::span<Task<>>()));

    std::vector<Task<>> own(1);
    std::atomic<bool> known{false};
    Nursery nursery;
    own[0] = nursery.spawn([&] {
      while (!known) this_fiber::yield();
      EXPECT_EQ(join_race(own).error(), Errc::invalid);
      EXPECT_EQ(join_any(own).error(), Errc::invalid);
      EXPECT_EQ(join_all(own).error(), Errc::invalid);
    });
    known = true;
    EXPECT_TRUE(nursery.join());
  });
}

// They are as children that failed at once.
TEST_P(HandlesTest, TakeEmptyHandlesAndRefusedSpawnsForFailures) {
  in_fiber([] {
    Nursery nursery({.on_failure = OnFailure::wait_for_all});
    std::vector<Task<int>> tasks(1);
    EXPECT_EQ(join_all(tasks).error(), Errc::invalid);
    EXPECT_EQ(join_any(tasks).error(), Errc::invalid);
    EXPECT_EQ(join_race(tasks).value(), 0u);
    tasks.push_back(nursery.spawn({.stack_size = StackSize{1}},
                                  [] { return 1; }));  // refused
    EXPECT_EQ(join_race(std::span(tasks).subspan(1)).value(), 0u);
    tasks.push_back(nursery.spawn([] { return 2; }));
    EXPECT_EQ(join_all(tasks).error(), Errc::invalid);
    const auto winner = join_any(tasks).value();
    EXPECT_EQ(winner.index, 2u);
    EXPECT_EQ(winner.value, 2);
    EXPECT_EQ(nursery.join().error(), Errc::invalid);
  });
}

// keep: the failure to start is the task's alone.
TEST_P(HandlesTest, ARefusedSpawnThatIsKeptIsNoFailureOfTheNursery) {
  in_fiber([] {
    Nursery nursery;
    auto task = nursery.spawn(
        {.stack_size = StackSize{1}, .on_failure = OnFailure::keep},
        [] { return 1; });
    EXPECT_EQ(task.join().error(), Errc::invalid);
    EXPECT_TRUE(this_fiber::checkpoint());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(HandlesTest, EndWithTheirCallerAndLeaveTheTasksAsTheyWere) {
  in_fiber([] {
    Guarded slow;
    Nursery nursery;
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 3; ++i) tasks.push_back(slow.start(nursery, i));
    for (auto& task : tasks) await_parked(task);
    as_cancelled([&] {
      EXPECT_EQ(join_all(tasks).error(), Errc::cancelled);
      EXPECT_EQ(join_race(tasks).error(), Errc::cancelled);
      EXPECT_EQ(join_any(tasks).error(), Errc::cancelled);
    });
    EXPECT_EQ(join_race(tasks, Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_EQ(join_any(tasks, Deadline::after(1us)).error(), Errc::timed_out);
    {
      CancelScope scope(Deadline::after(1us));
      EXPECT_EQ(join_any(tasks).error(), Errc::timed_out);
      EXPECT_EQ(join_race(tasks).error(), Errc::timed_out);
      EXPECT_EQ(join_all(tasks).error(), Errc::timed_out);
    }
    slow.gate.open();
    EXPECT_EQ(join_all(tasks).value(), (std::vector<int>{0, 1, 2}));
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(HandlesTest, AreWaitedForByPlainThreads) {
  Nursery nursery(runtime());
  for (int round = 0; round < 50; ++round) {
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 4; ++i) {
      tasks.push_back(nursery.spawn(kKept, [i]() -> Result<int> {
        this_fiber::yield();
        if (i != 2) return Error::user(i);
        return i;
      }));
    }
    ASSERT_TRUE(join_race(tasks));
    const auto winner = join_any(tasks);
    ASSERT_EQ(winner.value().index, 2u);
    tasks.erase(tasks.begin() + 2);
    ASSERT_EQ(join_all(tasks).error(), Error::user(0));
  }
  EXPECT_TRUE(nursery.join());
}

// Everybody ends at about the same time, one after the other is taken.
TEST_P(HandlesTest, GiveEachWinnerOnceInAStorm) {
  in_fiber([&] {
    for (int round = 0; round < (explored() ? 10 : 200); ++round) {
      Nursery nursery;
      std::vector<Task<int>> tasks;
      for (int i = 0; i < 20; ++i) {
        tasks.push_back(nursery.spawn(kKept, [i]() -> Result<int> {
          for (int k = 0; k < i % 3; ++k) this_fiber::yield();
          if (i % 2 == 0) return Error::user(i);
          return i;
        }));
      }
      for (int won = 0; won < 10; ++won) {
        const auto winner = join_any(tasks);
        ASSERT_TRUE(winner);
        ASSERT_EQ(winner->value % 2, 1);
        tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(winner->index));
      }
      ASSERT_EQ(join_any(tasks).error().code(), Errc::failed);
      ASSERT_TRUE(nursery.join());
    }
  });
}

}  // namespace
}  // namespace weft
