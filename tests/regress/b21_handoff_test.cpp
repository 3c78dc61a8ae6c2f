// B-21: a value handed to a receiver was overwritten by one that it took from
// the buffer afterwards; and the signal after a handoff was taken for another.

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "stress/scale.hpp"
#include "support/channel_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class HandoffTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HandoffTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// C-24: receivers wait, others send and fill the buffer behind them.
TEST_P(HandoffTest, EachValueComesOnce) {
  const int rounds = test::scaled(explored() ? 20 : 400);
  at({1, 2, 3}, [&](std::size_t capacity) {
    constexpr int kEach = 10;
    for (int round = 0; round < rounds; ++round) {
      auto channel = make<int>(capacity);
      std::vector<std::atomic<int>> seen(2 * kEach);
      Nursery nursery;
      for (int i = 0; i < 3; ++i) {
        nursery.spawn([&] {
          for (const int value : channel.receiver) {
            ++seen[static_cast<std::size_t>(value)];
          }
        });
      }
      std::atomic<int> senders{2};
      for (int i = 0; i < 2; ++i) {
        nursery.spawn([&, i] {
          for (int n = 0; n < kEach; ++n) {
            ASSERT_TRUE(channel.sender.send(i * kEach + n));
            if (n % 3 == 0) this_fiber::yield();  // they wait again
          }
          if (--senders == 0) channel.sender.close();
        });
      }
      ASSERT_TRUE(nursery.join());
      for (const auto& count : seen) ASSERT_EQ(count, 1);
    }
  });
}

// The one that waits gets what was given to it, whatever comes in behind.
TEST_P(HandoffTest, KeepsWhatWasGivenWhileMoreComesIn) {
  at({1, 2, 3}, [](std::size_t capacity) {
    auto channel = make<int>(capacity);
    Nursery nursery;
    auto waits = nursery.spawn([&] { return channel.receiver.receive(); });
    test::await_parked(waits);
    EXPECT_TRUE(channel.sender.try_send(1));
    EXPECT_EQ(test::fill(channel.sender, 10), capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_EQ(channel.receiver.try_receive().value(),
                10 + static_cast<int>(i));
    }
    EXPECT_EQ(waits.join().value(), 1);
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
