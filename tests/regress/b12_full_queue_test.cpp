// B-12: a bounded queue was full and a task fell off it.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class FullQueueTest : public test::RuntimeTest {};

constexpr std::uint64_t kTasks = 1024;
constexpr std::uint64_t kSum = kTasks * (kTasks - 1) / 2;

// R-RUNQ-06
TEST_F(FullQueueTest, FourSlotsHoldAThousandTasks) {
  for (const auto policy :
       {SpawnPolicy::global, SpawnPolicy::round_robin, SpawnPolicy::local}) {
    Runtime runtime =
        start(Config{.workers = 2, .spawn = policy, .global_queue = 4});
    for (int round = 0; round < test::scaled(50); ++round) {
      std::atomic<std::uint64_t> sum{0};
      Nursery nursery(runtime);
      for (std::uint64_t i = 0; i < kTasks; ++i) {
        nursery.spawn([&sum, i] { sum += i; });
      }
      ASSERT_TRUE(nursery.join());
      ASSERT_EQ(sum, kSum);
    }
    expect_empty(runtime);
  }
}

// R-RUNQ-05 R-RUNQ-06: the only worker is held, so everything overflows.
TEST_F(FullQueueTest, NothingIsLostWhileNoWorkerTakes) {
  Runtime runtime = start(
      Config{.workers = 1, .spawn = SpawnPolicy::global, .global_queue = 4});
  std::atomic<bool> held{false};
  std::atomic<bool> go{false};
  std::atomic<std::uint64_t> sum{0};
  const auto many = static_cast<std::uint64_t>(test::scaled(50'000));
  Nursery nursery(runtime);
  nursery.spawn([&] {
    held = true;
    while (!go) std::this_thread::yield();
  });
  while (!held) std::this_thread::yield();
  for (std::uint64_t i = 0; i < many; ++i) {
    nursery.spawn([&sum, i] { sum += i; });
  }
  go = true;
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(sum, many * (many - 1) / 2);
  expect_empty(runtime);
}

// From a fiber: the private queue and the deque overflow into the same four.
TEST_F(FullQueueTest, ABurstOfOneFiberOverflowsEveryQueue) {
  Runtime runtime = start(Config{.workers = 2, .global_queue = 4});
  std::atomic<std::uint64_t> sum{0};
  const std::uint64_t many = test::kSanitized ? 6'000 : 20'000;
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    for (std::uint64_t i = 0; i < many; ++i) {
      nursery.spawn([&sum, i] { sum += i; });
    }
  }));
  EXPECT_EQ(sum, many * (many - 1) / 2);
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
