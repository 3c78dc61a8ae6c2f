// B-11: after a drain the "not empty" hint of the shared queue was cleared, and
// with it the hint of a push that had just come.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class GlobalOscillationTest : public test::RuntimeTest {};

// R-RUNQ-03 R-RUNQ-05
TEST_F(GlobalOscillationTest, BurstsAndEmptyTimesLoseNoFiber) {
  Runtime runtime = start(
      Config{.workers = 2, .spawn = SpawnPolicy::global, .global_queue = 8});
  const int rounds = test::scaled(3'000);
  std::vector<std::thread> threads;
  for (int id = 0; id < 2; ++id) {
    threads.emplace_back([&runtime, rounds, id] {
      for (int round = 0; round < rounds; ++round) {
        std::atomic<int> ran{0};
        Nursery nursery(runtime);
        const int burst = 1 + (round * 7 + id) % 23;  // below and above 8
        for (int i = 0; i < burst; ++i) nursery.spawn([&ran] { ++ran; });
        ASSERT_TRUE(nursery.join());  // empty again
        ASSERT_EQ(ran, burst);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
