// lock_storm_test.cpp: locks between fibers and threads that really run at the
// same time.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include "base/rng.hpp"
#include "stress/fibers_and_threads.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;

class LockStormTest : public test::FibersAndThreadsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, LockStormTest, ::testing::Values(1u, 2u, 4u));

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
TEST_P(LockStormTest, MutexExcludesFibersAndThreads) {
  const int count = rounds(8'000);
  Counter<Mutex> counter;
  in_fibers_and_threads(8, 3, [&](auto i) { counter.work(i, count); });
  EXPECT_EQ(counter.added() + counter.late(), 11 * count);
}

// R-EVENT-04
TEST_P(LockStormTest, FairMutexExcludesFibersAndThreads) {
  const int count = rounds(2'000);
  Counter<FairMutex> counter;
  in_fibers_and_threads(8, 3, [&](auto i) { counter.work(i, count); });
  EXPECT_EQ(counter.added() + counter.late(), 11 * count);
}

TEST_P(LockStormTest, SharedMutexExcludesWritersAmongFibersAndThreads) {
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
TEST_P(LockStormTest, AHerdPassesAMutex) {
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

TEST_P(LockStormTest, LocksForgetNobodyWhenOthersGiveUp) {
  in_fiber([] {
    give_up_storm<Mutex>(rounds(1'000));
    give_up_storm<FairMutex>(rounds(500));
    give_up_storm<SharedMutex>(rounds(500));
  });
}

}  // namespace
}  // namespace weft
