// hostile_new_test.cpp: the same of one who calls operator new.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstddef>
#include <utility>

#include "unit/diag/hostile_code.hpp"
#include "unit/diag/hostile_fixture.hpp"

namespace weft {
namespace {

using test::KeptBlock;

class HostileNewTest : public test::HostileTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HostileNewTest, ::testing::Values(1u, 2u));

TEST_P(HostileNewTest, AnAllocationBombHasAsMuchOfTheHeapAsItWasGranted) {
  KeptBlock* kept = nullptr;
  const auto left =
      left_by([&](Nursery& /*sandbox*/, test::Neighbour& /*other*/) {
        test::new_for_ever(kept);
      });
  std::size_t bytes = 0;
  while (kept != nullptr) {
    bytes += ::malloc_usable_size(kept);
    delete std::exchange(kept, kept->next);
  }
  EXPECT_LE(bytes + left.memory, kGranted.memory);
  EXPECT_LT(left.memory, 2 * sizeof(KeptBlock));
}

}  // namespace
}  // namespace weft
