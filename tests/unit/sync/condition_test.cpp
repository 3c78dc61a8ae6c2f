#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/condition.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

constinit ConditionVariable condition_made_early;

class ConditionTest : public WorkersTest {
 protected:
  struct Guarded {
    Mutex mutex;
    ConditionVariable changed;
    int value = 0;
  };
};
INSTANTIATE_TEST_SUITE_P(Workers, ConditionTest, ::testing::Values(1u, 2u, 4u));

TEST_P(ConditionTest, DoesNotWaitForWhatHolds) {
  in_fiber([] {
    Guarded it;
    std::unique_lock hold(it.mutex);
    EXPECT_TRUE(it.changed.wait(hold, [] { return true; }));
    EXPECT_TRUE(it.changed.wait(
        hold, [] { return true; }, Deadline::after(-1s)));
    EXPECT_TRUE(hold.owns_lock());
    condition_made_early.notify_all();  // nobody is there
    condition_made_early.notify_one();
  });
}

// R-FUT-01
TEST_P(ConditionTest, UnlocksWhileItWaitsAndHoldsTheLockAfterwards) {
  in_fiber([] {
    Guarded it;
    Nursery nursery;
    auto waiter = nursery.spawn([&] {
      std::unique_lock hold(it.mutex);
      EXPECT_TRUE(it.changed.wait(hold, [&] { return it.value == 1; }));
      EXPECT_TRUE(hold.owns_lock());
      it.value = 2;
    });
    await_parked(waiter);
    {
      std::lock_guard hold(it.mutex);  // it is free
      it.value = 1;
      it.changed.notify_one();  // under the lock
    }
    EXPECT_TRUE(waiter.join());
    EXPECT_EQ(it.value, 2);
    EXPECT_TRUE(it.mutex.try_lock());
    it.mutex.unlock();
    EXPECT_TRUE(nursery.join());
  });
}

