#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/semaphore.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

class SemaphoreTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SemaphoreTest, ::testing::Values(1u, 2u, 4u));

// What is left, taken one by one and given back.
int permits_of(Semaphore& semaphore) {
  int count = 0;
  while (semaphore.try_acquire()) ++count;
  semaphore.release(count);
  return count;
}

TEST_P(SemaphoreTest, HasSoManyPermits) {
  in_fiber([] {
    Semaphore semaphore(3);
    EXPECT_TRUE(semaphore.acquire());
    EXPECT_TRUE(semaphore.acquire(Deadline::after(-1s)));
    EXPECT_TRUE(semaphore.try_acquire());
    EXPECT_FALSE(semaphore.try_acquire());
    semaphore.release();
    EXPECT_TRUE(semaphore.try_acquire());
    semaphore.release(3);
    semaphore.release(0);
    EXPECT_EQ(permits_of(semaphore), 3);
  });
}

TEST_P(SemaphoreTest, WantsAsManyReleasesAsItBeganBelowZero) {
  in_fiber([] {
    Semaphore semaphore(-2);
    EXPECT_FALSE(semaphore.try_acquire());
    Nursery nursery;
    auto waiter = nursery.spawn([&] { EXPECT_TRUE(semaphore.acquire()); });
    await_parked(waiter);
    semaphore.release();
    semaphore.release();
    for (int i = 0; i < 20; ++i) this_fiber::yield();
    EXPECT_FALSE(waiter.done());
    EXPECT_FALSE(semaphore.try_acquire());
    semaphore.release();
    EXPECT_TRUE(waiter.join());
    EXPECT_FALSE(semaphore.try_acquire());
    EXPECT_TRUE(nursery.join());
  });
}

// R-FUT-01
TEST_P(SemaphoreTest, LetsSoManyInAtATime) {
  in_fiber([] {
    constexpr int kPermits = 3;
    const int rounds = explored() ? 20 : 200;
    Semaphore semaphore(kPermits);
    std::atomic<int> inside{0};
    Nursery nursery;
    for (int i = 0; i < 10; ++i) {
      nursery.spawn([&] {
        for (int n = 0; n < rounds; ++n) {
          EXPECT_TRUE(semaphore.acquire());
          EXPECT_LE(++inside, kPermits);
          if (n % 4 == 0) this_fiber::yield();
          --inside;
          semaphore.release();
        }
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(permits_of(semaphore), kPermits);
  });
}

TEST_P(SemaphoreTest, ServesInTheOrderOfArrival) {
  in_fiber([] {
    constexpr int kWaiters = 50;
    Semaphore semaphore(0);
    Semaphore done(0);
    std::vector<int> order;
    Nursery nursery;
    for (int i = 0; i < kWaiters; ++i) {
      auto next = nursery.spawn([&, i] {
        EXPECT_TRUE(semaphore.acquire());
        order.push_back(i);
        done.release();
      });
      await_parked(next);
    }
    for (int i = 0; i < kWaiters; ++i) {
      semaphore.release();
      EXPECT_TRUE(done.acquire());
      EXPECT_EQ(order.back(), i);
    }
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SemaphoreTest, WakesAsManyAsWereReleased) {
  in_fiber([] {
    Semaphore semaphore(0);
    std::atomic<int> through{0};
    Nursery nursery;
    std::vector<Task<>> waiters;
    for (int i = 0; i < 10; ++i) {
      waiters.push_back(nursery.spawn([&] {
        EXPECT_TRUE(semaphore.acquire());
        ++through;
      }));
    }
    for (auto& waiter : waiters) await_parked(waiter);
    semaphore.release(4);
    while (through < 4) this_fiber::yield();
    EXPECT_FALSE(semaphore.try_acquire());
    for (int i = 0; i < 20; ++i) this_fiber::yield();
    EXPECT_EQ(through, 4);
    semaphore.release(10);  // four too many
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(permits_of(semaphore), 4);
  });
}

TEST_P(SemaphoreTest, GivesAPermitBackWhenItGoes) {
  in_fiber([] {
    Semaphore semaphore(2);
    {
      auto permit = semaphore.permit();
      ASSERT_TRUE(permit);
      EXPECT_EQ(permits_of(semaphore), 1);
      const auto moved = std::move(*permit);
      EXPECT_EQ(permits_of(semaphore), 1);
      const auto other = semaphore.permit(Deadline::after(-1s));
      EXPECT_TRUE(other);
      EXPECT_EQ(semaphore.permit(Deadline::after(-1s)).error(),
                Errc::timed_out);
    }
    EXPECT_EQ(permits_of(semaphore), 2);
    as_cancelled(
        [&] { EXPECT_EQ(semaphore.permit().error(), Errc::cancelled); });
    EXPECT_EQ(permits_of(semaphore), 2);
  });
}

// R-TIMER-03
TEST_P(SemaphoreTest, LosesNoPermitToWhoGaveUp) {
  in_fiber([] {
    Semaphore semaphore(0);
    EXPECT_EQ(semaphore.acquire(Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_EQ(semaphore.acquire(Deadline::after(-1s)).error(), Errc::timed_out);
    Nursery nursery;
    auto first = nursery.spawn(
        [&] { EXPECT_EQ(semaphore.acquire().error(), Errc::cancelled); });
    await_parked(first);
    auto second = nursery.spawn([&] { EXPECT_TRUE(semaphore.acquire()); });
    await_parked(second);
    first.cancel();
    EXPECT_TRUE(first.join());
    semaphore.release();
    EXPECT_TRUE(second.join());
    EXPECT_EQ(permits_of(semaphore), 0);
    semaphore.release();
    as_cancelled(
        [&] { EXPECT_EQ(semaphore.acquire().error(), Errc::cancelled); });
    EXPECT_EQ(permits_of(semaphore), 1);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SemaphoreTest, KeepsCountWhenDeadlinesAndCancelsRaceWithReleases) {
  in_fiber([] {
    constexpr int kFibers = 6;
    for (int round = 0; round < 100; ++round) {
      Semaphore semaphore(0);
      std::atomic<int> taken{0};
      Nursery nursery;
      std::vector<Task<>> tasks;
      for (int i = 0; i < kFibers; ++i) {
        tasks.push_back(nursery.spawn([&, round] {
          const auto when = Deadline::after(std::chrono::microseconds(round));
          taken += semaphore.acquire(when).has_value();
        }));
      }
      nursery.spawn([&] {
        for (int i = 0; i < kFibers; ++i) semaphore.release();
      });
      tasks[0].cancel();
      tasks[3].cancel();
      (void)nursery.join();
      ASSERT_EQ(taken + permits_of(semaphore), kFibers);
    }
  });
}

TEST_P(SemaphoreTest, ServesThreadsAndFibersTogether) {
  constexpr int kRounds = 500;
  Semaphore semaphore(1);
  int count = 0;
  const auto work = [&] {
    for (int i = 0; i < kRounds; ++i) {
      const auto permit = semaphore.permit();
      ASSERT_TRUE(permit);
      ++count;
    }
  };
  Nursery nursery(runtime());
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    nursery.spawn(work);
    threads.emplace_back(work);
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(count, 4 * kRounds);
  EXPECT_TRUE(semaphore.acquire(Deadline::after(1us)));
  EXPECT_EQ(semaphore.acquire(Deadline::after(1us)).error(), Errc::timed_out);
}

}  // namespace
}  // namespace weft
