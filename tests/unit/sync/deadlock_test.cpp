// deadlock_test.cpp: a circle of fibers and locks is named as it closes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "support/death_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

#if defined(WEFT_DEBUG_CHECKS)

namespace weft {
namespace {

using test::await_parked;
using namespace std::chrono_literals;

class DeadlockTest : public test::FreshProcessTest {
 protected:
  template <typename F>
  static bool in_fiber(F&& body) {
    return run(Config{.workers = 1}, std::forward<F>(body)).has_value();
  }
};

TEST_F(DeadlockTest, IsNamedWithItsFibersAndLocks) {
  EXPECT_DEATH((void)in_fiber([](Nursery& nursery) {
                 Mutex left;
                 Mutex right;
                 const auto both = [](Mutex& first, Mutex& second) {
                   const std::lock_guard hold(first);
                   this_fiber::yield();
                   const std::lock_guard too(second);
                 };
                 nursery.spawn({.name = "ann"}, [&] { both(left, right); });
                 nursery.spawn({.name = "bob"}, [&] { both(right, left); });
                 (void)nursery.join();
               }),
               "these wait for each other(.|\n)*"
               "\"ann\" waits for Mutex 0x[0-9a-f]+\n"
               ".*\"bob\" holds Mutex(.|\n)*DEADLOCK");
}

TEST_F(DeadlockTest, GoesThroughThreadsAndEveryKindOfOwnedLock) {
  EXPECT_DEATH(
      (void)in_fiber([](Nursery& nursery) {
        Mutex first;
        FairMutex second;
        SharedMutex third;
        Future<> held;
        first.lock();
        await_parked(nursery.spawn([&] {
          second.lock();
          first.lock();
        }));
        std::thread thread([&] {
          third.lock();
          held.set();
          second.lock();
        });
        (void)held.wait();
        third.lock_shared();
      }),
      ::testing::AllOf(
          ::testing::ContainsRegex("fiber [0-9]+ waits for SharedMutex 0x"
                                   "[0-9a-f]+\n.*thread [0-9]+ holds Shared"),
          ::testing::ContainsRegex("thread [0-9]+ waits for FairMutex 0x"
                                   "[0-9a-f]+\n.*fiber [0-9]+ holds FairMutex"),
          ::testing::ContainsRegex("fiber [0-9]+ waits for Mutex 0x"
                                   "[0-9a-f]+\n.*fiber [0-9]+ holds Mutex"),
          ::testing::HasSubstr("DEADLOCK")));
}

// Those who wait already, and a turn that comes up: found by the next to wait.
TEST_F(DeadlockTest, IsFoundBehindATurnThatCameUp) {
  EXPECT_DEATH((void)in_fiber([](Nursery& nursery) {
                 FairMutex fair;
                 Mutex other;
                 FairMutex::Future turn;
                 Future<> go;
                 Future<> held;
                 await_parked(nursery.spawn([&] {
                   fair.lock();
                   (void)go.wait();
                   fair.unlock();
                 }));
                 bool asks = false;
                 auto waits = nursery.spawn({.name = "has a turn"}, [&] {
                   fair.lock(turn);
                   (void)held.wait();
                   asks = true;
                   other.lock();
                 });
                 await_parked(waits);
                 await_parked(nursery.spawn({.name = "owns other"}, [&] {
                   other.lock();
                   held.set();
                   fair.lock();
                 }));
                 while (!asks) this_fiber::yield();
                 await_parked(waits);
                 go.set();
                 (void)turn.wait();
                 fair.lock();
               }),
               "\"owns other\" waits for FairMutex(.|\n)*"
               "\"has a turn\" holds FairMutex(.|\n)*DEADLOCK");
}

// A deadline ends it: no deadlock.
TEST_F(DeadlockTest, IsNoneIfADeadlineEndsIt) {
  EXPECT_TRUE(in_fiber([](Nursery& nursery) {
    Mutex left;
    Mutex right;
    left.lock();
    auto waits = nursery.spawn([&] {
      const std::lock_guard hold(right);
      const std::lock_guard too(left);
    });
    await_parked(waits);
    EXPECT_EQ(right.acquire(Deadline::after(1ms)).error(), Errc::timed_out);
    left.unlock();
    EXPECT_TRUE(nursery.join());
  }));
}

}  // namespace
}  // namespace weft

#endif