// The number of notifications is all they get.
TEST_P(ConditionTest, WakesOneForEachNotifyOne) {
  in_fiber([this] {
    undisturbed();
    constexpr int kWaiters = 10;
    Guarded it;
    std::atomic<int> woken{0};
    Nursery nursery;
    std::vector<Task<>> waiters;
    for (int i = 0; i < kWaiters; ++i) {
      waiters.push_back(nursery.spawn([&] {
        std::unique_lock hold(it.mutex);
        EXPECT_TRUE(it.changed.wait(hold));
        ++woken;
      }));
      await_parked(waiters.back());
    }
    for (int i = 1; i <= kWaiters; ++i) {
      it.changed.notify_one();
      while (woken < i) this_fiber::yield();
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(woken, kWaiters);
  });
}

TEST_P(ConditionTest, WakesAllByNotifyAll) {
  in_fiber([] {
    constexpr int kWaiters = 100;
    Guarded it;
    Nursery nursery;
    std::vector<Task<>> waiters;
    for (int i = 0; i < kWaiters; ++i) {
      waiters.push_back(nursery.spawn([&] {
        std::unique_lock hold(it.mutex);
        EXPECT_TRUE(it.changed.wait(hold, [&] { return it.value != 0; }));
        ++it.value;
      }));
    }
    for (auto& waiter : waiters) await_parked(waiter);
    {
      std::lock_guard hold(it.mutex);
      it.value = 1;
    }
    it.changed.notify_all();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(it.value, kWaiters + 1);
  });
}

// R-TIMER-03
TEST_P(ConditionTest, TimesOutWithTheLockHeld) {
  in_fiber([] {
    Guarded it;
    std::unique_lock hold(it.mutex);
    for (const auto when : {Deadline::after(1us), Deadline::after(-1s)}) {
      EXPECT_EQ(it.changed.wait(hold, when).error(), Errc::timed_out);
      EXPECT_TRUE(hold.owns_lock());
      EXPECT_FALSE(it.mutex.try_lock());
      EXPECT_EQ(it.changed
                    .wait(
                        hold, [] { return false; }, when)
                    .error(),
                Errc::timed_out);
    }
  });
}

TEST_P(ConditionTest, LooksOnceMoreAfterTheLastMoment) {
  in_fiber([] {
    Guarded it;
    std::unique_lock hold(it.mutex);
    int looks = 0;
    EXPECT_TRUE(it.changed.wait(
        hold, [&] { return ++looks == 2; }, Deadline::after(-1s)));
  });
}

TEST_P(ConditionTest, RefusesALockThatIsNotHeld) {
  in_fiber([] {
    Guarded it;
    std::unique_lock hold(it.mutex, std::defer_lock);
    EXPECT_EQ(it.changed.wait(hold).error(), Errc::invalid);
    EXPECT_FALSE(hold.owns_lock());
    std::unique_lock<Mutex> none;
    EXPECT_EQ(it.changed.wait(none).error(), Errc::invalid);
  });
}

TEST_P(ConditionTest, IsCancelledWithTheLockHeld) {
  in_fiber([] {
    Guarded it;
    Nursery nursery;
    auto waiter = nursery.spawn([&] {
      std::unique_lock hold(it.mutex);
      EXPECT_EQ(it.changed.wait(hold).error(), Errc::cancelled);
      EXPECT_TRUE(hold.owns_lock());
      EXPECT_FALSE(it.mutex.try_lock());
      EXPECT_EQ(it.changed.wait(hold, [] { return false; }).error(),
                Errc::cancelled);
      EXPECT_TRUE(hold.owns_lock());
    });
    await_parked(waiter);
    waiter.cancel();
    EXPECT_TRUE(waiter.join());
    EXPECT_TRUE(it.mutex.try_lock());
    it.mutex.unlock();
    as_cancelled([&] {
      std::unique_lock hold(it.mutex);
      EXPECT_EQ(it.changed.wait(hold).error(), Errc::cancelled);
      EXPECT_TRUE(hold.owns_lock());
    });
    EXPECT_TRUE(nursery.join());
  });
}

// A notification is not spent on who gave up.
TEST_P(ConditionTest, NotifiesTheNextWhenAWaiterGaveUp) {
  in_fiber([] {
    Guarded it;
    Nursery nursery;
    auto first = nursery.spawn([&] {
      std::unique_lock hold(it.mutex);
      EXPECT_EQ(it.changed.wait(hold).error(), Errc::cancelled);
    });
    await_parked(first);
    auto second = nursery.spawn([&] {
      std::unique_lock hold(it.mutex);
      EXPECT_TRUE(it.changed.wait(hold));
    });
    await_parked(second);
    first.cancel();
    EXPECT_TRUE(first.join());
    it.changed.notify_one();
    EXPECT_TRUE(second.join());
    EXPECT_TRUE(nursery.join());
  });
}

// A queue of one's own, with as many consumers as producers.
TEST_P(ConditionTest, CarriesAQueue) {
  in_fiber([] {
    const int items = explored() ? 40 : 400;
    constexpr int kSides = 3;
    Mutex mutex;
    ConditionVariable not_empty;
    ConditionVariable not_full;
    std::deque<int> queue;
    std::int64_t sum = 0;
    Nursery nursery;
    for (int i = 0; i < kSides; ++i) {
      nursery.spawn([&] {
        for (int n = 1; n <= items; ++n) {
          std::unique_lock hold(mutex);
          EXPECT_TRUE(not_full.wait(hold, [&] { return queue.size() < 2; }));
          queue.push_back(n);
          not_empty.notify_one();
        }
      });
      nursery.spawn([&] {
        for (int n = 1; n <= items; ++n) {
          std::unique_lock hold(mutex);
          EXPECT_TRUE(not_empty.wait(hold, [&] { return !queue.empty(); }));
          sum += queue.front();
          queue.pop_front();
          not_full.notify_one();
        }
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(sum, std::int64_t{kSides} * items * (items + 1) / 2);
  });
}

TEST_P(ConditionTest, ServesThreadsAndFibersTogether) {
  constexpr int kTurns = 500;
  Guarded it;
  const auto play = [&](int me) {
    for (int turn = me; turn < 2 * kTurns; turn += 2) {
      std::unique_lock hold(it.mutex);
      EXPECT_TRUE(it.changed.wait(hold, [&] { return it.value == turn; }));
      ++it.value;
      it.changed.notify_all();
    }
  };
  Nursery nursery(runtime());
  nursery.spawn([&] { play(0); });
  std::thread thread([&] {
    play(1);
    std::unique_lock hold(it.mutex);
    EXPECT_EQ(it.changed.wait(hold, Deadline::after(1us)).error(),
              Errc::timed_out);
    EXPECT_TRUE(hold.owns_lock());
  });
  thread.join();
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(it.value, 2 * kTurns);
}

}  // namespace
}  // namespace weft
