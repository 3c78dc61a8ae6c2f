// sync_storm_test.cpp: futures, conditions and counters between fibers and
// threads that really run at the same time.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/rng.hpp"
#include "stress/fibers_and_threads.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class SyncStormTest : public test::FibersAndThreadsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SyncStormTest, ::testing::Values(1u, 2u, 4u));

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
      EXPECT_TRUE(nursery.join());
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
