// many_workers_test.cpp: far more workers than CPUs.

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "stress/baton.hpp"
#include "stress/keepers.hpp"
#include "stress/scale.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Baton;
using test::Gate;
using test::scaled;

constexpr unsigned kWorkers = 256;

class ManyWorkersTest : public test::RuntimeTest {};

// A hash of the tree below a node: order and multiplicity count.
std::uint64_t mix(std::uint64_t node, std::uint64_t left, std::uint64_t right) {
  return (node * 31 + left * 1'099'511'628'211u) ^ (right * 1'000'003 + 7);
}

std::uint64_t walk(std::uint64_t node, int depth) {
  if (depth == 0) return node;
  return mix(node, walk(2 * node, depth - 1), walk(2 * node + 1, depth - 1));
}

std::uint64_t walk_in_fibers(std::uint64_t node, int depth) {
  if (depth == 0) return node;
  Nursery nursery;
  auto left = nursery.spawn(walk_in_fibers, 2 * node, depth - 1);
  auto right = nursery.spawn(walk_in_fibers, 2 * node + 1, depth - 1);
  const auto right_sum = right.join().value();
  const auto left_sum = left.join().value();
  return mix(node, left_sum, right_sum);
}

// R-PERF-06
TEST_F(ManyWorkersTest, EachRunAFiberAtTheSameTime) {
  Runtime runtime = start(kWorkers);
  ASSERT_EQ(runtime.ref().worker_count(), kWorkers);
  std::atomic<unsigned> up{0};
  std::vector<pid_t> threads(kWorkers);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (unsigned i = 0; i < kWorkers; ++i) {
      nursery.spawn([&, i] {
        threads[i] = test::thread_now();
        ++up;
        test::hold_worker_until([&] { return up == kWorkers; });
      });
    }
  }));
  EXPECT_EQ(std::set<pid_t>(threads.begin(), threads.end()).size(), kWorkers);
  expect_empty(runtime);
}

// R-PERF-06
TEST_F(ManyWorkersTest, AddUpATreeAsOneDoes) {
  constexpr int kDepth = test::kSanitized ? 9 : 14;
  Runtime runtime = start(kWorkers);
  const auto sum = runtime.run([] { return walk_in_fibers(1, kDepth); });
  EXPECT_EQ(sum.value(), walk(1, kDepth));
  expect_empty(runtime);
}

// R-PERF-06
TEST_F(ManyWorkersTest, WakeEveryFiberThatParks) {
  const auto fibers = static_cast<std::size_t>(scaled(20'000));
  Runtime runtime = start(kWorkers);
  Gate gate;
  std::atomic<std::size_t> woken{0};
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (std::size_t i = 0; i < fibers; ++i) {
      nursery.spawn([&] {
        EXPECT_TRUE(gate.pass());
        ++woken;
      });
    }
    while (gate.waiting() != fibers) this_fiber::yield();
    gate.open();
  }));
  EXPECT_EQ(woken, fibers);
  expect_empty(runtime);
}

// R-PERF-06: one turn at a time goes round all fibers.
TEST_F(ManyWorkersTest, HandATurnRoundARing) {
  constexpr std::size_t kFibers = 2 * kWorkers;
  const int rounds = scaled(40);
  Runtime runtime = start(kWorkers);
  std::vector<Baton> ring(kFibers);
  std::size_t turns = 0;  // whoever has the turn
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (std::size_t i = 0; i < kFibers; ++i) {
      nursery.spawn([&, i] {
        for (int round = 0; round < rounds; ++round) {
          ASSERT_TRUE(ring[i].take());
          EXPECT_EQ(turns % kFibers, i);
          ++turns;
          ring[(i + 1) % kFibers].give();
        }
      });
    }
    ring[0].give();
  }));
  EXPECT_EQ(turns, kFibers * static_cast<std::size_t>(rounds));
  EXPECT_EQ(ring[0].count(), 1);
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
