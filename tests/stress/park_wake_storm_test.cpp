// park_wake_storm_test.cpp: a million parks and wakes; none lost, none twice.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "stress/baton.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include "wait/park.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Baton;
using test::scaled;

class ParkWakeStormTest : public test::WorkersTest {};

// One half of a pair that wakes each other in turn.
void play(Baton& mine, Baton& other, int rounds, bool serves) {
  for (int i = 0; i < rounds; ++i) {
    if (serves) other.give();
    ASSERT_TRUE(mine.take());
    if (!serves) other.give();
  }
}

struct Pair {
  Baton left;
  Baton right;
};

// R-PARK-01 R-UNPARK-03 R-WAITABLE-02
TEST_P(ParkWakeStormTest, PairsOfFibersWakeEachOther) {
  constexpr int kPairs = 8;
  const int rounds = scaled(25'000);
  std::vector<Pair> pairs(kPairs);
  in_fiber([&] {
    Nursery nursery;
    for (auto& pair : pairs) {
      nursery.spawn([&] { play(pair.left, pair.right, rounds, true); });
      nursery.spawn([&] { play(pair.right, pair.left, rounds, false); });
    }
    EXPECT_TRUE(nursery.join());
  });
  for (auto& pair : pairs) {
    EXPECT_EQ(pair.left.count() + pair.right.count(), 0);
  }
}

// R-PARK-01 R-JOIN-04
TEST_P(ParkWakeStormTest, FibersAndThreadsWakeEachOther) {
  constexpr int kPairs = 3;
  const int rounds = scaled(6'000);
  std::vector<Pair> pairs(kPairs);
  Nursery nursery(runtime());
  std::vector<std::thread> threads;
  for (auto& pair : pairs) {
    nursery.spawn([&] { play(pair.left, pair.right, rounds, true); });
    threads.emplace_back([&] { play(pair.right, pair.left, rounds, false); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(nursery.join());
}

// R-PARK-01 R-PARK-09 R-UNPARK-02 R-MEMORD-06: the raw park, with a plain
// value that only the wake publishes.
TEST_P(ParkWakeStormTest, RawParksSeeEveryTurn) {
  constexpr int kPairs = 8;
  const auto rounds = static_cast<std::uint32_t>(scaled(40'000));
  struct Court {
    Atomic<std::uint32_t> turn{0};
    std::uint64_t ball = 0;  // whoever's turn it is
    waiting::ParkHandle player[2];
    std::atomic<int> here{0};
  };
  std::vector<Court> courts(kPairs);
  const auto play_raw = [rounds](Court& court, std::uint32_t me) {
    court.player[me] = waiting::park_handle();
    ++court.here;
    while (court.here != 2) this_fiber::yield();
    for (std::uint32_t i = me; i < 2 * rounds; i += 2) {
      for (auto seen = court.turn.load(acquire); seen != i;
           seen = court.turn.load(acquire)) {
        ASSERT_TRUE(waiting::park_if(court.turn, seen));
      }
      ASSERT_EQ(court.ball, i);
      ++court.ball;
      court.turn.store(i + 1, release);
      waiting::unpark(court.player[1 - me]);
    }
  };
  in_fiber([&] {
    Nursery nursery;
    for (auto& court : courts) {
      nursery.spawn([&] { play_raw(court, 0); });
      nursery.spawn([&] { play_raw(court, 1); });
    }
    EXPECT_TRUE(nursery.join());
  });
}

// R-TIMER-03 R-WAITABLE-07 R-CTRL-11: of a wake and a deadline one wins.
TEST_P(ParkWakeStormTest, WhatIsGivenIsTakenOnceWhateverTheDeadlines) {
  constexpr int kTakers = 12;
  const int gives = scaled(15'000);
  Baton baton;
  std::atomic<int> taken{0};
  std::atomic<int> timed_out{0};
  std::atomic<int> givers{2};
  const auto give = [&](int count) {
    base::Rng rng(static_cast<std::uint64_t>(count));
    for (int i = 0; i < count; ++i) {
      baton.give();
      if (rng.below(8) == 0) this_fiber::yield();
    }
    --givers;
  };
  Nursery nursery(runtime());
  for (std::uint64_t id = 0; id < kTakers; ++id) {
    nursery.spawn([&, id] {
      base::Rng rng(id);
      while (givers != 0 || baton.count() != 0) {
        const auto end = baton.take(
            Deadline::after(std::chrono::microseconds(rng.below(60))));
        if (end) {
          ++taken;
        } else {
          ASSERT_EQ(end.error(), Errc::timed_out);
          ++timed_out;
        }
      }
    });
  }
  nursery.spawn([&] { give(gives); });
  std::thread thread([&] { give(gives / 4); });
  thread.join();
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(taken, gives + gives / 4);
  EXPECT_EQ(baton.count(), 0);
  EXPECT_EQ(baton.waiting(), 0);
}

// R-TRANS-03 R-UNPARK-07: a cancel is a third one in the race.
TEST_P(ParkWakeStormTest, WakesDeadlinesAndCancelsEndEachWaitOnce) {
  const int rounds = scaled(1'500);
  std::atomic<int> woken{0};
  std::atomic<int> late{0};
  std::atomic<int> cancelled{0};
  constexpr int kWaiters = 8;
  in_fiber([&] {
    base::Rng rng(3);
    for (int round = 0; round < rounds; ++round) {
      Baton baton;
      Nursery nursery;
      std::vector<Task<>> tasks;
      for (int i = 0; i < kWaiters; ++i) {
        const auto deadline =
            Deadline::after(std::chrono::microseconds(rng.below(100)));
        tasks.push_back(nursery.spawn([&, deadline]() -> Status {
          const auto end = baton.take(deadline);
          ++(end ? woken : end.error() == Errc::timed_out ? late : cancelled);
          return {};
        }));
      }
      nursery.spawn([&] {
        for (int i = 0; i < kWaiters / 2; ++i) baton.give();
      });
      const int before = static_cast<int>(rng.below(kWaiters));
      for (int i = 0; i < before; ++i)
        tasks[static_cast<std::size_t>(i)].cancel();
      int skipped = 0;  // cancelled before it began
      for (auto& task : tasks) {
        if (!task.join()) ++skipped;
      }
      cancelled += skipped;
      ASSERT_TRUE(nursery.join());
    }
  });
  EXPECT_EQ(woken + late + cancelled, rounds * kWaiters);
}

INSTANTIATE_TEST_SUITE_P(Workers, ParkWakeStormTest,
                         ::testing::Values(1u, 2u, 4u));

}  // namespace
}  // namespace weft
