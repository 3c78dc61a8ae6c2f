#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::Gate;
using test::WorkersTest;
using namespace std::chrono_literals;

constinit SharedMutex shared_mutex_made_early;

class SharedMutexTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SharedMutexTest,
                         ::testing::Values(1u, 2u, 4u));

bool may_write(SharedMutex& mutex) {
  Nursery nursery;
  auto other = nursery.spawn([&] {
    const bool locked = mutex.try_lock();
    if (locked) mutex.unlock();
    return locked;
  });
  return other.join().value();
}
bool may_read(SharedMutex& mutex) {
  Nursery nursery;
  auto other = nursery.spawn([&] {
    const bool locked = mutex.try_lock_shared();
    if (locked) mutex.unlock_shared();
    return locked;
  });
  return other.join().value();
}

TEST_P(SharedMutexTest, WorksUnderTheGuardsOfTheStandardLibrary) {
  in_fiber([] {
    SharedMutex mutex;
    {
      std::shared_lock reads(mutex);
      EXPECT_TRUE(may_read(mutex));
      EXPECT_FALSE(may_write(mutex));
    }
    {
      std::lock_guard writes(mutex);
      EXPECT_FALSE(may_read(mutex));
      EXPECT_FALSE(may_write(mutex));
    }
    {
      SharedMutex other;
      std::scoped_lock both(mutex, other);
      EXPECT_FALSE(may_read(mutex));
      EXPECT_FALSE(may_read(other));
    }
    EXPECT_TRUE(may_write(mutex));
    std::unique_lock writes(shared_mutex_made_early, std::try_to_lock);
    EXPECT_TRUE(writes.owns_lock());
  });
}

