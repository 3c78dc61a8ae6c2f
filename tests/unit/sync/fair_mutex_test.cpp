#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "stress/scale.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

constinit FairMutex fair_mutex_made_early;

class FairMutexTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, FairMutexTest, ::testing::Values(1u, 2u, 4u));

bool is_free(FairMutex& mutex) {
  Nursery nursery;
  auto other = nursery.spawn([&] {
    const bool locked = mutex.try_lock();
    if (locked) mutex.unlock();
    return locked;
  });
  return other.join().value();
}

// R-EVENT-03
TEST_P(FairMutexTest, WorksUnderTheGuardsOfTheStandardLibrary) {
  in_fiber([] {
    FairMutex mutex;
    {
      std::lock_guard hold(mutex);
      EXPECT_FALSE(is_free(mutex));
      EXPECT_FALSE(mutex.try_lock());
    }
    {
      FairMutex other;
      std::scoped_lock both(mutex, other);
      EXPECT_FALSE(is_free(mutex));
      EXPECT_FALSE(is_free(other));
    }
    {
      std::unique_lock hold(mutex, std::try_to_lock);
      EXPECT_TRUE(hold.owns_lock());
    }
    EXPECT_TRUE(is_free(mutex));
    std::lock_guard hold(fair_mutex_made_early);
    EXPECT_FALSE(is_free(fair_mutex_made_early));
  });
}

