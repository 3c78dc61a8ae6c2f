#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/gate.hpp"
#include <weft/gtest.hpp>

namespace weft::testing {
namespace {

// Adds one twice at the same time; fails by EXPECT_ if one is lost.
void lose_update(Simulation&) {
  Atomic<int> sum{0};
  Nursery nursery;
  for (int i = 0; i < 2; ++i) {
    nursery.spawn([&sum] {
      const int before = sum.load();
      sum.store(before + 1);
    });
  }
  (void)nursery.join();
  EXPECT_EQ(sum.load(), 2) << "an update is lost";
}

TEST(ExploreTest, ReportsNothingIfAllPass) {
  ::testing::TestPartResultArray results;
  {
    ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::
            INTERCEPT_ONLY_CURRENT_THREAD,
        &results);
    explore_test({.schedules = 20}, [](Simulation&) { EXPECT_EQ(1, 1); });
    explore_test([](auto&) { ASSERT_TRUE(true); });
  }
  EXPECT_EQ(results.size(), 0);
}

// Collects what explore_test() says.
template <typename Body>
std::vector<std::string> failures(const ExploreOptions& options, Body body) {
  ::testing::TestPartResultArray results;
  {
    ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::
            INTERCEPT_ONLY_CURRENT_THREAD,
        &results);
    explore_test(options, body);
  }
  std::vector<std::string> all;
  for (int i = 0; i < results.size(); ++i) {
    all.emplace_back(results.GetTestPartResult(i).message());
  }
  return all;
}

void expect_said(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(ExploreTest, ReportsAFailedExpectationOnceWithTheScheduleToReplay) {
  const auto all = failures({}, lose_update);
  ASSERT_EQ(all.size(), 1u);
  expect_said(all[0], "an update is lost");
  expect_said(all[0], "gtest_test.cpp:");
  expect_said(all[0], "assertion failed");
  expect_said(all[0], "again: WEFT_REPLAY=w2:");
}

TEST(ExploreTest, IsANonfatalFailureOfTheTest) {
  EXPECT_NONFATAL_FAILURE(explore_test({}, lose_update), "an update is lost");
}

TEST(ExploreTest, CountsAnAssertionInAnyFiber) {
  const auto all = failures({.schedules = 5}, [](Simulation&) {
    Nursery nursery;
    nursery.spawn([] { ASSERT_EQ(2 + 2, 5) << "in a child"; });
    (void)nursery.join();
  });
  ASSERT_EQ(all.size(), 1u);
  expect_said(all[0], "in a child");
}

TEST(ExploreTest, CountsAllOfOneScheduleAsOne) {
  const auto all = failures({}, [](Simulation&) {
    EXPECT_TRUE(false) << "first";
    EXPECT_TRUE(false) << "second";
  });
  ASSERT_EQ(all.size(), 1u);
  expect_said(all[0], "first");
  expect_said(all[0], "second");
}

// The message tells of the schedule that is printed, not of the one that was
// found.
TEST(ExploreTest, TellsOfTheMinimizedScheduleAlone) {
  const auto all = failures({}, [](Simulation& sim) {
    const auto first = sim.choose(10);
    const auto second = sim.choose(10);
    EXPECT_LT(first, 7u) << "and then came " << second;
  });
  ASSERT_EQ(all.size(), 1u);
  expect_said(all[0], "and then came 0\n");
  EXPECT_EQ(all[0].find("and then came", all[0].find("and then came 0") + 1),
            std::string::npos)
      << all[0];
}

TEST(ExploreTest, TellsWhatCameAfterTheFailedExpectation) {
  const auto all = failures({}, [](Simulation&) {
    EXPECT_TRUE(false) << "first of all";
    test::Gate never;
    (void)never.pass();
  });
  ASSERT_EQ(all.size(), 1u);
  expect_said(all[0], "first of all");
  expect_said(all[0], "and then: every fiber waits");
}

TEST(ExploreTest, ReportsOtherVerdictsAsWell) {
  const auto all = failures({}, [](Simulation&) {
    test::Gate never;
    (void)never.pass();
  });
  ASSERT_EQ(all.size(), 1u);
  expect_said(all[0], "deadlock");
}

TEST(ExploreTest, IsReplayedByItsString) {
  GTestWatch watch;
  const ExploreOptions options{.watch = &watch};
  const auto found = explore(options, lose_update);
  ASSERT_EQ(found.verdict, Verdict::assertion);
  const auto again = replay(found.replay, options, lose_update);
  EXPECT_EQ(again.verdict, Verdict::assertion);
  EXPECT_EQ(again.report, found.report);
}

TEST(ExploreTest, LeavesExpectationsAfterwardsToTheTest) {
  (void)failures({}, lose_update);
  EXPECT_NONFATAL_FAILURE(EXPECT_TRUE(false) << "of the test", "of the test");
}

}  // namespace
}  // namespace weft::testing