TEST_P(SharedMutexTest, LetsReadersInTogether) {
  in_fiber([] {
    constexpr int kReaders = 10;
    SharedMutex mutex;
    Latch inside(kReaders);
    Nursery nursery;
    for (int i = 0; i < kReaders; ++i) {
      nursery.spawn([&] {
        std::shared_lock reads(mutex);
        EXPECT_TRUE(inside.arrive_and_wait());  // ends if all are in
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(may_write(mutex));
  });
}

TEST_P(SharedMutexTest, LetsNobodyInBesideAWriter) {
  in_fiber([] {
    const int rounds = explored() ? 30 : 500;
    SharedMutex mutex;
    int value = 0;  // plain
    std::atomic<int> readers{0};
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&] {
        for (int n = 0; n < rounds; ++n) {
          std::lock_guard writes(mutex);
          EXPECT_EQ(readers, 0);
          const int seen = value;
          if (n % 8 == 0) this_fiber::yield();
          value = seen + 1;
        }
      });
      nursery.spawn([&] {
        for (int n = 0; n < rounds; ++n) {
          std::shared_lock reads(mutex);
          ++readers;
          const int seen = value;
          if (n % 8 == 0) this_fiber::yield();
          EXPECT_EQ(value, seen);
          --readers;
        }
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(value, 3 * rounds);
  });
}

TEST_P(SharedMutexTest, StopsNewReadersForAWriterWhoWaits) {
  in_fiber([] {
    SharedMutex mutex;
    std::shared_lock reads(mutex);
    Nursery nursery;
    auto writer = nursery.spawn([&] { std::lock_guard writes(mutex); });
    await_parked(writer);
    EXPECT_FALSE(may_read(mutex));
    reads.unlock();
    EXPECT_TRUE(writer.join());
    EXPECT_TRUE(may_read(mutex));
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SharedMutexTest, LetsTheReadersInFirstWhenAWriterIsDone) {
  in_fiber([] {
    SharedMutex mutex;
    std::vector<char> order;
    SpinLock guard;
    const auto log = [&](char who) {
      std::lock_guard hold(guard);
      order.push_back(who);
    };
    std::unique_lock writes(mutex);
    Nursery nursery;
    auto writer = nursery.spawn([&] {
      std::lock_guard held(mutex);
      log('w');
    });
    await_parked(writer);
    for (int i = 0; i < 3; ++i) {
      auto reader = nursery.spawn([&] {
        std::shared_lock reads(mutex);
        log('r');
      });
      await_parked(reader);
    }
    writes.unlock();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(std::string(order.begin(), order.end()), "rrrw");
  });
}

TEST_P(SharedMutexTest, LetsTheNextWriterInWhenTheReadersAreDone) {
  in_fiber([] {
    SharedMutex mutex;
    Nursery nursery;
    Gate gate;
    std::vector<Task<>> readers;
    for (int i = 0; i < 3; ++i) {
      readers.push_back(nursery.spawn([&] {
        std::shared_lock reads(mutex);
        EXPECT_TRUE(gate.pass());
      }));
    }
    for (auto& reader : readers) await_parked(reader);
    std::vector<int> order;
    for (int i = 0; i < 3; ++i) {
      auto writer = nursery.spawn([&, i] {
        std::lock_guard writes(mutex);
        order.push_back(i);
      });
      await_parked(writer);
    }
    gate.open();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  });
}

// R-TIMER-03: readers may have waited for this writer alone.
TEST_P(SharedMutexTest, LetsReadersInWhenAWriterTimesOut) {
  in_fiber([] {
    SharedMutex mutex;
    std::shared_lock reads(mutex);
    Nursery nursery;
    auto writer = nursery.spawn([&] {
      EXPECT_EQ(mutex.acquire(Deadline::after(1us)).error(), Errc::timed_out);
    });
    auto reader = nursery.spawn([&] { std::shared_lock held(mutex); });
    EXPECT_TRUE(reader.join());
    EXPECT_TRUE(writer.join());
    EXPECT_TRUE(may_read(mutex));
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SharedMutexTest, LetsReadersInWhenAWriterIsCancelled) {
  in_fiber([] {
    SharedMutex mutex;
    std::shared_lock reads(mutex);
    Nursery nursery;
    auto writer = nursery.spawn(
        [&] { EXPECT_EQ(mutex.acquire().error(), Errc::cancelled); });
    await_parked(writer);
    Latch inside(2);
    std::vector<Task<>> readers;
    for (int i = 0; i < 2; ++i) {
      readers.push_back(nursery.spawn([&] {
        std::shared_lock held(mutex);
        EXPECT_TRUE(inside.arrive_and_wait());
      }));
    }
    for (auto& reader : readers) await_parked(reader);
    EXPECT_FALSE(inside.try_wait());
    writer.cancel();
    EXPECT_TRUE(inside.wait());  // while it is held to read
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SharedMutexTest, KeepsReadersOutWhenOneOfTwoWritersGivesUp) {
  in_fiber([] {
    SharedMutex mutex;
    std::shared_lock reads(mutex);
    Nursery nursery;
    auto first = nursery.spawn(
        [&] { EXPECT_EQ(mutex.acquire().error(), Errc::cancelled); });
    await_parked(first);
    auto second = nursery.spawn([&] { EXPECT_TRUE(mutex.acquire()); });
    await_parked(second);
    first.cancel();
    EXPECT_TRUE(first.join());
    EXPECT_FALSE(may_read(mutex));
    reads.unlock();
    EXPECT_TRUE(second.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SharedMutexTest, IsServedToTheOthersWhenAReaderGivesUp) {
  in_fiber([] {
    SharedMutex mutex;
    std::unique_lock writes(mutex);
    Nursery nursery;
    auto cancelled = nursery.spawn(
        [&] { EXPECT_EQ(mutex.acquire_shared().error(), Errc::cancelled); });
    await_parked(cancelled);
    auto late = nursery.spawn([&] {
      EXPECT_EQ(mutex.acquire_shared(Deadline::after(1us)).error(),
                Errc::timed_out);
      EXPECT_EQ(mutex.acquire_shared(Deadline::after(-1s)).error(),
                Errc::timed_out);
    });
    auto patient = nursery.spawn([&] { EXPECT_TRUE(mutex.acquire_shared()); });
    await_parked(patient);
    cancelled.cancel();
    EXPECT_TRUE(late.join());
    EXPECT_TRUE(cancelled.join());
    writes.unlock();
    EXPECT_TRUE(patient.join());
    EXPECT_TRUE(may_write(mutex));
    EXPECT_TRUE(mutex.acquire_shared(Deadline::after(-1s)));
    EXPECT_TRUE(mutex.acquire(Deadline::after(-1s)));
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SharedMutexTest, LetsACancelledFiberLockButNotAcquire) {
  in_fiber([] {
    SharedMutex mutex;
    std::unique_lock hold(mutex);
    Nursery nursery;
    auto reader = nursery.spawn([&] {
      std::shared_lock reads(mutex);
      EXPECT_TRUE(this_fiber::cancelled());
    });
    auto writer = nursery.spawn([&] {
      std::lock_guard writes(mutex);
      EXPECT_TRUE(this_fiber::cancelled());
    });
    await_parked(reader);
    await_parked(writer);
    reader.cancel();
    writer.cancel();
    for (int i = 0; i < 20; ++i) this_fiber::yield();
    EXPECT_FALSE(reader.done() || writer.done());
    hold.unlock();
    EXPECT_TRUE(reader.join());
    EXPECT_TRUE(writer.join());
    as_cancelled([&] {
      EXPECT_EQ(mutex.acquire().error(), Errc::cancelled);
      EXPECT_EQ(mutex.acquire_shared().error(), Errc::cancelled);
      { std::shared_lock reads(mutex); }
      std::lock_guard writes(mutex);
    });
    EXPECT_TRUE(may_write(mutex));
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SharedMutexTest, ServesThreadsAndFibersTogether) {
  constexpr int kRounds = 500;
  SharedMutex mutex;
  int value = 0;
  const auto write = [&] {
    for (int i = 0; i < kRounds; ++i) {
      std::lock_guard writes(mutex);
      ++value;
    }
  };
  const auto read = [&] {
    for (int i = 0; i < kRounds; ++i) {
      std::shared_lock reads(mutex);
      const int seen = value;
      if (i % 16 == 0) this_fiber::yield();
      EXPECT_EQ(value, seen);
    }
  };
  Nursery nursery(runtime());
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    nursery.spawn(write);
    nursery.spawn(read);
    threads.emplace_back(write);
    threads.emplace_back(read);
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(value, 4 * kRounds);
}

}  // namespace
}  // namespace weft
