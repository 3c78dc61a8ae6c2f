// B-29: elements larger than a pointer were corrupted in the ring.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>

#include "stress/scale.hpp"
#include "support/channel_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class LargeElementTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, LargeElementTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// 128 bytes, the last of which make the sum zero.
struct Block {
  std::array<std::uint64_t, 16> words{};

  explicit Block(std::uint64_t seed) {
    for (std::size_t i = 0; i < 15; ++i) words[i] = seed += 0x9E3779B97F4A7C15u;
    words[15] = -sum();
  }
  std::uint64_t sum() const {
    return std::accumulate(words.begin(), words.end(), std::uint64_t{0});
  }
};
static_assert(sizeof(Block) == 128);

TEST_P(LargeElementTest, ArrivesAsItWasSent) {
  const auto values =
      static_cast<std::uint64_t>(test::scaled(explored() ? 100 : 3'000));
  at({0, 1, 2, 128}, [&](std::size_t capacity) {
    auto channel = make<Block>(capacity);
    Nursery nursery;
    for (std::uint64_t i = 0; i < 2; ++i) {
      nursery.spawn([=, sender = channel.sender]() mutable {
        for (std::uint64_t n = 0; n < values; ++n) {
          ASSERT_TRUE(sender.send(Block(2 * n + i)));
        }
      });
    }
    channel.sender = {};
    std::uint64_t got = 0;
    for (const auto& block : channel.receiver) {
      ASSERT_EQ(block.sum(), 0u);
      ++got;
    }
    EXPECT_EQ(got, 2 * values);
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
