#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

class KeyedMutexTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, KeyedMutexTest,
                         ::testing::Values(1u, 2u, 4u));

TEST_P(KeyedMutexTest, LocksOneKeyAndNoOther) {
  in_fiber([] {
    KeyedMutex<std::string> locks;
    EXPECT_EQ(locks.keys_in_use(), 0u);
    {
      const auto held = locks.acquire("a");
      ASSERT_TRUE(held);
      EXPECT_EQ(locks.keys_in_use(), 1u);
      EXPECT_EQ(locks.try_acquire("a").error(), Errc::would_block);
      EXPECT_EQ(locks.keys_in_use(), 1u);
      const auto other = locks.try_acquire("b");
      EXPECT_TRUE(other);
      EXPECT_EQ(locks.keys_in_use(), 2u);
    }
    EXPECT_EQ(locks.keys_in_use(), 0u);
    EXPECT_TRUE(locks.try_acquire("a"));
  });
}

TEST_P(KeyedMutexTest, UnlocksOnceThoughItsGuardWasMoved) {
  in_fiber([] {
    KeyedMutex<int> locks;
    {
      auto held = locks.acquire(1);
      ASSERT_TRUE(held);
      const auto moved = std::move(*held);
      EXPECT_EQ(locks.try_acquire(1).error(), Errc::would_block);
    }
    EXPECT_EQ(locks.keys_in_use(), 0u);
  });
}

// Some of them in one shard, or all.
TEST_P(KeyedMutexTest, LetsOneInPerKey) {
  for (const std::size_t shards : {0u, 1u, 2u, 64u}) {
    in_fiber([shards] {
      constexpr int kKeys = 4;
      constexpr int kRounds = 50;
      KeyedMutex<int> locks(shards);
      std::vector<int> counts(kKeys);
      Nursery nursery;
      for (int i = 0; i < 8; ++i) {
        nursery.spawn([&, i] {
          for (int n = 0; n < kRounds; ++n) {
            const int key = (i + n) % kKeys;
            const auto held = locks.acquire(key);
            ASSERT_TRUE(held);
            auto& count = counts[static_cast<std::size_t>(key)];
            const int seen = count;
            if (n % 4 == 0) this_fiber::yield();
            count = seen + 1;
          }
        });
      }
      EXPECT_TRUE(nursery.join());
      int all = 0;
      for (const int count : counts) all += count;
      EXPECT_EQ(all, 8 * kRounds);
      EXPECT_EQ(locks.keys_in_use(), 0u);
    });
  }
}

TEST_P(KeyedMutexTest, WaitsForItsKey) {
  in_fiber([] {
    KeyedMutex<int> locks;
    auto held = locks.acquire(7);
    Nursery nursery;
    auto waiter = nursery.spawn([&] { EXPECT_TRUE(locks.acquire(7)); });
    await_parked(waiter);
    EXPECT_EQ(locks.keys_in_use(), 1u);
    EXPECT_TRUE(locks.acquire(8));  // another is free
    { const auto ends_here = std::move(*held); }
    EXPECT_TRUE(waiter.join());
    EXPECT_EQ(locks.keys_in_use(), 0u);
    EXPECT_TRUE(nursery.join());
  });
}

// R-TIMER-03
TEST_P(KeyedMutexTest, ForgetsWhoGaveUp) {
  in_fiber([] {
    KeyedMutex<int> locks;
    {
      const auto held = locks.acquire(7);
      Nursery nursery;
      auto cancelled = nursery.spawn(
          [&] { EXPECT_EQ(locks.acquire(7).error(), Errc::cancelled); });
      await_parked(cancelled);
      nursery.spawn([&] {
        EXPECT_EQ(locks.acquire(7, Deadline::after(1us)).error(),
                  Errc::timed_out);
        EXPECT_EQ(locks.acquire(7, Deadline::after(-1s)).error(),
                  Errc::timed_out);
      });
      cancelled.cancel();
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(locks.keys_in_use(), 1u);
    }
    EXPECT_EQ(locks.keys_in_use(), 0u);
    as_cancelled([&] { EXPECT_EQ(locks.acquire(7).error(), Errc::cancelled); });
    EXPECT_EQ(locks.keys_in_use(), 0u);
    EXPECT_TRUE(locks.acquire(7, Deadline::after(-1s)));
  });
}

// All hashes are equal.
struct Same {
  std::size_t operator()(int) const noexcept { return 1; }
};

TEST_P(KeyedMutexTest, TellsKeysOfOneHashApart) {
  in_fiber([] {
    KeyedMutex<int, Same> locks;
    const auto one = locks.acquire(1);
    const auto two = locks.try_acquire(2);
    EXPECT_TRUE(one);
    EXPECT_TRUE(two);
    EXPECT_EQ(locks.keys_in_use(), 2u);
  });
}

TEST_P(KeyedMutexTest, ServesThreadsAndFibersTogether) {
  constexpr int kRounds = 300;
  KeyedMutex<int> locks(2);
  std::vector<int> counts(3);
  const auto work = [&] {
    for (int i = 0; i < kRounds; ++i) {
      const auto held = locks.acquire(i % 3);
      ASSERT_TRUE(held);
      ++counts[static_cast<std::size_t>(i % 3)];
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
  EXPECT_EQ(counts, (std::vector<int>{400, 400, 400}));
  EXPECT_EQ(locks.keys_in_use(), 0u);
}

}  // namespace
}  // namespace weft
