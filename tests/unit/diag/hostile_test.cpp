// hostile_test.cpp: who takes what it can get has what it was granted, and its
// neighbour finishes. By code that never mentions a check.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>

#include "unit/diag/checked_code.hpp"
#include "unit/diag/hostile_code.hpp"
#include "unit/diag/hostile_fixture.hpp"

namespace weft {
namespace {

using test::HostileTest;
using test::Neighbour;

INSTANTIATE_TEST_SUITE_P(Workers, HostileTest, ::testing::Values(1u, 2u));

TEST_P(HostileTest, AForkBombHasAsManyFibersAsItWasGranted) {
  std::atomic<int> started{1};
  const auto left = left_by([&](Nursery& /*sandbox*/, Neighbour& /*other*/) {
    test::fork_for_ever(started);
  });
  EXPECT_EQ(started + left.spawn_count, kGranted.spawn_count);
  EXPECT_GT(started, kMeals);
}

TEST_P(HostileTest, AnAllocationBombHasAsMuchMemoryAsItWasGranted) {
  std::size_t bytes = 0;
  const auto left = left_by([&](Nursery& sandbox, Neighbour& /*other*/) {
    test::allocate_for_ever(*sandbox.memory(), bytes);
  });
  EXPECT_EQ(bytes, kGranted.memory);
  EXPECT_EQ(left.memory, 0u);
}

// Into the neighbour's own channel.
TEST_P(HostileTest, AFloodSendsAsMuchAsItWasGranted) {
  int sent = 0;
  const auto left = left_by([&](Nursery& /*sandbox*/, Neighbour& other) {
    test::send_for_ever(other.ask(), Neighbour::kJunk, sent);
  });
  EXPECT_EQ(junk(), sent);
  EXPECT_GT(sent, 0);
  EXPECT_LE(sent + left.channel_ops, kGranted.channel_ops);
}

TEST_P(HostileTest, AnEndlessLoopComputesAsMuchAsItWasGranted) {
  const auto left = left_by([&](Nursery& /*sandbox*/, Neighbour& /*other*/) {
    test::checked_spin_for_ever();
  });
  EXPECT_EQ(left.ops, 0u);
  EXPECT_EQ(left.spawn_count, kGranted.spawn_count - 1);
}

}  // namespace
}  // namespace weft
