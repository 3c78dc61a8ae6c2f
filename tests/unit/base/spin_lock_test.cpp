#include "base/spin_lock.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace weft::base {
namespace {

TEST(SpinLock, IsHeldByOneAtATime) {
  SpinLock lock;
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(SpinLock, CountsRightWithMoreThreadsThanCores) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20'000;
  SpinLock lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const std::lock_guard guard(lock);
        ++count;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kRounds);
}

}  // namespace
}  // namespace weft::base
