#include "base/rng.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weft::base {
namespace {

TEST(Rng, GivesTheKnownAnswersOfXoshiro256StarStar) {
  Rng rng(std::array<std::uint64_t, 4>{1, 2, 3, 4});
  EXPECT_EQ(rng.next(), 11520u);
  EXPECT_EQ(rng.next(), 0u);
  EXPECT_EQ(rng.next(), 1509978240u);
  EXPECT_EQ(rng.next(), 1215971899390074240u);
}

TEST(Rng, TheSameSeedGivesTheSameSequence) {
  Rng a(7), b(7), other(8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const auto x = a.next();
    ASSERT_EQ(x, b.next());
    differs |= x != other.next();
  }
  EXPECT_TRUE(differs);
}

TEST(Rng, SeedZeroIsAsGoodAsAny) {
  Rng rng(0);
  EXPECT_NE(rng.next(), rng.next());
}

TEST(Rng, BelowStaysBelowItsBoundAndReachesEveryNumber) {
  Rng rng(1);
  for (const std::uint32_t bound : {1u, 2u, 3u, 7u, 64u}) {
    std::array<int, 64> seen{};
    for (int i = 0; i < 10'000; ++i) {
      const auto x = rng.below(bound);
      ASSERT_LT(x, bound);
      ++seen[x];
    }
    for (std::uint32_t x = 0; x < bound; ++x) EXPECT_GT(seen[x], 0);
  }
}

}  // namespace
}  // namespace weft::base
