// misuse_test.cpp: what is reported, and ends the process.

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "support/death_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;

class SyncDeathTest : public test::FreshProcessTest {
 protected:
  template <typename F>
  static void in_fiber(F&& body) {
    (void)run(Config{.workers = 1}, std::forward<F>(body));
  }
  // A fiber that does not come back from it, and waits when this returns.
  template <typename F>
  static void let_wait(Nursery& nursery, F&& wait) {
    await_parked(nursery.spawn(std::forward<F>(wait)));
  }
};

struct Nothing : AnyFuture::Callback {
  Nothing() noexcept : Callback{[](Callback&) noexcept {}} {}
};

// ---- Futures

TEST_F(SyncDeathTest, ReportsAFutureThatIsSetTwice) {
  EXPECT_DEATH(in_fiber([] {
                 Future<int> answer;
                 answer.set(1);
                 answer.set(2);
               }),
               "a future is set twice");
  EXPECT_DEATH(
      {
        Future<> done;
        done.set(Errc::denied);
        done.set();
      },
      "a future is set twice");
}

TEST_F(SyncDeathTest, ReportsASecondWaiterOfAFuture) {
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 Future<> done;
                 let_wait(nursery, [&] { (void)done.wait(); });
                 (void)done.wait();
               }),
               "two wait for one future");
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 Future<> first;
                 Future<> second;
                 let_wait(nursery, [&] { (void)second.wait(); });
                 AnyFuture* const both[] = {&first, &second};
                 (void)wait_any(both);
               }),
               "two wait for one future");
}

TEST_F(SyncDeathTest, ReportsACallbackBesideAWaitOrAnother) {
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 Future<> done;
                 let_wait(nursery, [&] { (void)done.wait(); });
                 Nothing callback;
                 (void)done.subscribe(callback);
               }),
               "a callback for a future that somebody waits for");
  EXPECT_DEATH(
      {
        Future<> done;
        Nothing callback;
        Nothing other;
        (void)done.subscribe(callback);
        (void)done.subscribe(other);
      },
      "a callback for a future .*that has one");
  EXPECT_DEATH(
      {
        Future<> done;
        Nothing callback;
        (void)done.subscribe(callback);
        (void)done.wait();
      },
      "waits that has a callback");
}

TEST_F(SyncDeathTest, ReportsAFutureThatIsResetWhileSomebodyWaits) {
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 Future<> done;
                 let_wait(nursery, [&] { (void)done.wait(); });
                 done.reset();
               }),
               "a future is reset while somebody waits for it");
}

TEST_F(SyncDeathTest, ReportsAFutureThatGoesWhileSomebodyWaits) {
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 auto done = std::make_unique<Future<>>();
                 let_wait(nursery, [&] { (void)done->wait(); });
                 done.reset();
               }),
               "a future is destroyed while somebody waits for it");
  EXPECT_DEATH(
      {
        Nothing callback;
        Future<> done;
        (void)done.subscribe(callback);
      },
      "a future is destroyed while somebody waits for it");
}

TEST_F(SyncDeathTest, ReportsAFutexThatGoesWhileSomebodyWaits) {
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 auto futex = std::make_unique<Futex>();
                 let_wait(nursery, [&] { (void)futex->wait(); });
                 futex.reset();
               }),
               "a Futex is destroyed while somebody waits for it");
}

// ---- Locks

template <typename Lock>
void lock_twice() {
  Lock lock;
  lock.lock();
  lock.lock();
}
template <typename Lock>
void acquire_twice() {
  Lock lock;
  const auto held = lock.acquire();
  (void)lock.acquire(Deadline::after(std::chrono::hours(1)));
}
template <typename Lock>
void unlock_free() {
  Lock lock;
  lock.unlock();
}
template <typename Lock>
void unlock_for_another() {
  Lock lock;
  lock.lock();
  Nursery nursery;
  (void)nursery.spawn([&] { lock.unlock(); }).wait();
  EXPECT_TRUE(nursery.join());
}
template <typename Lock>
void destroy_held() {
  Lock lock;
  lock.lock();
}
template <typename Lock>
void destroy_awaited() {
  Nursery nursery;
  auto lock = std::make_unique<Lock>();
  await_parked(nursery.spawn([&] {
    lock->lock();
    (void)this_fiber::sleep_for(std::chrono::hours(1));
  }));
  await_parked(nursery.spawn([&] { lock->lock(); }));
  lock.reset();
  EXPECT_TRUE(nursery.join());
}

