// sync_storm_test.cpp: locks, futures and counters between fibers and threads
// that really run at the same time.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "stress/scale.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::scaled;

class SyncStormTest : public test::WorkersTest {
 protected:
  static int rounds(int plain) {
    return scaled(explored() ? (plain + 19) / 20 : plain);
  }
  // Runs the body in so many fibers; the number is its argument.
  template <typename F>
  void in_fibers(std::uint64_t count, F body) {
    Nursery nursery(runtime());
    for (std::uint64_t i = 0; i < count; ++i) {
      nursery.spawn([&body, i] { body(i); });
    }
    EXPECT_TRUE(nursery.join());
  }
  // The same, and on threads as well.
  template <typename F>
  void in_fibers_and_threads(std::uint64_t fibers, std::uint64_t threads,
                             F body) {
    std::vector<std::thread> all;
    for (std::uint64_t i = 0; i < threads; ++i) {
      all.emplace_back([&body, i, fibers] { body(fibers + i); });
    }
    in_fibers(fibers, body);
    for (auto& thread : all) thread.join();
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, SyncStormTest, ::testing::Values(1u, 2u, 4u));

// ---- Locks

// Counts under a lock, which some wait for until a deadline. Who has it may
// lose it only by unlocking.
template <typename Lock>
class Counter {
 public:
  void work(std::uint64_t seed, int count) {
    base::Rng rng(seed);
    for (int i = 0; i < count; ++i) {
      if (rng.below(4) != 0) {
        std::lock_guard hold(lock_);
        add(rng);
      } else if (const auto held = lock_.acquire(Deadline::after(
                     std::chrono::microseconds(rng.below(50))))) {
        add(rng);
      } else {
        ++late_;
      }
    }
  }
  int added() const { return value_; }
  int late() const { return late_; }

