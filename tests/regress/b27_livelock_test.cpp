// B-27: a sender that was woken found the slot taken by another and waited
// again, in a loop that got nowhere.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "stress/scale.hpp"
#include "support/channel_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class LivelockTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, LivelockTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// Who is woken has been served: a send waits once, however many others send.
TEST_P(LivelockTest, ASendWaitsAtMostOnce) {
  const int each = test::scaled(explored() ? 20 : 200);
  constexpr int kSenders = 32;
  at({0, 1, 2}, [&](std::size_t capacity) {
    auto channel = make<int>(capacity);
    std::vector<int> got(kSenders);
    const auto parks = [&] {
      std::uint64_t all = 0;
      for (const auto& worker : runtime().ref().stats().workers) {
        all += worker.parked;
      }
      return all;
    };
    const auto before = parks();
    Nursery nursery;
    for (int i = 0; i < kSenders; ++i) {
      nursery.spawn([&, i] {
        for (int n = 0; n < each; ++n) ASSERT_TRUE(channel.sender.send(i));
      });
    }
    for (int n = 0; n < kSenders * each; ++n) {
      ++got[static_cast<std::size_t>(channel.receiver.receive().value())];
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(got, std::vector<int>(kSenders, each));
    // Each send and each receive, and the join.
    EXPECT_LE(parks() - before,
              static_cast<std::uint64_t>(2 * kSenders * each + 1));
  });
}

}  // namespace
}  // namespace weft
