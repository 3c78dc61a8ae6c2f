#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "base/spin_lock.hpp"
#include "stack/stack.hpp"
#include "support/death_test.hpp"

namespace weft::stack {
namespace {

constexpr std::size_t kDefault = 256 << 10;

TEST(StackCache, ReusesTheNewestFirst) {
  StackPool pool({});
  StackCache cache(pool, 8);
  Stack* a = cache.take(kDefault);
  Stack* b = cache.take(kDefault);
  cache.put(a);
  cache.put(b);
  EXPECT_EQ(cache.take(kDefault), b);
  EXPECT_EQ(cache.take(kDefault), a);
  cache.put(a);
  cache.put(b);
}

TEST(StackCache, GivesEverythingBackWhenItEnds) {
  StackPool pool({});
  {
    StackCache cache(pool, 64);
    std::vector<Stack*> held;
    for (int i = 0; i < 50; ++i) held.push_back(cache.take(kDefault));
    for (Stack* stack : held) cache.put(stack);
    EXPECT_GE(cache.size(), 50u);
    EXPECT_EQ(pool.counts().in_use, cache.size());
  }
  EXPECT_EQ(pool.counts().in_use, 0u);
}

TEST(StackCache, NeverHoldsMoreThanItsBound) {
  for (const std::size_t bound : {0u, 1u, 2u, 5u, 64u}) {
    StackPool pool({});
    StackCache cache(pool, bound);
    std::vector<Stack*> held;
    for (int i = 0; i < 200; ++i) {
      held.push_back(cache.take(kDefault));
      ASSERT_NE(held.back(), nullptr);
      EXPECT_LE(cache.size(), bound);
    }
    for (Stack* stack : held) {
      cache.put(stack);
      EXPECT_LE(cache.size(), bound);
    }
    EXPECT_EQ(pool.counts().in_use, cache.size());
    EXPECT_LE(pool.counts().mapped, 200 + 8u);
  }
}

TEST(StackCache, SendsTheOlderHalfToThePool) {
  StackPool pool({});
  StackCache cache(pool, 4);
  std::vector<Stack*> held;
  for (int i = 0; i < 5; ++i) held.push_back(pool.take(kDefault));
  for (Stack* stack : held) cache.put(stack);
  EXPECT_EQ(cache.size(), 3u);
  for (const auto i : {4u, 3u, 2u}) EXPECT_EQ(cache.take(kDefault), held[i]);
  for (const auto i : {1u, 0u}) EXPECT_EQ(pool.take(kDefault), held[i]);
  for (Stack* stack : held) pool.give(stack);
}

TEST(StackCache, PassesOtherSizesThrough) {
  StackPool pool({});
  StackCache cache(pool, 8);
  EXPECT_EQ(cache.take(0), nullptr);
  EXPECT_EQ(cache.take(std::size_t{1} << 40), nullptr);
  Stack* small = cache.take(1);
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(small->size, std::size_t{8} << 10);
  cache.put(small);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(pool.counts().in_use, 0u);
  // Rounds up to the default size, so it may as well come from the cache.
  Stack* nearly = cache.take(kDefault - 1);
  ASSERT_NE(nearly, nullptr);
  EXPECT_EQ(nearly->size, kDefault);
  cache.put(nearly);
  EXPECT_EQ(cache.take(kDefault - 1), nearly);
  cache.put(nearly);
}

// Stacks that one worker takes and another puts back: the pool must carry
// them home, or each round would map new ones.
TEST(StackCache, StacksTravelBetweenWorkers) {
  constexpr int kRounds = 5'000;
  constexpr std::size_t kBound = 16;
  StackPool pool({});
  base::SpinLock lock;
  std::vector<Stack*> parked;  // guarded by lock
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      StackCache cache(pool, kBound);
      base::Rng rng(id);
      for (int round = 0; round < kRounds; ++round) {
        Stack* mine = cache.take(kDefault);
        ASSERT_NE(mine, nullptr);
        mine->owner = mine;
        Stack* other = nullptr;
        lock.lock();
        parked.push_back(mine);
        if (parked.size() > 64) {
          auto& pick = parked[rng.below(64)];
          other = pick;
          pick = parked.back();
          parked.pop_back();
        }
        lock.unlock();
        if (other != nullptr) {
          ASSERT_EQ(other->owner, other);
          cache.put(other);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(pool.counts().in_use, parked.size());
  for (Stack* stack : parked) pool.give(stack);
  EXPECT_EQ(pool.counts().in_use, 0u);
  EXPECT_LE(pool.counts().mapped, 64 + 4 * (kBound + 1) + 4 * 8);
}

#if defined(WEFT_DEBUG_CHECKS)
TEST(StackCacheDeathTest, PuttingTwiceBreaksAnInvariant) {
  weft::test::die_in_a_fresh_process();
  EXPECT_DEATH(
      {
        StackPool pool({});
        StackCache cache(pool, 8);
        Stack* stack = cache.take(kDefault);
        cache.put(stack);
        cache.put(stack);
      },
      "broken invariant S3");
}
#endif

}  // namespace
}  // namespace weft::stack