// R-EVENT-04
TEST_P(FairMutexTest, LetsOneInAtATime) {
  in_fiber([] {
    constexpr int kFibers = 8;
    const int rounds = explored() ? 50 : 500;
    FairMutex mutex;
    int count = 0;
    Nursery nursery;
    for (int i = 0; i < kFibers; ++i) {
      nursery.spawn([&, i] {
        for (int n = 0; n < rounds; ++n) {
          std::lock_guard hold(mutex);
          const int seen = count;
          if ((n + i) % 16 == 0) this_fiber::yield();
          count = seen + 1;
        }
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(count, kFibers * rounds);
  });
}

// R-EVENT-03 R-EVENT-04
TEST_P(FairMutexTest, ServesTenThousandFibersInTheOrderOfTheirArrival) {
  const int fibers = explored() ? 200 : test::scaled(10'000);
  in_fiber([fibers] {
    FairMutex mutex;
    std::vector<int> order;
    std::unique_lock hold(mutex);
    Nursery nursery;
    for (int i = 0; i < fibers; ++i) {
      auto next = nursery.spawn([&, i] {
        std::lock_guard held(mutex);
        order.push_back(i);
      });
      await_parked(next);
    }
    hold.unlock();
    EXPECT_TRUE(nursery.join());
    ASSERT_EQ(order.size(), static_cast<std::size_t>(fibers));
    for (int i = 0; i < fibers; ++i) {
      ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
    }
  });
}

TEST_P(FairMutexTest, IsHandedOverSoThatNobodyOvertakes) {
  in_fiber([] {
    FairMutex mutex;
    mutex.lock();
    bool through = false;
    Nursery nursery;
    auto waiter = nursery.spawn([&] {
      std::lock_guard hold(mutex);
      through = true;
    });
    await_parked(waiter);
    mutex.unlock();
    mutex.lock();  // after the one who waited
    EXPECT_TRUE(through);
    mutex.unlock();
    EXPECT_TRUE(nursery.join());
  });
}

// R-TIMER-03
TEST_P(FairMutexTest, IsServedToTheNextWhenAWaiterGivesUp) {
  in_fiber([] {
    FairMutex mutex;
    std::unique_lock hold(mutex);
    Nursery nursery;
    auto cancelled = nursery.spawn(
        [&] { EXPECT_EQ(mutex.acquire().error(), Errc::cancelled); });
    await_parked(cancelled);
    auto late = nursery.spawn([&] {
      EXPECT_EQ(mutex.acquire(Deadline::after(1us)).error(), Errc::timed_out);
      EXPECT_EQ(mutex.acquire(Deadline::after(-1s)).error(), Errc::timed_out);
    });
    auto patient = nursery.spawn([&] { EXPECT_TRUE(mutex.acquire()); });
    await_parked(patient);
    cancelled.cancel();
    EXPECT_TRUE(late.join());
    EXPECT_TRUE(cancelled.join());
    EXPECT_FALSE(patient.done());
    hold.unlock();
    EXPECT_TRUE(patient.join());
    EXPECT_TRUE(is_free(mutex));
    EXPECT_TRUE(mutex.acquire(Deadline::after(-1s)));
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(FairMutexTest, LetsACancelledFiberLockButNotAcquire) {
  in_fiber([] {
    FairMutex mutex;
    std::unique_lock hold(mutex);
    Nursery nursery;
    auto waiter = nursery.spawn([&] {
      std::lock_guard held(mutex);
      EXPECT_TRUE(this_fiber::cancelled());
    });
    await_parked(waiter);
    waiter.cancel();
    for (int i = 0; i < 20; ++i) this_fiber::yield();
    EXPECT_FALSE(waiter.done());
    hold.unlock();
    EXPECT_TRUE(waiter.join());
    as_cancelled([&] {
      EXPECT_EQ(mutex.acquire().error(), Errc::cancelled);
      std::lock_guard held(mutex);
    });
    EXPECT_TRUE(is_free(mutex));
    EXPECT_TRUE(nursery.join());
  });
}

// ---- A place in line without a wait

// R-EVENT-03
TEST_P(FairMutexTest, GivesATurnAtOnceIfItIsFree) {
  in_fiber([] {
    FairMutex mutex;
    FairMutex::Future turn;
    mutex.lock(turn);
    EXPECT_TRUE(turn.is_set());
    EXPECT_TRUE(turn.wait());
    EXPECT_FALSE(is_free(mutex));
    { std::lock_guard hold(mutex, std::adopt_lock); }
    EXPECT_TRUE(is_free(mutex));
  });
}

// R-EVENT-03
TEST_P(FairMutexTest, GivesTurnsInTheOrderOfTheLine) {
  in_fiber([] {
    constexpr std::size_t kTurns = 100;
    FairMutex mutex;
    std::deque<FairMutex::Future> turns(kTurns);
    mutex.lock();
    for (auto& turn : turns) mutex.lock(turn);
    for (std::size_t i = 0; i < kTurns; ++i) {
      EXPECT_FALSE(turns[i].is_set());
      mutex.unlock();
      ASSERT_TRUE(turns[i].wait());
    }
    EXPECT_FALSE(is_free(mutex));
    mutex.unlock();
    EXPECT_TRUE(is_free(mutex));
  });
}

TEST_P(FairMutexTest, MixesTurnsWithWaits) {
  in_fiber([] {
    FairMutex mutex;
    std::vector<int> order;
    mutex.lock();
    Nursery nursery;
    for (int i = 0; i < 20; ++i) {
      auto next = nursery.spawn([&, i] {
        if (i % 2 == 0) {
          std::lock_guard hold(mutex);
          order.push_back(i);
        } else {
          FairMutex::Future turn;
          mutex.lock(turn);
          EXPECT_TRUE(turn.wait());
          std::lock_guard hold(mutex, std::adopt_lock);
          order.push_back(i);
        }
      });
      await_parked(next);
    }
    mutex.unlock();
    EXPECT_TRUE(nursery.join());
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    }
  });
}

// R-EVENT-05: who gives up leaves no hole.
TEST_P(FairMutexTest, ServesWhoComesAfterATurnThatWasCancelled) {
  in_fiber([] {
    FairMutex mutex;
    FairMutex::Future first;
    FairMutex::Future second;
    mutex.lock();
    mutex.lock(first);
    mutex.lock(second);
    first.cancel();
    EXPECT_TRUE(first.is_set());
    EXPECT_EQ(first.wait().error(), Errc::cancelled);
    first.cancel();  // it is out already
    mutex.unlock();
    EXPECT_TRUE(second.wait());
    mutex.unlock();
    EXPECT_TRUE(is_free(mutex));
  });
}

// R-EVENT-05
TEST_P(FairMutexTest, KeepsATurnThatHadTheLockWhenItWasCancelled) {
  in_fiber([] {
    FairMutex mutex;
    FairMutex::Future turn;
    mutex.lock(turn);
    turn.cancel();
    EXPECT_TRUE(turn.wait());
    EXPECT_FALSE(is_free(mutex));
    mutex.unlock();
    EXPECT_TRUE(is_free(mutex));
  });
}

TEST_P(FairMutexTest, LeavesATurnAloneThatIsNotInLine) {
  in_fiber([] {
    FairMutex::Future turn;
    turn.cancel();  // of nothing
    {
      FairMutex mutex;
      mutex.lock(turn);
      EXPECT_TRUE(turn.wait());
      mutex.unlock();
      turn.cancel();
      EXPECT_TRUE(turn.wait());
    }
    turn.reset();
    turn.cancel();  // in no line since, and the one it was in is gone
    turn.reset();
    FairMutex mutex;
    mutex.lock(turn);
    EXPECT_TRUE(turn.wait());
    mutex.unlock();
  });
}

TEST_P(FairMutexTest, UsesATurnAgainAfterItsReset) {
  in_fiber([] {
    FairMutex mutex;
    FairMutex::Future turn;
    for (int i = 0; i < 20; ++i) {
      mutex.lock();
      mutex.lock(turn);
      if (i % 2 == 0) {
        turn.cancel();
        EXPECT_EQ(turn.wait().error(), Errc::cancelled);
        mutex.unlock();
      } else {
        mutex.unlock();
        EXPECT_TRUE(turn.wait());
        mutex.unlock();
      }
      turn.reset();
    }
    EXPECT_TRUE(is_free(mutex));
  });
}

TEST_P(FairMutexTest, KeepsOrLosesATurnWhenItsCancelRacesWithAnUnlock) {
  in_fiber([] {
    FairMutex mutex;
    for (int i = 0; i < 500; ++i) {
      Nursery nursery;
      auto holder = nursery.spawn([&] {
        std::lock_guard hold(mutex);
        this_fiber::yield();
      });
      FairMutex::Future turn;
      mutex.lock(turn);
      turn.cancel();
      const auto end = turn.wait();
      ASSERT_TRUE(end || end.error() == Errc::cancelled);
      if (end) mutex.unlock();
      ASSERT_TRUE(holder.join());
      ASSERT_TRUE(is_free(mutex));
      EXPECT_TRUE(nursery.join());
    }
  });
}

TEST_P(FairMutexTest, ExcludesThreadsAndFibersFromEachOther) {
  constexpr int kRounds = 300;
  FairMutex mutex;
  int count = 0;
  const auto work = [&] {
    for (int i = 0; i < kRounds; ++i) {
      if (i % 3 == 0) {
        FairMutex::Future turn;
        mutex.lock(turn);
        EXPECT_TRUE(turn.wait());
      } else {
        mutex.lock();
      }
      std::lock_guard hold(mutex, std::adopt_lock);
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
}

}  // namespace
}  // namespace weft