 private:
  void add(base::Rng& rng) {
    const int seen = value_;
    if (rng.below(32) == 0) this_fiber::yield();
    value_ = seen + 1;
  }
  Lock lock_;
  int value_ = 0;  // plain
  std::atomic<int> late_{0};
};

// R-MUTEX-01 R-MUTEX-04 R-TIMER-03
TEST_P(SyncStormTest, MutexExcludesFibersAndThreads) {
  const int count = rounds(8'000);
  Counter<Mutex> counter;
  in_fibers_and_threads(8, 3, [&](auto i) { counter.work(i, count); });
  EXPECT_EQ(counter.added() + counter.late(), 11 * count);
}

// R-EVENT-04
TEST_P(SyncStormTest, FairMutexExcludesFibersAndThreads) {
  const int count = rounds(2'000);
  Counter<FairMutex> counter;
  in_fibers_and_threads(8, 3, [&](auto i) { counter.work(i, count); });
  EXPECT_EQ(counter.added() + counter.late(), 11 * count);
}

TEST_P(SyncStormTest, SharedMutexExcludesWritersAmongFibersAndThreads) {
  const int count = rounds(3'000);
  SharedMutex mutex;
  int value = 0;
  std::atomic<int> written{0};
  in_fibers_and_threads(8, 3, [&](std::uint64_t i) {
    base::Rng rng(i);
    for (int n = 0; n < count; ++n) {
      const auto when =
          Deadline::after(std::chrono::microseconds(rng.below(100)));
      if (rng.below(4) == 0) {
        if (const auto held = mutex.acquire(when)) {
          ++value;
          ++written;
        }
      } else if (const auto held = mutex.acquire_shared(when)) {
        const int seen = value;
        if (rng.below(16) == 0) this_fiber::yield();
        ASSERT_EQ(value, seen);
      }
    }
  });
  EXPECT_EQ(value, written);
}

// R-MUTEX-04 C-29: all wait at once, and each gets in once.
TEST_P(SyncStormTest, AHerdPassesAMutex) {
  const int herd = rounds(10'000);
  in_fiber([&] {
    Mutex mutex;
    int passed = 0;
    std::unique_lock hold(mutex);
    Nursery nursery;
    Task<> last;
    for (int i = 0; i < herd; ++i) {
      last = nursery.spawn([&] {
        std::lock_guard held(mutex);
        ++passed;
      });
    }
    await_parked(last);
    hold.unlock();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(passed, herd);
  });
}

// Cancels and deadlines among the waiters: nobody is forgotten.
template <typename Lock>
void give_up_storm(int count) {
  base::Rng rng(7);
  for (int round = 0; round < count; ++round) {
    Lock lock;
    int inside = 0;
    std::atomic<int> patient{0};
    Nursery nursery;
    std::vector<Task<>> tasks;
    for (int i = 0; i < 8; ++i) {
      const auto when =
          Deadline::after(std::chrono::microseconds(rng.below(60)));
      tasks.push_back(nursery.spawn([&, i, when] {
        if (i % 4 == 0) {
          std::lock_guard hold(lock);
          ASSERT_EQ(++inside, 1);
          --inside;
          ++patient;
        } else if (const auto held = lock.acquire(when)) {
          ASSERT_EQ(++inside, 1);
          this_fiber::yield();
          --inside;
        }
      }));
    }
    for (std::size_t i = 1; i < 8; i += 1 + rng.below(3)) {
      if (i % 4 != 0) tasks[i].cancel();
    }
    (void)nursery.join();
    ASSERT_EQ(patient, 2);
    ASSERT_TRUE(lock.try_lock());
    lock.unlock();
  }
}

TEST_P(SyncStormTest, LocksForgetNobodyWhenOthersGiveUp) {
  in_fiber([] {
    give_up_storm<Mutex>(rounds(1'000));
    give_up_storm<FairMutex>(rounds(500));
    give_up_storm<SharedMutex>(rounds(500));
  });
}

// ---- Futures and futexes

// R-FUT-04 R-FUT-07 C-27: one future over and over, by a thread or a fiber.
TEST_P(SyncStormTest, OneFutureIsSetAwaitedAndUsedAgain) {
  const int count = rounds(20'000);
  Future<int> request;
  Future<int> answer;
  const auto take = [](Future<int>& from, base::Rng& rng) {
    for (;;) {
      auto end = from.wait(
          rng.below(2) == 0
              ? Deadline::never()
              : Deadline::after(std::chrono::microseconds(rng.below(8))));
      if (end) {
        from.reset();
        return *end;
      }
      EXPECT_EQ(end.error(), Errc::timed_out);
    }
  };
  // The reset comes before the answer, and that before the next request.
  in_fibers(2, [&](std::uint64_t i) {
    base::Rng rng(i);
    for (int n = 0; n < count; ++n) {
      if (i == 0) {
        request.set(n);
        ASSERT_EQ(take(answer, rng), -n);
      } else {
        const int got = take(request, rng);
        ASSERT_EQ(got, n);
        answer.set(-got);
      }
    }
  });
}

// R-FUT-06: the stack of who waited is gone when the late setters come.
TEST_P(SyncStormTest, WaitAnyIsDoneWithAllWhenItReturns) {
  const int count = rounds(1'500);
  in_fiber([&] {
    base::Rng rng(11);
    for (int round = 0; round < count; ++round) {
      std::deque<Future<>> futures(2 + rng.below(20));
      Nursery nursery;
      for (auto& future : futures) nursery.spawn([&future] { future.set(); });
      auto waiter = nursery.spawn(
          [&,
           when = Deadline::after(std::chrono::microseconds(rng.below(30)))] {
            std::vector<AnyFuture*> all;
            for (auto& future : futures) all.push_back(&future);
            const auto which = wait_any(all, when);
            ASSERT_TRUE(which ? all[*which]->is_set()
                              : which.error() == Errc::timed_out ||
                                    which.error() == Errc::cancelled);
          });
      if (rng.below(3) == 0) waiter.cancel();
      (void)nursery.join();
      for (auto& future : futures) ASSERT_TRUE(future.wait());
    }
  });
}

// R-FUTEX-02
TEST_P(SyncStormTest, FutexLosesNoPostOfFibersAndThreads) {
  const auto posts = static_cast<std::uint64_t>(rounds(20'000));
  constexpr std::uint64_t kPosters = 6;
  Futex futex;
  in_fibers_and_threads(8, 4, [&](std::uint64_t i) {
    if (i % 2 == 0) {
      for (std::uint64_t n = 0; n < posts; ++n) futex.post();
      return;
    }
    for (std::uint64_t seen = 0; seen < kPosters * posts; seen = futex.get()) {
      ASSERT_TRUE(futex.wait(seen + 1));
    }
  });
  EXPECT_EQ(futex.get(), kPosters * posts);
}

// ---- Conditions and counters

TEST_P(SyncStormTest, ConditionsCarryAQueueOfFibersAndThreads) {
  const int items = rounds(4'000);
  Mutex mutex;
  ConditionVariable not_empty;
  ConditionVariable not_full;
  std::deque<int> queue;
  std::int64_t sum = 0;  // of what was taken, under the mutex
  in_fibers_and_threads(6, 2, [&](std::uint64_t i) {
    for (int n = 1; n <= items; ++n) {
      std::unique_lock hold(mutex);
      if (i % 2 == 0) {
        ASSERT_TRUE(not_full.wait(hold, [&] { return queue.size() < 4; }));
        queue.push_back(n);
        not_empty.notify_one();
      } else {
        ASSERT_TRUE(not_empty.wait(hold, [&] { return !queue.empty(); }));
        sum += queue.front();
        queue.pop_front();
        not_full.notify_one();
      }
    }
  });
  EXPECT_EQ(sum, std::int64_t{4} * items * (items + 1) / 2);
}

// R-TIMER-03: consumers come and go; a notification is never spent on one who
// is gone.
TEST_P(SyncStormTest, ConditionsServeTheThreadsAndFibersThatStay) {
  const int items = rounds(3'000);
  Mutex mutex;
  ConditionVariable changed;
  int there = 0;
  int taken = 0;
  in_fibers_and_threads(7, 2, [&](std::uint64_t i) {
    base::Rng rng(i);
    if (i == 0) {
      for (int n = 0; n < items; ++n) {
        std::lock_guard hold(mutex);
        ++there;
        changed.notify_one();
      }
      std::lock_guard hold(mutex);
      there = -1;  // no more, once all is taken
      changed.notify_all();
      return;
    }
    std::unique_lock hold(mutex);
    while (taken != items) {
      const auto when =
          i % 2 == 0
              ? Deadline::never()
              : Deadline::after(std::chrono::microseconds(rng.below(40)));
      const auto end = changed.wait(
          hold, [&] { return there != 0 || taken == items; }, when);
      ASSERT_TRUE(hold.owns_lock());
      if (!end || taken == items) continue;
      if (there > 0) --there;
      if (++taken == items) changed.notify_all();
    }
  });
  EXPECT_EQ(taken, items);
}

TEST_P(SyncStormTest, SemaphoreKeepsCountOfFibersAndThreads) {
  const int count = rounds(4'000);
  constexpr int kPermits = 3;
  Semaphore semaphore(kPermits);
  std::atomic<int> inside{0};
  in_fibers_and_threads(8, 3, [&](std::uint64_t i) {
    base::Rng rng(i);
    for (int n = 0; n < count; ++n) {
      const auto permit = semaphore.permit(
          rng.below(2) == 0
              ? Deadline::never()
              : Deadline::after(std::chrono::microseconds(rng.below(40))));
      if (!permit) continue;
      ASSERT_LE(++inside, kPermits);
      if (rng.below(16) == 0) this_fiber::yield();
      --inside;
    }
  });
  for (int i = 0; i < kPermits; ++i) EXPECT_TRUE(semaphore.try_acquire());
  EXPECT_FALSE(semaphore.try_acquire());
}

// All may be destroyed as soon as a wait for them has returned.
TEST_P(SyncStormTest, CountersGoAsSoonAsAWaitHasReturned) {
  const int count = rounds(4'000);
  in_fiber([&] {
    for (int round = 0; round < count; ++round) {
      auto latch = std::make_unique<Latch>(3);
      auto group = std::make_unique<WaitGroup>();
      auto barrier = std::make_unique<Barrier>(4);
      group->add(3);
      Nursery nursery;
      for (int i = 0; i < 3; ++i) {
        nursery.spawn([a = latch.get(), b = group.get(), c = barrier.get()] {
          a->count_down();
          b->done();
          c->arrive_and_drop();
        });
      }
      ASSERT_TRUE(latch->wait());
      latch.reset();
      ASSERT_TRUE(group->wait());
      group.reset();
      ASSERT_TRUE(barrier->arrive_and_wait());
      barrier.reset();
    }
  });
}

TEST_P(SyncStormTest, CountersGoAsSoonAsAThreadHasWaited) {
  const int count = rounds(3'000);
  Nursery nursery(runtime());
  for (int round = 0; round < count; ++round) {
    auto latch = std::make_unique<Latch>(2);
    for (int i = 0; i < 2; ++i) {
      nursery.spawn([it = latch.get()] { it->count_down(); });
    }
    ASSERT_TRUE(latch->wait());
    latch.reset();
  }
  EXPECT_TRUE(nursery.join());
}

}  // namespace
}  // namespace weft
