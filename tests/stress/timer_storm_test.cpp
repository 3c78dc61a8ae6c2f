// timer_storm_test.cpp: thousands of deadlines at once; none early, none lost.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "stress/baton.hpp"
#include "stress/scale.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using base::Rng;
using test::Baton;
using test::Gate;
using test::scaled;

class TimerStormTest : public test::WorkersTest {};

Clock::duration some_delay(Rng& rng) {
  return std::chrono::microseconds(rng.below(1'500));
}

// One wait that only time or a cancel can end.
Status wait_for_time(Rng& rng, Gate& closed) {
  const auto when = Clock::now() + some_delay(rng);
  Status end;
  switch (rng.below(3)) {
    case 0:
      end = this_fiber::sleep_until(Deadline(when));
      break;
    case 1:
      end = this_fiber::sleep_for(when - Clock::now());
      break;
    default:
      end = closed.pass(Deadline(when));
      EXPECT_FALSE(end);
      if (end.error() == Errc::timed_out) end = {};
      break;
  }
  if (end) {
    EXPECT_GE(Clock::now(), when);
  } else {
    EXPECT_EQ(end.error(), Errc::cancelled);
  }
  return end;
}

// How often each of these came about.
struct Tally {
  std::atomic<int> slept{0};
  std::atomic<int> finished{0};   // bodies that slept through all
  std::atomic<int> cancelled{0};  // bodies that were told to end
};

Status sleep_often(std::uint64_t seed, int rounds, Gate& closed, Tally& tally) {
  Rng rng(seed);
  for (int i = 0; i < rounds; ++i) {
    if (Status end = wait_for_time(rng, closed); !end) {
      ++tally.cancelled;
      return end;
    }
    ++tally.slept;
  }
  ++tally.finished;
  return {};
}

// R-TIMER-01 R-TIMER-02
TEST_P(TimerStormTest, NoSleepEndsEarly) {
  constexpr int kRounds = 6;
  constexpr int kThreads = 4;
  const int fibers = scaled(4'000);
  Gate closed;
  Tally tally;
  Nursery nursery(runtime());
  for (int i = 0; i < fibers; ++i) {
    nursery.spawn([&, seed = static_cast<std::uint64_t>(i)] {
      return sleep_often(seed, kRounds, closed, tally);
    });
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, seed = static_cast<std::uint64_t>(fibers + i)] {
      EXPECT_TRUE(sleep_often(seed, kRounds, closed, tally));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(tally.finished, fibers + kThreads);
  EXPECT_EQ(tally.slept, (fibers + kThreads) * kRounds);
  EXPECT_EQ(tally.cancelled, 0);
  EXPECT_EQ(closed.waiting(), 0u);
}

// R-TIMER-01 R-TIMER-02: of a deadline and a cancel one ends each wait.
TEST_P(TimerStormTest, SleepersEndOnceWhetherCancelledOrNot) {
  constexpr int kRounds = 6;
  const int fibers = scaled(4'000);
  Gate closed;
  Tally tally;
  int passed = 0;   // told by the handles
  int refused = 0;  // told by the handles
  int spared = 0;
  in_fiber([&] {
    Nursery nursery;
    Rng rng(7);
    std::vector<Task<>> tasks;
    std::vector<bool> cancels;
    for (int i = 0; i < fibers; ++i) {
      tasks.push_back(nursery.spawn([&, seed = static_cast<std::uint64_t>(i)] {
        return sleep_often(seed, kRounds, closed, tally);
      }));
      // Some fibers are already asleep when the last one is spawned.
      if (rng.below(64) == 0) this_fiber::yield();
    }
    for (auto& task : tasks) {
      cancels.push_back(rng.below(3) == 0);
      if (cancels.back()) {
        task.cancel();
        if (rng.below(8) == 0) this_fiber::yield();
      } else {
        ++spared;
      }
    }
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto end = tasks[i].join();
      ++(end ? passed : refused);
      if (!end) {
        EXPECT_EQ(end.error(), Errc::cancelled);
        EXPECT_TRUE(cancels[i]);
      }
    }
    EXPECT_TRUE(nursery.join());
  });
  EXPECT_EQ(passed + refused, fibers);
  EXPECT_EQ(passed, tally.finished);
  EXPECT_GE(passed, spared);
  // A body that was cancelled before it began has told nobody.
  EXPECT_GE(refused, tally.cancelled);
  EXPECT_GE(tally.slept, tally.finished * kRounds);
  EXPECT_EQ(closed.waiting(), 0u);
}

// R-TIMER-02: of a deadline and a wake one ends each wait.
TEST_P(TimerStormTest, WhatIsGivenToTimedWaitersIsTakenOnce) {
  const int fibers = scaled(2'000);
  constexpr int kThreads = 4;
  constexpr int kRounds = 6;
  Baton baton;
  std::atomic<int> taken{0};
  std::atomic<int> late{0};
  const auto take_often = [&](std::uint64_t seed) {
    Rng rng(seed);
    for (int i = 0; i < kRounds; ++i) {
      const auto when = Clock::now() + some_delay(rng);
      const auto end = baton.take(Deadline(when));
      if (end) {
        ++taken;
      } else {
        EXPECT_EQ(end.error(), Errc::timed_out);
        EXPECT_GE(Clock::now(), when);
        ++late;
      }
    }
  };
  const int gives = fibers * kRounds / 2;
  Nursery nursery(runtime());
  for (int i = 0; i < fibers; ++i) {
    nursery.spawn(take_often, static_cast<std::uint64_t>(i));
  }
  nursery.spawn([&] {
    for (int i = 0; i < gives; ++i) {
      baton.give();
      if (i % 16 == 0) this_fiber::yield();
    }
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back(take_often, static_cast<std::uint64_t>(fibers + i));
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(taken + late, (fibers + kThreads) * kRounds);
  EXPECT_EQ(taken + baton.count(), gives);
  EXPECT_EQ(baton.waiting(), 0);
}

INSTANTIATE_TEST_SUITE_P(Workers, TimerStormTest,
                         ::testing::Values(1u, 2u, 4u));

}  // namespace
}  // namespace weft
