#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "sim/search.hpp"
#include "support/death_test.hpp"
#include "unit/sim/bodies.hpp"
#include <weft/testing.hpp>

namespace weft::testing {
namespace {

// Leaves none of its variables behind.
class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() { clear(); }
  ~ReplayTest() override { clear(); }
  static void set(const char* name, const std::string& value) {
    ASSERT_EQ(::setenv(name, value.c_str(), 1), 0);
  }

 private:
  static void clear() {
    for (const char* name : {"WEFT_REPLAY", "WEFT_SEED", "WEFT_SCHEDULES"}) {
      ::unsetenv(name);
    }
  }
};

class ReplayDeathTest : public ReplayTest {
 protected:
  void SetUp() override { test::die_in_a_fresh_process(); }
};

std::size_t preemptions(const std::string& replay) {
  sim::Schedule schedule;
  EXPECT_TRUE(sim::Schedule::parse(replay, schedule)) << replay;
  return static_cast<std::size_t>(
      std::ranges::count_if(schedule.ranks, [](auto rank) { return rank; }));
}

TEST_F(ReplayTest, FailsAgainInTheSameOrderEachTime) {
  std::optional<std::uint64_t> order;
  const auto body = [&order](Simulation& sim) {
    struct AtEnd {
      Simulation& sim;
      std::optional<std::uint64_t>& order;
      void note() { order = sim.order_hash(); }
    } at_end{sim, order};
    Atomic<int> sum{0};
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&sum] {
        const int before = sum.load();
        this_fiber::yield();
        sum.store(before + 1);
      });
    }
    (void)nursery.join();
    at_end.note();
    sim.check(sum.load() == 3, "all count");
  };
  const auto found = explore(body);
  ASSERT_EQ(found.verdict, Verdict::assertion);
  order.reset();
  std::optional<std::uint64_t> first;
  for (int i = 0; i < 100; ++i) {
    const auto again = replay(found.replay, body);
    ASSERT_EQ(again.verdict, Verdict::assertion);
    ASSERT_EQ(again.replay, found.replay);
    ASSERT_EQ(again.report, found.report);
    ASSERT_TRUE(order.has_value());
    if (!first) first = order;
    ASSERT_EQ(order, first);
  }
}

TEST_F(ReplayTest, PassesIfTheBodyWasCorrected) {
  const auto found = explore(test::lose_update);
  ASSERT_FALSE(found);
  const auto again = replay(found.replay, test::keep_update);
  EXPECT_NE(again.verdict, Verdict::assertion);
}

TEST_F(ReplayTest, OfTheEmptyScheduleRunsWithoutPreemptions) {
  const auto result = replay("w2:", test::lose_update);
  EXPECT_TRUE(result);
  EXPECT_EQ(result.schedules, 1u);
  EXPECT_EQ(result.distinct, 1u);
  std::ostringstream text;
  text << result;
  EXPECT_EQ(text.str(), "passed 1 schedule\n");
}

TEST_F(ReplayTest, HasTheWorkersAndFaultsOfTheSchedule) {
  const auto body = [](Simulation& sim) {
    sim.check(sim.runtime().worker_count() == 4, "four workers");
    Nursery nursery;
    auto refused = nursery.spawn([] { return this_fiber::checkpoint(); });
    sim.check(bool(refused.join()), "nobody cancels it");
    (void)nursery.join();
  };
  const ExploreOptions options{
      .search = Search::exhaustive,
      .workers = 4,
      .faults = {Fault::cancel_at_checkpoint},
  };
  const auto found = explore(options, body);
  ASSERT_EQ(found.verdict, Verdict::assertion);
  EXPECT_TRUE(found.replay.starts_with("w4f1n1:")) << found.replay;
  const auto again = replay(found.replay, body);  // knows nothing of options
  EXPECT_EQ(again.verdict, Verdict::assertion);
  EXPECT_EQ(again.report, found.report);
}

TEST_F(ReplayTest, OfAScheduleForAnotherBodySaysSo) {
  const auto result = replay("w2:9.9.9", test::keep_update);
  EXPECT_EQ(result.verdict, Verdict::nondeterministic);
  EXPECT_EQ(result.replay, "w2:9.9.9");
  EXPECT_TRUE(result.report.starts_with("does not fit: w2:9.9.9 is "))
      << result.report;
  for (const char* no : {"nondeterministic", "again: ", "schedule, "}) {
    EXPECT_EQ(result.report.find(no), std::string::npos) << result.report;
  }
}

TEST_F(ReplayTest, OfAScheduleThatIsTooLongSaysSo) {
  const auto result = replay("w2:0x5000.1", test::keep_update);
  EXPECT_TRUE(result.report.starts_with("does not fit: ")) << result.report;
}

TEST_F(ReplayTest, IsAskedForByTheEnvironment) {
  const auto found = explore(test::lose_update);
  ASSERT_FALSE(found);
  set("WEFT_REPLAY", found.replay);
  const auto again = explore(test::lose_update);
  EXPECT_EQ(again.verdict, Verdict::assertion);
  EXPECT_EQ(again.schedules, 1u);
  EXPECT_EQ(again.report, found.report);
  set("WEFT_REPLAY", "");  // counts as none
  EXPECT_EQ(explore({.schedules = 7}, test::keep_update).schedules, 7u);
}

