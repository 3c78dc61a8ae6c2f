#include "sched/victims.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::sched {
namespace {

constexpr unsigned kSelf = 2;
constexpr unsigned kWorkers = 7;

std::size_t no_load(unsigned) { return 0; }

std::vector<unsigned> sequence(Victim strategy, std::uint64_t seed,
                               std::size_t count) {
  Victims victims(strategy, seed);
  std::vector<unsigned> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(victims.next(kSelf, kWorkers, &no_load));
  }
  return all;
}

// R-RUNQ-14 R-DET-04
TEST(Victims, AreTheSameForTheSameSeed) {
  EXPECT_EQ(sequence(Victim::random, 7, 1000),
            sequence(Victim::random, 7, 1000));
  EXPECT_NE(sequence(Victim::random, 7, 1000),
            sequence(Victim::random, 8, 1000));
  EXPECT_EQ(sequence(Victim::least_loaded, 7, 1000),
            sequence(Victim::least_loaded, 7, 1000));
}

// R-DET-04: xoshiro256** seeded by splitmix64
TEST(Victims, ArePickedByTheKnownGenerator) {
  base::Rng rng(42);
  Victims victims(Victim::random, 42);
  for (int i = 0; i < 1000; ++i) {
    const auto pick = rng.below(kWorkers - 1);
    EXPECT_EQ(victims.next(kSelf, kWorkers, &no_load),
              pick < kSelf ? pick : pick + 1);
  }
}

// R-RUNQ-13 R-RUNQ-14
TEST(Victims, NeverAreTheThiefItself) {
  for (const auto strategy :
       {Victim::random, Victim::round_robin, Victim::least_loaded}) {
    for (unsigned workers = 2; workers < 20; ++workers) {
      for (unsigned self = 0; self < workers; ++self) {
        Victims victims(strategy, self);
        for (int i = 0; i < 100; ++i) {
          const auto victim = victims.next(self, workers, &no_load);
          ASSERT_NE(victim, self);
          ASSERT_LT(victim, workers);
        }
      }
    }
  }
}

TEST(Victims, AreAllOthersInTheLongRun) {
  std::vector<int> hits(kWorkers);
  for (const auto victim : sequence(Victim::random, 1, 1000)) ++hits[victim];
  for (unsigned i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(hits[i] > 0, i != kSelf) << i;
  }
}

// R-RUNQ-14
TEST(Victims, ComeInTurnByRoundRobin) {
  const std::vector<unsigned> turn = {1, 3, 4, 5, 6, 0};
  const auto all = sequence(Victim::round_robin, 99, 18);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i], turn[i % turn.size()]) << i;
  }
}

// R-RUNQ-14
TEST(Victims, AreTheFullerOfTwoByLeastLoaded) {
  const auto load = [](unsigned worker) { return std::size_t{worker}; };
  Victims picky(Victim::least_loaded, 5);
  base::Rng rng(5);
  const auto other = [&rng] {
    const auto pick = rng.below(kWorkers - 1);
    return pick < kSelf ? pick : pick + 1;
  };
  for (int i = 0; i < 1000; ++i) {
    const auto a = other();
    const auto b = other();
    EXPECT_EQ(picky.next(kSelf, kWorkers, load), std::max(a, b));
  }
}

// R-RUNQ-13
TEST(Victims, AreAtMostFourPerRound) {
  EXPECT_EQ(Victims::attempts(2), 1u);
  EXPECT_EQ(Victims::attempts(4), 3u);
  EXPECT_EQ(Victims::attempts(5), 4u);
  EXPECT_EQ(Victims::attempts(256), 4u);
}

// R-RUNQ-15
TEST(SearchPause, DoublesFromOneMicrosecondToOneMillisecond) {
  std::int64_t expected = 1000;
  for (unsigned round = 0; round < 10; ++round) {
    EXPECT_EQ(search_pause(round), expected);
    expected *= 2;
  }
  for (const unsigned late : {10u, 11u, 50u, 1'000'000u}) {
    EXPECT_EQ(search_pause(late), 1'000'000);
  }
}

}  // namespace
}  // namespace weft::sched
