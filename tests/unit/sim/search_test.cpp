#include "sim/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

namespace weft::sim {
namespace {

using Kind = Choice::Kind;
using Kinds = testing::Search;

std::unique_ptr<Search> make(Kinds kind, unsigned depth = 3,
                             std::uint64_t seed = 1) {
  return make_search({.search = kind, .seed = seed, .depth = depth});
}

// Fibers 1 to count, none of which has yielded.
std::vector<Option> fibers(std::size_t count) {
  std::vector<Option> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i].number = i + 1;
  return all;
}

std::size_t ask(Search& search, const std::vector<Option>& options,
                bool first_was_stopped = false) {
  return search.choose({.count = options.size(),
                        .options = options,
                        .first_was_stopped = first_was_stopped});
}

std::size_t ask(Search& search, Kind kind, std::size_t count) {
  return search.choose({.kind = kind, .count = count});
}

// ---- What costs

TEST(Choice, OfFibersThatDidNotYieldIsFree) {
  const auto three = fibers(3);
  EXPECT_EQ((Choice{.count = 3, .options = three}.free()), 3u);
}

TEST(Choice, OfAnotherThanTheOneThatWasStoppedCosts) {
  const auto three = fibers(3);
  EXPECT_EQ(
      (Choice{.count = 3, .options = three, .first_was_stopped = true}.free()),
      1u);
}

TEST(Choice, OfOneThatYieldedCostsIfAnotherDidNotOrNotAsLately) {
  auto three = fibers(3);
  three[2].yielded = 5;
  EXPECT_EQ((Choice{.count = 3, .options = three}.free()), 2u);
  three[1].yielded = 4;
  three[0].yielded = 3;
  EXPECT_EQ((Choice{.count = 3, .options = three}.free()), 1u);
}

TEST(Choice, OfNumbersAndFaultsIsFree) {
  EXPECT_EQ((Choice{.kind = Kind::number, .count = 7}.free()), 7u);
  EXPECT_EQ((Choice{.kind = Kind::fault, .count = 2}.free()), 2u);
}

// ---- Random

TEST(RandomSearch, CoversAllRanksOfAllKinds) {
  const auto search = make(Kinds::random);
  std::set<std::size_t> of_fibers;
  std::set<std::size_t> of_numbers;
  std::set<std::size_t> of_faults;
  ASSERT_TRUE(search->begin());
  for (int i = 0; i < 1'000; ++i) {
    of_fibers.insert(ask(*search, fibers(5), i % 2 == 0));
    of_numbers.insert(ask(*search, Kind::number, 7));
    of_faults.insert(ask(*search, Kind::fault, 2));
  }
  EXPECT_EQ(of_fibers, (std::set<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(of_numbers, (std::set<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(of_faults, (std::set<std::size_t>{0, 1}));
}

TEST(RandomSearch, HasNoEndAndNoMemory) {
  const auto search = make(Kinds::random);
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(search->begin());
    (void)ask(*search, fibers(2));
    search->end();
  }
  EXPECT_FALSE(search->complete());
  EXPECT_FALSE(search->diverged());
}

TEST(RandomSearch, ChoosesTheSameBySeed) {
  const auto some = [](std::uint64_t seed) {
    const auto search = make(Kinds::random, 3, seed);
    EXPECT_TRUE(search->begin());
    std::vector<std::size_t> all;
    for (int i = 0; i < 50; ++i) all.push_back(ask(*search, fibers(4)));
    return all;
  };
  EXPECT_EQ(some(1), some(1));
  EXPECT_NE(some(1), some(2));
}

// ---- Priorities

TEST(PctSearch, RunsTheHighestPriorityAlone) {
  const auto search = make(Kinds::pct, 1);  // no changes
  std::set<std::size_t> winners;
  for (int schedule = 0; schedule < 100; ++schedule) {
    ASSERT_TRUE(search->begin());
    const auto winner = ask(*search, fibers(4));
    winners.insert(winner);
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(ask(*search, fibers(4)), winner) << "in choice " << i;
    }
    search->end();
  }
  EXPECT_EQ(winners.size(), 4u);  // new priorities in each schedule
}

TEST(PctSearch, ChangesPrioritiesAtMostDepthMinusOneTimes) {
  constexpr unsigned kDepth = 4;
  const auto search = make(Kinds::pct, kDepth);
  std::map<unsigned, int> changed;
  for (int schedule = 0; schedule < 500; ++schedule) {
    ASSERT_TRUE(search->begin());
    unsigned changes = 0;
    auto last = ask(*search, fibers(6));
    for (int i = 1; i < 40; ++i) {
      const auto now = ask(*search, fibers(6));
      if (now != last) ++changes;
      last = now;
    }
    ++changed[changes];
    search->end();
  }
  EXPECT_EQ(changed.rbegin()->first, kDepth - 1);
  EXPECT_GT(changed[kDepth - 1], 250);  // few fall onto the same choice
}

TEST(PctSearch, WhoIsLoweredByAChangeRunsWhenNobodyElseCan) {
  const auto search = make(Kinds::pct, 2);
  for (int schedule = 0; schedule < 100; ++schedule) {
    ASSERT_TRUE(search->begin());
    const auto both = fibers(2);
    const auto first = ask(*search, both);
    std::size_t last = first;
    for (int i = 0; i < 20; ++i) {
      const auto now = ask(*search, both);
      ASSERT_TRUE(now == last || last == first);  // at most once, for good
      last = now;
    }
    search->end();
  }
}

TEST(PctSearch, LowersWhoYields) {
  const auto search = make(Kinds::pct, 1);
  for (int schedule = 0; schedule < 50; ++schedule) {
    ASSERT_TRUE(search->begin());
    auto three = fibers(3);
    std::set<std::size_t> ran;
    for (std::uint64_t step = 1; step <= 3; ++step) {
      const auto winner = ask(*search, three);
      EXPECT_TRUE(ran.insert(winner).second) << "again before the others";
      three[winner].yielded = step;
    }
    search->end();
  }
}

TEST(PctSearch, LowersOncePerYield) {
  const auto search = make(Kinds::pct, 1);
  ASSERT_TRUE(search->begin());
  auto two = fibers(2);
  const auto first = ask(*search, two);
  two[first].yielded = 1;
  const auto second = ask(*search, two);
  EXPECT_NE(second, first);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(*search, two), second);
}

TEST(PctSearch, CoversAllNumbersAndFaults) {
  const auto search = make(Kinds::pct);
  std::set<std::size_t> of_numbers;
  std::set<std::size_t> of_faults;
  ASSERT_TRUE(search->begin());
  for (int i = 0; i < 500; ++i) {
    of_numbers.insert(ask(*search, Kind::number, 3));
    of_faults.insert(ask(*search, Kind::fault, 2));
  }
  EXPECT_EQ(of_numbers, (std::set<std::size_t>{0, 1, 2}));
  EXPECT_EQ(of_faults, (std::set<std::size_t>{0, 1}));
}

// ---- Exhaustive

using Path = std::vector<std::size_t>;

// Runs all schedules of a program that asks; none may come twice.
std::set<Path> enumerate(Search& search,
                         const std::function<Path(Search&)>& program) {
  std::set<Path> all;
  while (search.begin()) {
    EXPECT_FALSE(search.complete());
    const auto path = program(search);
    search.end();
    EXPECT_TRUE(all.insert(path).second) << "a schedule came twice";
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_TRUE(search.complete());
  EXPECT_FALSE(search.diverged());
  return all;
}

TEST(ExhaustiveSearch, OfAProgramWithoutChoicesHasOneSchedule) {
  const auto search = make(Kinds::exhaustive);
  EXPECT_EQ(enumerate(*search, [](Search&) { return Path{}; }).size(), 1u);
}

TEST(ExhaustiveSearch, EnumeratesAllNumbers) {
  const auto search = make(Kinds::exhaustive, 0);
  const auto all = enumerate(*search, [](Search& its) {
    return Path{ask(its, Kind::number, 3), ask(its, Kind::number, 2),
                ask(its, Kind::number, 4)};
  });
  EXPECT_EQ(all.size(), 24u);
}

TEST(ExhaustiveSearch, BeginsWithoutPreemptions) {
  const auto search = make(Kinds::exhaustive);
  ASSERT_TRUE(search->begin());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(*search, fibers(3), true), 0u);
}

// The shape of the tree depends on what was chosen.
TEST(ExhaustiveSearch, FollowsATreeThatIsNotEvenlyDeep) {
  const auto search = make(Kinds::exhaustive);
  const auto all = enumerate(*search, [](Search& its) {
    Path path{ask(its, Kind::number, 3)};
    for (std::size_t i = 0; i < path[0]; ++i) {
      path.push_back(ask(its, Kind::number, 2));
    }
    return path;
  });
  EXPECT_EQ(all.size(), 1u + 2u + 4u);
}

// Ten chances to preempt, one other fiber: as many schedules as there are ways
// to choose at most `bound` of ten.
TEST(ExhaustiveSearch, BoundsPreemptions) {
  const auto ten_chances = [](Search& its) {
    Path path;
    for (int i = 0; i < 10; ++i) path.push_back(ask(its, fibers(2), true));
    return path;
  };
  const std::size_t expected[] = {1, 1 + 10, 1 + 10 + 45, 1 + 10 + 45 + 120};
  for (unsigned bound = 0; bound < 4; ++bound) {
    const auto search = make(Kinds::exhaustive, bound);
    EXPECT_EQ(enumerate(*search, ten_chances).size(), expected[bound]);
  }
  const auto search = make(Kinds::exhaustive, 10);  // none
  EXPECT_EQ(enumerate(*search, ten_chances).size(), 1'024u);
}

TEST(ExhaustiveSearch, BoundsUnfairTurns) {
  const auto search = make(Kinds::exhaustive, 1);
  const auto all = enumerate(*search, [](Search& its) {
    Path path;
    for (int i = 0; i < 4; ++i) {
      auto both = fibers(2);
      both[1].yielded = 1;
      path.push_back(ask(its, both));
    }
    return path;
  });
  EXPECT_EQ(all.size(), 5u);
}

TEST(ExhaustiveSearch, DoesNotBoundWhatIsFree) {
  const auto search = make(Kinds::exhaustive, 0);
  const auto all = enumerate(*search, [](Search& its) {
    return Path{ask(its, fibers(3)), ask(its, fibers(2)),
                ask(its, fibers(2), true), ask(its, Kind::fault, 2)};
  });
  EXPECT_EQ(all.size(), 3u * 2 * 1 * 2);
}

TEST(ExhaustiveSearch, NoticesAnotherNumberOfOptions) {
  const auto search = make(Kinds::exhaustive);
  ASSERT_TRUE(search->begin());
  (void)ask(*search, Kind::number, 3);
  (void)ask(*search, Kind::number, 3);
  search->end();
  EXPECT_FALSE(search->diverged());
  ASSERT_TRUE(search->begin());
  EXPECT_LT(ask(*search, Kind::number, 2), 2u);
  EXPECT_TRUE(search->diverged());
}

TEST(ExhaustiveSearch, NoticesFewerChoices) {
  const auto search = make(Kinds::exhaustive);
  ASSERT_TRUE(search->begin());
  (void)ask(*search, Kind::number, 2);
  (void)ask(*search, Kind::number, 2);
  search->end();
  ASSERT_TRUE(search->begin());
  (void)ask(*search, Kind::number, 2);
  search->end();
  EXPECT_TRUE(search->diverged());
}

// ---- One schedule

TEST(Script, ChoosesWhatIsWrittenAndZeroBehindTheEnd) {
  Script script({1, 0, 2});
  ASSERT_TRUE(script.begin());
  EXPECT_EQ(ask(script, fibers(2)), 1u);
  EXPECT_EQ(ask(script, Kind::fault, 2), 0u);
  EXPECT_EQ(ask(script, Kind::number, 3), 2u);
  EXPECT_EQ(ask(script, Kind::number, 3), 0u);
  EXPECT_FALSE(script.diverged());
}

TEST(Script, NoticesAChoiceThatIsNotThere) {
  Script script({2});
  ASSERT_TRUE(script.begin());
  EXPECT_EQ(ask(script, fibers(2)), 0u);
  EXPECT_TRUE(script.diverged());
}

}  // namespace
}  // namespace weft::sim
