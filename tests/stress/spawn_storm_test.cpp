// spawn_storm_test.cpp: spawns from everywhere at once; none lost, none twice.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::scaled;

class SpawnStormTest : public test::WorkersTest {};

constexpr std::uint64_t sum_below(std::uint64_t n) { return n * (n - 1) / 2; }

// Adds first, first + 1, ... by `count` leaves of a binary tree of fibers.
void add_all(std::atomic<std::uint64_t>& sum, std::uint64_t first,
             std::uint64_t count) {
  if (count == 1) {
    sum += first;
    return;
  }
  Nursery nursery;
  nursery.spawn([&sum, first, count] { add_all(sum, first, count / 2); });
  nursery.spawn([&sum, first, count] {
    add_all(sum, first + count / 2, count - count / 2);
  });
  EXPECT_TRUE(nursery.join());
}

// R-SPAWN-04 R-SPAWN-05 R-CTRL-05
TEST_P(SpawnStormTest, FibersAndThreadsSpawnEachTaskOnce) {
  const auto each = static_cast<std::uint64_t>(scaled(40'000));
  constexpr std::uint64_t kSpawners = 6;
  std::atomic<std::uint64_t> sum{0};
  Nursery nursery(runtime());
  std::vector<std::thread> threads;
  std::vector<Task<>> fibers;  // that spawn into the nursery: not after join()
  for (std::uint64_t id = 0; id < kSpawners; ++id) {
    const auto burst = [&sum, each, id](Nursery& into) {
      for (std::uint64_t i = 0; i < each; ++i) {
        into.spawn([&sum, i, id, each] { sum += id * each + i; });
      }
    };
    switch (id % 3) {
      case 0:  // a fiber, into a nursery of its own
        nursery.spawn([burst](Nursery& own) { burst(own); });
        break;
      case 1:  // a fiber, into the nursery that all share
        fibers.push_back(nursery.spawn([burst, &nursery] { burst(nursery); }));
        break;
      case 2:
        threads.emplace_back([burst, &nursery] { burst(nursery); });
        break;
    }
  }
  for (auto& thread : threads) thread.join();
  for (auto& fiber : fibers) EXPECT_TRUE(fiber.join());
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(sum, sum_below(kSpawners * each));
}

// R-SPAWN-08
TEST_P(SpawnStormTest, TreesOfNurseriesEndWithTheirLastLeaf) {
  const auto leaves = static_cast<std::uint64_t>(scaled(30'000));
  in_fiber([&] {
    for (int round = 0; round < 3; ++round) {
      std::atomic<std::uint64_t> sum{0};
      add_all(sum, 0, leaves);
      ASSERT_EQ(sum, sum_below(leaves));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Workers, SpawnStormTest,
                         ::testing::Values(1u, 2u, 4u, 16u));

class RuntimesStormTest : public test::RuntimeTest {};

// R-RT-04
TEST_F(RuntimesStormTest, SeveralRuntimesSpawnIntoEachOther) {
  Runtime runtimes[] = {
      start(1), start(2),
      start(Config{.workers = 2, .spawn = SpawnPolicy::round_robin})};
  constexpr std::size_t kRuntimes = std::size(runtimes);
  const auto each = static_cast<std::uint64_t>(scaled(10'000));
  std::atomic<std::uint64_t> sum{0};
  {
    Nursery nurseries[] = {Nursery(runtimes[0]), Nursery(runtimes[1]),
                           Nursery(runtimes[2])};
    for (std::size_t i = 0; i < kRuntimes; ++i) {
      // From a fiber here, joined here, run there.
      nurseries[i].spawn([&, i] {
        auto& next = nurseries[(i + 1) % kRuntimes];
        for (std::uint64_t k = 0; k < each; ++k) {
          auto task = next.spawn([k] { return k; });
          if (k % 4 == 0) continue;  // dropped; it runs all the same
          sum += task.join().value();
        }
      });
    }
    // No spawner is left before any of the nurseries stops to admit.
    std::uint64_t expected = 0;
    for (std::uint64_t k = 0; k < each; ++k) expected += k % 4 == 0 ? 0 : k;
    while (sum != expected * kRuntimes) std::this_thread::yield();
    for (auto& nursery : nurseries) EXPECT_TRUE(nursery.join());
  }
  for (const auto& runtime : runtimes) expect_empty(runtime);
}

}  // namespace
}  // namespace weft
