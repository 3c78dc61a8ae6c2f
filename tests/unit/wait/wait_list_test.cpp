#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "sched/carrier.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;
using test::RuntimeTest;

class WaitListTest : public RuntimeTest {};
class SpinLockTest : public RuntimeTest {};

// A list of waiters that go on when told to.
class Line {
 public:
  bool try_complete(Waiter& waiter) noexcept {
    return waiter.reason() != WakeReason::none;
  }
  bool publish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock);
    waiters.push_back(waiter);
    ++count;
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock);
    waiters.remove(waiter);
    --count;
  }
  std::size_t waiting() {
    std::lock_guard hold(lock);
    return count;
  }

  SpinLock lock;
  WaitList waiters;
  std::size_t count = 0;
};

TEST_F(WaitListTest, WakesNobodyWhenEmpty) {
  WaitList list;
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(list.wake_one());
  EXPECT_EQ(list.wake_all(), 0u);
}

TEST_F(WaitListTest, WakesInTheOrderOfArrival) {
  Runtime runtime = start(1);
  std::vector<int> order;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    Line line;
    constexpr int kWaiters = 8;
    for (int i = 0; i < kWaiters; ++i) {
      nursery.spawn([&, i] {
        EXPECT_TRUE(wait(line));
        order.push_back(i);
      });
      while (line.waiting() != static_cast<std::size_t>(i) + 1) {
        this_fiber::yield();
      }
    }
    for (int i = 0; i < kWaiters; ++i) {
      {
        std::lock_guard hold(line.lock);
        EXPECT_TRUE(line.waiters.wake_one());
      }
      while (order.size() != static_cast<std::size_t>(i) + 1) {
        this_fiber::yield();
      }
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  }));
}

TEST_F(WaitListTest, WakesAllAndSaysHowMany) {
  Runtime runtime = start(2);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    Line line;
    constexpr std::size_t kWaiters = 100;
    for (std::size_t i = 0; i < kWaiters; ++i) {
      nursery.spawn([&] { EXPECT_TRUE(wait(line)); });
    }
    while (line.waiting() != kWaiters) this_fiber::yield();
    {
      std::lock_guard hold(line.lock);
      EXPECT_EQ(line.waiters.wake_all(), kWaiters);
      EXPECT_TRUE(line.waiters.empty());
    }
    EXPECT_TRUE(nursery.join());
  }));
}

// R-CTRL-11: a signal passes over waiters that are no longer waiting.
TEST_F(WaitListTest, PassesASignalOverWaitersThatWereWokenElsewhere) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    Line line;
    Line other;
    auto first = nursery.spawn([&] {
      return select(on(line, [](Status) {}), on(other, [](Status) {})).value();
    });
    while (line.waiting() != 1 || other.waiting() != 1) this_fiber::yield();
    auto second = nursery.spawn([&]() -> Status { return wait(line); });
    while (line.waiting() != 2) this_fiber::yield();
    {
      std::lock_guard hold(other.lock);
      EXPECT_TRUE(other.waiters.wake_one());
    }
    {  // the first is claimed now, but still linked: it has not run
      std::lock_guard hold(line.lock);
      EXPECT_TRUE(line.waiters.wake_one());
    }
    EXPECT_EQ(first.join().value(), 1u);
    EXPECT_TRUE(second.join());
    EXPECT_TRUE(nursery.join());
  }));
}

// R-UNPARK-02 R-CTRL-05 R-CTRL-11
TEST_F(WaitListTest, WakesAFiberOnceForManyWakers) {
  Runtime runtime = start(2);
  constexpr int kRounds = 100;
  constexpr int kWakers = 4;
  for (int round = 0; round < kRounds; ++round) {
    Line line;
    int resumed = 0;
    std::atomic<int> won{0};
    Nursery all(runtime);
    all.spawn([&] {
      EXPECT_TRUE(wait(line));
      ++resumed;
    });
    while (line.waiting() == 0) std::this_thread::yield();
    std::vector<std::thread> wakers;
    for (int i = 0; i < kWakers; ++i) {
      wakers.emplace_back([&] {
        std::lock_guard hold(line.lock);
        won += line.waiters.wake_one();
      });
    }
    for (auto& waker : wakers) waker.join();
    ASSERT_TRUE(all.join());
    ASSERT_EQ(won, 1);
    ASSERT_EQ(resumed, 1);
  }
}

// R-LOCKD-01
TEST_F(SpinLockTest, HoldsWakesBackUntilItIsReleased) {
  undisturbed();  // a stray wake would be the one that is held back
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    Line line;
    auto waiter = nursery.spawn([&]() -> Status { return wait(line); });
    while (line.waiting() == 0) this_fiber::yield();
    auto& here = sched::carrier();
    SpinLock outer;
    outer.lock();
    line.lock.lock();
    EXPECT_EQ(here.lock_depth, 2u);
    EXPECT_TRUE(line.waiters.wake_one());
    EXPECT_NE(here.deferred, nullptr);
    line.lock.unlock();
    EXPECT_NE(here.deferred, nullptr);  // one lock is still held
    outer.unlock();
    EXPECT_EQ(here.deferred, nullptr);
    EXPECT_EQ(here.lock_depth, 0u);
    EXPECT_EQ(waiter.state(), FiberState::ready);
    EXPECT_TRUE(waiter.join());
  }));
}

// R-LOCKD-01
TEST_F(SpinLockTest, HoldsWakesBackOnPlainThreadsToo) {
  Runtime runtime = start(2);
  Line line;
  std::atomic<bool> ran{false};
  Nursery all(runtime);
  all.spawn([&] {
    EXPECT_TRUE(wait(line));
    ran = true;
  });
  while (line.waiting() == 0) std::this_thread::yield();
  line.lock.lock();
  EXPECT_TRUE(line.waiters.wake_one());
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(ran);
    std::this_thread::yield();
  }
  line.lock.unlock();
  EXPECT_TRUE(all.join());
}

// R-LOCKD-04
TEST_F(SpinLockTest, CountsItsDepthOverEveryWayOut) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&] {
    auto& here = sched::carrier();
    Gate gate;
    EXPECT_EQ(gate.pass(Deadline::after(std::chrono::microseconds(1))).error(),
              Errc::timed_out);
    EXPECT_EQ(here.lock_depth, 0u);
    SpinLock lock;
    try {
      std::lock_guard hold(lock);
      EXPECT_EQ(here.lock_depth, 1u);
      throw 1;
    } catch (int) {
    }
    EXPECT_EQ(here.lock_depth, 0u);
    EXPECT_TRUE(lock.try_lock());
    EXPECT_FALSE(lock.try_lock());
    EXPECT_EQ(here.lock_depth, 1u);
    lock.unlock();
    EXPECT_EQ(here.lock_depth, 0u);
    gate.open();
    EXPECT_TRUE(gate.pass());
    EXPECT_EQ(here.lock_depth, 0u);
  }));
}

TEST_F(SpinLockTest, ExcludesFibersAndThreadsAlike) {
  Runtime runtime = start(2);
  SpinLock lock;
  int counter = 0;  // guarded by lock
  constexpr int kEach = 5000;
  const auto count = [&] {
    for (int i = 0; i < kEach; ++i) {
      std::lock_guard hold(lock);
      ++counter;
    }
  };
  Nursery all(runtime);
  for (int i = 0; i < 4; ++i) all.spawn(count);
  std::thread thread(count);
  thread.join();
  EXPECT_TRUE(all.join());
  EXPECT_EQ(counter, 5 * kEach);
}

}  // namespace
}  // namespace weft
