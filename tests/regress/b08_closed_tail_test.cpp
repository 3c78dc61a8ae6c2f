// B-08: a receiver looked whether the buffer was empty, then whether it was
// closed: what came in between, or was on its way in, was lost.

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <utility>

#include "base/point.hpp"
#include "stress/scale.hpp"
#include "support/channel_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class ClosedTailTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ClosedTailTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// R-CHAN-11: three stages, each closes when it has sent its last.
TEST_P(ClosedTailTest, PipelineDeliversAllThatWasSent) {
  const int rounds = test::scaled(explored() ? 40 : 1'000);
  in_fiber([&] {
    for (int round = 0; round < rounds; ++round) {
      const auto capacity = static_cast<std::size_t>(round % 4);
      const auto values = static_cast<std::uint64_t>(5 + round % 20);
      auto first = make<std::uint64_t>(capacity);
      auto second = make<std::uint64_t>(3);
      auto third = make<std::uint64_t>(1);
      Nursery nursery;
      for (std::uint64_t half = 0; half < 2; ++half) {
        nursery.spawn([=, sender = first.sender]() mutable {
          for (auto i = half; i < values; i += 2) ASSERT_TRUE(sender.send(i));
        });
      }
      first.sender = {};
      nursery.spawn([from = std::move(first.receiver),
                     to = std::move(second.sender)]() mutable {
        for (const auto value : from) ASSERT_TRUE(to.send(value + 1));
      });
      nursery.spawn([from = std::move(second.receiver),
                     to = std::move(third.sender)]() mutable {
        for (const auto value : from) ASSERT_TRUE(to.send(value * value));
      });
      std::uint64_t sum = 0;
      for (const auto value : third.receiver) sum += value;
      ASSERT_EQ(sum, values * (values + 1) * (2 * values + 1) / 6);
      ASSERT_TRUE(nursery.join());
    }
  });
}

#if defined(WEFT_FAULTS)

class HeldSendTest : public test::RuntimeTest {};

// R-CHAN-07: a sender stops after it has its place and before its slot says
// that it is filled. Then the channel closes; who receives gets the value.
TEST_F(HeldSendTest, IsReceivedAfterTheClose) {
  for (const bool lock_free : {true, false}) {
    for (const bool tries : {true, false}) {
      auto channel = make_channel<int>(2, {.lock_free = lock_free});
      auto late = channel.sender;
      base::Hold hold(base::Point::filling);
      // What has no call of the library in it has no point: a try has.
      std::thread sends([&] { EXPECT_TRUE(late.try_send(7)); });
      hold.await();
      channel.sender.close();
      EXPECT_EQ(channel.sender.send(8).error(), Errc::closed);
      std::thread receives([&] {
        EXPECT_EQ(tries ? channel.receiver.try_receive().value()
                        : channel.receiver.receive().value(),
                  7);
        EXPECT_EQ(channel.receiver.receive().error(), Errc::closed);
      });
      hold.let_go();
      sends.join();
      receives.join();
    }
  }
}

// The same without a close: it is neither empty nor overtaken.
TEST_F(HeldSendTest, KeepsItsPlace) {
  auto channel = make_channel<int>(2);
  base::Hold hold(base::Point::filling);
  std::thread sends([&] { EXPECT_TRUE(channel.sender.try_send(1)); });
  hold.await();
  EXPECT_TRUE(channel.sender.send(2));
  EXPECT_EQ(channel.sender.size(), 2u);
  std::thread receives([&] {
    EXPECT_EQ(channel.receiver.receive().value(), 1);
    EXPECT_EQ(channel.receiver.receive().value(), 2);
  });
  hold.let_go();
  sends.join();
  receives.join();
}

#endif

}  // namespace
}  // namespace weft
