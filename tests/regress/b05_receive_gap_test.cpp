// B-05: a receive took its node off the list, looked into the buffer, and put
// the node back: a wake in the gap was lost.

#include <gtest/gtest.h>

#include "stress/scale.hpp"
#include "support/channel_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class ReceiveGapTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ReceiveGapTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// R-CHAN-06
TEST_P(ReceiveGapTest, PingPongOfOneSlotNeverStops) {
  const int rounds = test::scaled(explored()        ? 1'000
                                  : test::kForSpeed ? 1'000'000
                                                    : 60'000);
  for (const std::size_t capacity : {1u, 0u}) {
    auto there = make<int>(capacity);
    auto back = make<int>(capacity);
    in_fiber([&] {
      Nursery nursery;
      nursery.spawn([&] {
        for (int i = 0; i < rounds; ++i) {
          ASSERT_EQ(there.receiver.receive().value(), i);
          ASSERT_TRUE(back.sender.send(-i));
        }
      });
      for (int i = 0; i < rounds; ++i) {
        ASSERT_TRUE(there.sender.send(i));
        ASSERT_EQ(back.receiver.receive().value(), -i);
      }
      EXPECT_TRUE(nursery.join());
    });
  }
}

}  // namespace
}  // namespace weft
