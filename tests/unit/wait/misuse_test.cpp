// misuse_test.cpp: what is reported, and ends the process.

#include <gtest/gtest.h>

#include <chrono>

#include "sched/carrier.hpp"
#include "support/death_test.hpp"
#include "support/gate.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;

class WaitDeathTest : public test::FreshProcessTest {
 protected:
  template <typename F>
  static void in_fiber(F&& body) {
    (void)run(Config{.workers = 1}, std::forward<F>(body));
  }
};

// R-LOCKD-02 R-LOCKD-03
TEST_F(WaitDeathTest, ReportsAWaitUnderASpinLock) {
  EXPECT_DEATH(in_fiber([] {
                 SpinLock lock;
                 Gate gate;
                 lock.lock();
                 (void)gate.pass();
               }),
               "holds spin lock .*locked at .*PARK-UNDER-LOCK");
}

// Also where it would not wait: cancelled, it might yield.
TEST_F(WaitDeathTest, ReportsAWaitOfACancelledFiberUnderASpinLock) {
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 auto child = nursery.spawn([] {
                   this_fiber::yield();
                   SpinLock lock;
                   Gate gate;
                   lock.lock();
                   (void)gate.pass();
                 });
                 this_fiber::yield();
                 child.cancel();
                 (void)child.join();
               }),
               "PARK-UNDER-LOCK");
}

// R-LOCKD-02
TEST_F(WaitDeathTest, ReportsAYieldUnderASpinLock) {
  EXPECT_DEATH(in_fiber([] {
                 SpinLock lock;
                 lock.lock();
                 this_fiber::yield();
               }),
               "PARK-UNDER-LOCK");
}

// R-LOCKD-02
TEST_F(WaitDeathTest, ReportsASleepUnderASpinLock) {
  EXPECT_DEATH(in_fiber([] {
                 SpinLock lock;
                 lock.lock();
                 (void)this_fiber::sleep_for(std::chrono::seconds(1));
               }),
               "PARK-UNDER-LOCK");
}

// R-LOCKD-02
TEST_F(WaitDeathTest, ReportsAWaitUnderASpinLockOnAPlainThread) {
  EXPECT_DEATH(
      {
        SpinLock lock;
        Gate gate;
        lock.lock();
        (void)gate.pass();
      },
      "PARK-UNDER-LOCK: a fiber may not wait while it holds 1 spin lock");
}

// R-LOCKD-03
TEST_F(WaitDeathTest, ReportsEveryLockThatIsHeld) {
  EXPECT_DEATH(in_fiber([] {
                 SpinLock first;
                 SpinLock second;
                 first.lock();
                 second.lock();
                 this_fiber::yield();
               }),
               "holds spin lock.*\n.*holds spin lock.*\n.*2 spin lock");
}

// R-LOCKD-03
TEST_F(WaitDeathTest, ReportsAFlushUnderASpinLock) {
  EXPECT_DEATH(
      {
        SpinLock lock;
        lock.lock();
        sched::flush_deferred(sched::carrier());
      },
      "WAKE-FLUSH-UNDER-LOCK: 1 locks held");
}

TEST_F(WaitDeathTest, ReportsAnUnlockOfAFreeLock) {
  EXPECT_DEATH(
      {
        SpinLock lock;
        lock.unlock();
      },
      "unlocked that is free");
}

TEST_F(WaitDeathTest, ReportsAnUnlockByWhoHoldsNothing) {
  EXPECT_DEATH(in_fiber([] {
                 SpinLock lock;
                 lock.lock();
                 std::thread([&] { lock.unlock(); }).join();
               }),
               "unlocked by a thread that holds none");
}

TEST_F(WaitDeathTest, ReportsAFiberThatEndsWithALock) {
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 SpinLock lock;
                 nursery.spawn([&] { lock.lock(); });
                 while (nursery.live() != 0) this_fiber::yield();
               }),
               "ended while it held spin lock");
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 SpinLock lock;
                 (void)nursery.spawn([&] { lock.lock(); }).join();  // in place
               }),
               "ended while it held spin lock");
}

TEST_F(WaitDeathTest, ReportsAThreadThatEndsWithALock) {
  EXPECT_DEATH(
      {
        SpinLock lock;
        std::thread([&] { lock.lock(); }).join();
      },
      "ended while it held spin lock");
}

TEST_F(WaitDeathTest, ReportsAListThatGoesWhileSomebodyWaits) {
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 auto gate = std::make_unique<Gate>();
                 nursery.spawn([&] { (void)gate->pass(); });
                 while (gate->waiting() == 0) this_fiber::yield();
                 gate.reset();
               }),
               "WaitList is destroyed while somebody waits");
}

TEST_F(WaitDeathTest, ReportsAWaitableThatForgetsToUnlink) {
  struct Forgetful {
    WaitList list;
    bool try_complete(Waiter&) noexcept { return false; }
    bool publish(Waiter& waiter) noexcept {
      list.push_back(waiter);
      return true;
    }
    void unpublish(Waiter&) noexcept {}
  };
  EXPECT_DEATH(in_fiber([] {
                 Forgetful waitable;
                 (void)weft::wait(waitable, Deadline(Clock::now()));
               }),
               "still linked: unpublish");
}

}  // namespace
}  // namespace weft
