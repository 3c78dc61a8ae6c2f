#include "base/asymmetric.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "support/side_by_side.hpp"

namespace weft::base {
namespace {

TEST(Asymmetric, AHeavyBarrierReturns) {
  heavy_barrier();
  heavy_barrier();
}

// Store, then read the other's word, on both sides: one of them must see the
// other's store. A mere release store loses this in a few hundred rounds.
TEST(Asymmetric, OneOfTheTwoSidesSeesTheOther) {
  constexpr int kRounds = 20'000;
  struct alignas(kCacheLine) Word {
    Atomic<int> value{0};
  };
  Word hot, rare, round_of_hot, round_of_rare;
  int seen_by_hot = 0;
  const auto meet = [](Word& mine, Word& theirs, int round) {
    mine.value.store(round, seq_cst);
    for (int i = 0; theirs.value.load(seq_cst) < round; ++i) {
      if (i > 1000) std::this_thread::yield();
    }
  };
  int missed = 0;
  const auto hot_side = [&] {
    for (int round = 1; round <= kRounds; ++round) {
      meet(round_of_hot, round_of_rare, 2 * round);
      light_store(hot.value, round);
      seen_by_hot = rare.value.load(seq_cst);
      meet(round_of_hot, round_of_rare, 2 * round + 1);
    }
  };
  const auto rare_side = [&] {
    for (int round = 1; round <= kRounds; ++round) {
      meet(round_of_rare, round_of_hot, 2 * round);
      rare.value.store(round, seq_cst);
      heavy_barrier();
      const int seen_by_rare = hot.value.load(seq_cst);
      meet(round_of_rare, round_of_hot, 2 * round + 1);
      missed += seen_by_hot != round && seen_by_rare != round;
    }
  };
  test::side_by_side({hot_side, rare_side});
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace weft::base
