// B-22: a node that had been signalled stayed on its list, and swallowed the
// wakes of those behind it.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <vector>

#include "base/point.hpp"
#include "stress/scale.hpp"
#include "support/channel_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using namespace std::chrono_literals;

class LinkedNodeTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, LinkedNodeTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// Again and again who waits first gives up; the next has the value.
TEST_P(LinkedNodeTest, SwallowsNoWakeOfTheNext) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    for (int round = 0; round < 40; ++round) {
      Nursery nursery;
      auto gone = nursery.spawn([&] { (void)channel.receiver.receive(); });
      await_parked(gone);
      auto late = nursery.spawn(
          [&] { (void)channel.receiver.receive(Deadline::after(1us)); });
      (void)late.join();
      auto stays = nursery.spawn([&] { return channel.receiver.receive(); });
      await_parked(stays);
      gone.cancel();
      (void)gone.join();
      EXPECT_TRUE(channel.sender.send(round));
      EXPECT_EQ(stays.join().value(), round);
      EXPECT_EQ(channel.sender.size(), 0u);
      EXPECT_TRUE(nursery.join());
    }
  });
}

#if defined(WEFT_FAULTS)
// R-CHAN-04: fibers come back for nothing, and wait on.
TEST_P(LinkedNodeTest, SurvivesReturnsForNothing) {
  const base::Disturbance disturbance(7);
  at({0, 1, 2}, [](std::size_t capacity) {
    const int values = test::scaled(explored() ? 100 : 2'000);
    auto channel = make<int>(capacity);
    std::atomic<int> got{0};
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&] {
        for (const int value : channel.receiver) got += value;
      });
    }
    Nursery senders;
    for (int i = 0; i < 3; ++i) {
      senders.spawn([&] {
        for (int n = 0; n < values; ++n) ASSERT_TRUE(channel.sender.send(1));
      });
    }
    EXPECT_TRUE(senders.join());
    channel.sender.close();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(got, 3 * values);
  });
}
#endif

}  // namespace
}  // namespace weft