constexpr const char* kTwice = "locked by the fiber or thread that holds it";
constexpr const char* kNotHeld =
    "unlocked by a fiber or thread that does not hold it";

TEST_F(SyncDeathTest, ReportsALockThatItsOwnerLocksAgain) {
  EXPECT_DEATH(in_fiber(lock_twice<Mutex>), kTwice);
  EXPECT_DEATH(in_fiber(lock_twice<FairMutex>), kTwice);
  EXPECT_DEATH(in_fiber(lock_twice<SharedMutex>), kTwice);
  EXPECT_DEATH(in_fiber(acquire_twice<Mutex>), kTwice);
  EXPECT_DEATH(in_fiber(acquire_twice<FairMutex>), kTwice);
  EXPECT_DEATH(in_fiber(acquire_twice<SharedMutex>), kTwice);
}

TEST_F(SyncDeathTest, ReportsALockThatItsThreadLocksAgain) {
  EXPECT_DEATH(lock_twice<Mutex>(), kTwice);
  EXPECT_DEATH(lock_twice<FairMutex>(), kTwice);
  EXPECT_DEATH(lock_twice<SharedMutex>(), kTwice);
}

TEST_F(SyncDeathTest, ReportsAReadOfWhatOneWrites) {
  EXPECT_DEATH(in_fiber([] {
                 SharedMutex mutex;
                 std::lock_guard writes(mutex);
                 std::shared_lock reads(mutex);
               }),
               kTwice);
  EXPECT_DEATH(in_fiber([] {
                 SharedMutex mutex;
                 std::lock_guard writes(mutex);
                 (void)mutex.acquire_shared();
               }),
               kTwice);
}

TEST_F(SyncDeathTest, ReportsAKeyThatItsOwnerLocksAgain) {
  EXPECT_DEATH(in_fiber([] {
                 KeyedMutex<int> locks;
                 const auto held = locks.acquire(1);
                 (void)locks.acquire(1);
               }),
               kTwice);
}

TEST_F(SyncDeathTest, ReportsAnUnlockOfWhatNobodyHolds) {
  EXPECT_DEATH(in_fiber(unlock_free<Mutex>), kNotHeld);
  EXPECT_DEATH(in_fiber(unlock_free<FairMutex>), kNotHeld);
  EXPECT_DEATH(in_fiber(unlock_free<SharedMutex>), kNotHeld);
  EXPECT_DEATH(unlock_free<Mutex>(), kNotHeld);
  EXPECT_DEATH(in_fiber([] {
                 SharedMutex mutex;
                 mutex.unlock_shared();
               }),
               kNotHeld);
}

TEST_F(SyncDeathTest, ReportsAnUnlockByAnother) {
  EXPECT_DEATH(in_fiber(unlock_for_another<Mutex>), kNotHeld);
  EXPECT_DEATH(in_fiber(unlock_for_another<FairMutex>), kNotHeld);
  EXPECT_DEATH(in_fiber(unlock_for_another<SharedMutex>), kNotHeld);
  EXPECT_DEATH(
      {
        Mutex mutex;
        mutex.lock();
        std::thread([&] { mutex.unlock(); }).join();
      },
      kNotHeld);
}

