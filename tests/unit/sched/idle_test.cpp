#include "sched/idle.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "sched/alarm.hpp"
#include "support/watchdog.hpp"
#include "time/clock.hpp"

namespace weft::sched {
namespace {

using weft::test::Watchdog;

TEST(Idle, WakesNobodyWhereNobodySleeps) {
  Idle idle;
  Sleeper sleeper;
  EXPECT_FALSE(idle.hungry());
  EXPECT_EQ(idle.pop_for_push(), nullptr);
  EXPECT_FALSE(idle.pop_target(sleeper));
}

// R-RUNQ-23: invariant S5
TEST(Idle, TurnsAPoppedSleeperIntoASearcher) {
  Idle idle;
  Sleeper sleeper;
  idle.announce(sleeper, false);
  EXPECT_EQ(idle.sleeping(), 1u);
  EXPECT_EQ(idle.searching(), 0u);
  EXPECT_EQ(idle.pop_for_push(), &sleeper);
  EXPECT_EQ(idle.sleeping(), 0u);
  EXPECT_EQ(idle.searching(), 1u);
  idle.withdraw(sleeper);  // the share was given: not counted twice
  EXPECT_EQ(idle.searching(), 1u);
  EXPECT_TRUE(idle.stop_search());
  EXPECT_FALSE(idle.hungry());
}

TEST(Idle, TakesItsOwnShareWhenASleeperWithdraws) {
  Idle idle;
  Sleeper sleeper;
  idle.announce(sleeper, false);
  idle.withdraw(sleeper);
  EXPECT_EQ(idle.sleeping(), 0u);
  EXPECT_EQ(idle.searching(), 1u);
}

// Invariant S6
TEST(Idle, WakesNobodyWhileSomebodySearches) {
  Idle idle;
  Sleeper sleeper;
  idle.announce(sleeper, false);
  EXPECT_TRUE(idle.start_search(4));
  EXPECT_EQ(idle.pop_for_push(), nullptr);
  EXPECT_TRUE(idle.stop_search());
  EXPECT_EQ(idle.pop_for_push(), &sleeper);
}

TEST(Idle, WakesTheNewestSleeperFirst) {
  Idle idle;
  std::array<Sleeper, 3> sleepers;
  for (auto& sleeper : sleepers) idle.announce(sleeper, false);
  for (std::size_t i = sleepers.size(); i-- > 0;) {
    EXPECT_EQ(idle.pop_for_push(), &sleepers[i]);
    EXPECT_TRUE(idle.stop_search());
  }
}

TEST(Idle, WakesTheTargetOfAPush) {
  Idle idle;
  std::array<Sleeper, 3> sleepers;
  for (auto& sleeper : sleepers) idle.announce(sleeper, false);
  EXPECT_TRUE(idle.pop_target(sleepers[0]));
  EXPECT_FALSE(idle.pop_target(sleepers[0]));  // awake by now
  EXPECT_EQ(idle.sleeping(), 2u);
  EXPECT_EQ(idle.searching(), 1u);
  EXPECT_TRUE(idle.pop_target(sleepers[1]));  // also while one searches
  EXPECT_EQ(idle.searching(), 2u);
  idle.withdraw(sleepers[2]);
}

TEST(Idle, LetsHalfOfTheWorkersSearch) {
  Idle idle;
  EXPECT_TRUE(idle.start_search(4));
  EXPECT_TRUE(idle.start_search(4));
  EXPECT_FALSE(idle.start_search(4));
  EXPECT_FALSE(idle.stop_search());
  EXPECT_TRUE(idle.stop_search());  // the last one looks again: S4
  EXPECT_TRUE(idle.start_search(1));
  EXPECT_FALSE(idle.start_search(1));
}

TEST(Idle, GivesUpTheSearchOfAWorkerThatAnnouncesItsSleep) {
  Idle idle;
  Sleeper sleeper;
  EXPECT_TRUE(idle.start_search(2));
  idle.announce(sleeper, true);
  EXPECT_EQ(idle.searching(), 0u);
  EXPECT_EQ(idle.sleeping(), 1u);
  idle.withdraw(sleeper);
}

TEST(Sleeper, SleepsUntilItIsRoused) {
  Watchdog watchdog;
  constexpr int kRounds = 1000;
  Sleeper sleeper;
  std::atomic<int> slept{0};
  std::thread thread([&] {
    for (int i = 0; i < kRounds; ++i) {
      sleeper.sleep_until(time::kNever);
      ++slept;
    }
  });
  while (slept != kRounds) {
    sleeper.rouse();
    std::this_thread::yield();
  }
  thread.join();
}

TEST(Sleeper, DoesNotSleepIfItWasRousedBefore) {
  Watchdog watchdog;
  Sleeper sleeper;
  sleeper.rouse();
  sleeper.rouse();
  sleeper.sleep_until(time::kNever);
  EXPECT_EQ(sleeper.wake.load(), 0u);
}

TEST(Sleeper, WakesByItselfOnceItsDeadlineHasPassed) {
  Watchdog watchdog;
  Sleeper sleeper;
  sleeper.sleep_until(time::now() - 1);
  sleeper.sleep_until(time::now() + 1000);
  EXPECT_EQ(sleeper.wake.load(), 0u);
}

// R-TIMER-02
TEST(Alarm, GivesItsRoleToOneSleeper) {
  Alarm alarm;
  Sleeper first;
  Sleeper second;
  EXPECT_TRUE(alarm.try_take_role(first));
  EXPECT_FALSE(alarm.try_take_role(second));
  alarm.release_role();
  EXPECT_TRUE(alarm.try_take_role(second));
}

TEST(Alarm, NamesItsHolderToWhoHasAnEarlierDeadline) {
  Alarm alarm;
  Sleeper holder;
  ASSERT_TRUE(alarm.try_take_role(holder));
  EXPECT_EQ(alarm.arm([] { return std::int64_t{100}; }), 100);
  EXPECT_EQ(alarm.too_late_for(50), &holder);
  EXPECT_EQ(alarm.too_late_for(100), nullptr);
  EXPECT_EQ(alarm.too_late_for(200), nullptr);
  alarm.release_role();
  EXPECT_EQ(alarm.too_late_for(50), nullptr);  // whoever comes next will look
}

TEST(Alarm, LooksAgainWhenAnEarlierDeadlineCameMeanwhile) {
  Alarm alarm;
  Sleeper holder;
  ASSERT_TRUE(alarm.try_take_role(holder));
  int looks = 0;
  const auto until = alarm.arm(
      [&looks] { return ++looks == 1 ? std::int64_t{100} : std::int64_t{40}; });
  EXPECT_EQ(until, 40);
  EXPECT_EQ(looks, 4);
}

}  // namespace
}  // namespace weft::sched