TEST_F(ReplayTest, TakesTheNumberOfSchedulesFromTheEnvironment) {
  set("WEFT_SCHEDULES", "5");
  EXPECT_EQ(explore({.schedules = 100}, test::keep_update).schedules, 5u);
  set("WEFT_SCHEDULES", "0x10");
  EXPECT_EQ(explore({.schedules = 100}, test::keep_update).schedules, 16u);
}

// Of what was chosen, in all schedules.
std::vector<std::uint64_t> orders(const ExploreOptions& options) {
  std::vector<std::uint64_t> all;
  EXPECT_TRUE(explore(options, [&all](Simulation& sim) {
    test::keep_update(sim);
    all.push_back(sim.order_hash());
  }));
  return all;
}

TEST_F(ReplayTest, TakesTheSeedFromTheEnvironmentUnlessGiven) {
  const auto usual = orders({.schedules = 20});
  EXPECT_EQ(usual, orders({.schedules = 20}));
  const auto own = orders({.schedules = 20, .seed = 3});
  EXPECT_NE(own, usual);
  set("WEFT_SEED", "3");
  EXPECT_EQ(orders({.schedules = 20}), own);
  EXPECT_EQ(orders({.schedules = 20, .seed = 3}), own);
  EXPECT_NE(orders({.schedules = 20, .seed = 4}), own);
}

// It ends as a program does whose other variables are wrong: by 1, and without
// a place in weft's sources.
#define EXPECT_END_WITH(text)                                                 \
  EXPECT_EXIT((void)explore(test::keep_update), ::testing::ExitedWithCode(1), \
              text "\n$")

TEST_F(ReplayDeathTest, EndsAtBadNumbersInTheEnvironment) {
  for (const char* value :
       {"many", "1x", "-1", " -1", "1 ", "99999999999999999999"}) {
    set("WEFT_SEED", value);
    EXPECT_END_WITH("weft: WEFT_SEED='.*': expected a number from 0 to .* 1");
  }
  ::unsetenv("WEFT_SEED");
  for (const char* value : {"many", "-3", "0"}) {
    set("WEFT_SCHEDULES", value);
    EXPECT_END_WITH("WEFT_SCHEDULES='.*': expected a number from 1 to .* 1");
  }
}

TEST_F(ReplayDeathTest, EndsAtWhatIsNotAScheduleInTheEnvironment) {
  set("WEFT_REPLAY", "nonsense");
  EXPECT_END_WITH(
      "WEFT_REPLAY='nonsense': expected what a failure printed, as in "
      "w2:0x3.1");
}

TEST_F(ReplayDeathTest, DiesOfWhatIsNotASchedule) {
  EXPECT_DEATH((void)replay("w2:1.", test::keep_update),
               "not a schedule: 'w2:1.' .expected what a failure printed");
}

TEST_F(ReplayDeathTest, DiesOfMoreWorkersThanThereMayBe) {
  EXPECT_DEATH((void)replay("w5000:", test::keep_update),
               "not a schedule: 'w5000:'");
}

TEST_F(ReplayDeathTest, DiesOfAChoiceOfNothing) {
  EXPECT_DEATH((void)explore([](Simulation& sim) { (void)sim.choose(0); }),
               "a choice of nothing");
}

// ---- Minimized

TEST_F(ReplayTest, NeedsOnePreemptionToLoseAnUpdate) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto found = explore({.seed = seed, .workers = 3}, test::lose_update);
    ASSERT_EQ(found.verdict, Verdict::assertion);
    EXPECT_EQ(preemptions(found.replay), 1u) << found.replay;
  }
}

TEST_F(ReplayTest, NeedsOnePreemptionToLoseAnUpdateAmidOtherWork) {
  const auto body = [](Simulation& sim) {
    Nursery others;
    for (int i = 0; i < 5; ++i) {
      others.spawn([] {
        for (int turn = 0; turn < 5; ++turn) this_fiber::yield();
      });
    }
    test::lose_update(sim);
    (void)others.join();
  };
  const auto found = explore({.workers = 4}, body);
  ASSERT_EQ(found.verdict, Verdict::assertion);
  EXPECT_EQ(preemptions(found.replay), 1u) << found.replay;
}

TEST_F(ReplayTest, NeedsNoPreemptionForWhatFailsAlways) {
  const auto found = explore([](Simulation& sim) {
    test::keep_update(sim);
    sim.check(false, "always");
  });
  EXPECT_EQ(found.replay, "w2:");
}

TEST_F(ReplayTest, IsAsFoundIfNotMinimized) {
  const ExploreOptions options{.minimize = false};
  const auto found = explore(options, test::lose_update);
  ASSERT_EQ(found.verdict, Verdict::assertion);
  EXPECT_GE(preemptions(found.replay), 1u);
  EXPECT_EQ(replay(found.replay, test::lose_update).verdict,
            Verdict::assertion);
}

// A simpler schedule that fails for another reason is not the same failure.
TEST_F(ReplayTest, KeepsTheReasonOfTheFailure) {
  const auto found = explore({.search = Search::random}, [](Simulation& sim) {
    const auto chosen = sim.choose(4);
    sim.check(chosen != 3, "three");
    sim.check(chosen == 3 || chosen == 0 || sim.choose(50) != 7, "seven");
  });
  ASSERT_EQ(found.verdict, Verdict::assertion);
  if (found.report.find("three") != std::string::npos) {
    EXPECT_EQ(found.replay, "w2:3");
  } else {
    EXPECT_TRUE(found.replay.ends_with(".7")) << found.replay;
  }
}

}  // namespace
}  // namespace weft::testing