TEST_F(SyncDeathTest, ReportsAnUnlockOfTheOtherKind) {
  EXPECT_DEATH(in_fiber([] {
                 SharedMutex mutex;
                 mutex.lock();
                 mutex.unlock_shared();
               }),
               kNotHeld);
  EXPECT_DEATH(in_fiber([] {
                 SharedMutex mutex;
                 mutex.lock_shared();
                 mutex.unlock();
               }),
               kNotHeld);
}

TEST_F(SyncDeathTest, ReportsALockThatGoesWhileItIsHeld) {
  EXPECT_DEATH(in_fiber(destroy_held<Mutex>),
               "a Mutex is destroyed while it is held or awaited");
  EXPECT_DEATH(in_fiber(destroy_held<FairMutex>),
               "a FairMutex is destroyed while it is held or awaited");
  EXPECT_DEATH(in_fiber(destroy_held<SharedMutex>),
               "a SharedMutex is destroyed while it is held or awaited");
  EXPECT_DEATH(
      {
        SharedMutex mutex;
        mutex.lock_shared();
      },
      "a SharedMutex is destroyed while it is held or awaited");
}

TEST_F(SyncDeathTest, ReportsALockThatGoesWhileItIsAwaited) {
  EXPECT_DEATH(in_fiber(destroy_awaited<Mutex>),
               "a Mutex is destroyed while it is held or awaited");
  EXPECT_DEATH(in_fiber(destroy_awaited<FairMutex>),
               "a FairMutex is destroyed while it is held or awaited");
  EXPECT_DEATH(in_fiber(destroy_awaited<SharedMutex>),
               "a SharedMutex is destroyed while it is held or awaited");
}

TEST_F(SyncDeathTest, ReportsATurnThatGoesWhileItIsInLine) {
  EXPECT_DEATH(in_fiber([] {
                 FairMutex mutex;
                 mutex.lock();
                 FairMutex::Future turn;
                 mutex.lock(turn);
               }),
               "a turn is destroyed while it is in line");
}

TEST_F(SyncDeathTest, ReportsATurnThatIsUsedAgain) {
  EXPECT_DEATH(in_fiber([] {
                 FairMutex mutex;
                 FairMutex::Future turn;
                 mutex.lock(turn);
                 mutex.lock(turn);
               }),
               "a turn is used again before it was reset");
  EXPECT_DEATH(in_fiber([] {
                 FairMutex mutex;
                 mutex.lock();
                 FairMutex::Future turn;
                 mutex.lock(turn);
                 mutex.lock(turn);
               }),
               "a turn is used again before it was reset");
  EXPECT_DEATH(in_fiber([] {
                 FairMutex mutex;
                 mutex.lock();
                 FairMutex::Future turn;
                 mutex.lock(turn);
                 turn.reset();
               }),
               "a turn is reset while it is in line");
}

// ---- Under a spin lock nobody may wait.

TEST_F(SyncDeathTest, ReportsAWaitUnderASpinLock) {
  const auto under_lock = [](auto wait) {
    in_fiber([&] {
      SpinLock lock;
      lock.lock();
      wait();
    });
  };
  EXPECT_DEATH(under_lock([] { (void)Future<>().wait(); }), "PARK-UNDER-LOCK");
  EXPECT_DEATH(under_lock([] { (void)Futex().wait(0); }), "PARK-UNDER-LOCK");
  EXPECT_DEATH(under_lock([] { Mutex().lock(); }), "PARK-UNDER-LOCK");
  EXPECT_DEATH(under_lock([] { (void)Semaphore(1).acquire(); }),
               "PARK-UNDER-LOCK");
  EXPECT_DEATH(under_lock([] { (void)Latch(0).wait(); }), "PARK-UNDER-LOCK");
  EXPECT_DEATH(under_lock([] { (void)Event().wait(); }), "PARK-UNDER-LOCK");
  EXPECT_DEATH(under_lock([] {
                 Mutex mutex;
                 std::unique_lock<Mutex> none;
                 (void)ConditionVariable().wait(none);
               }),
               "PARK-UNDER-LOCK");
}

}  // namespace
}  // namespace weft
