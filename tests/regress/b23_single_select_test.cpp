// B-23: a select of one case crashed or hung, and nodes of cases that lost were
// still there when their channel closed.

#include <gtest/gtest.h>

#include "stress/scale.hpp"
#include "support/channel_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

// As many as the specification asks for where that is quick.
int rounds_of(int plain) {
  return test::kForSpeed ? 100'000 : test::scaled(plain);
}

class SingleSelectTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SingleSelectTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

TEST_P(SingleSelectTest, ReceivesAsAReceiveWould) {
  const int rounds = rounds_of(explored() ? 1'000 : 50'000);
  at({0, 1}, [&](std::size_t capacity) {
    auto channel = make<int>(capacity);
    Nursery nursery;
    nursery.spawn([&] {
      for (int i = 0; i < rounds; ++i) {
        int value = i;
        ASSERT_EQ(
            select(on_send(channel.sender, std::move(value), [] {})).value(),
            0u);
      }
      channel.sender.close();
    });
    int next = 0;
    for (bool open = true; open;) {
      ASSERT_EQ(select(on_receive(channel.receiver,
                                  [&](Result<int> end) {
                                    open = end.has_value();
                                    ASSERT_TRUE(!open || *end == next++);
                                  }))
                    .value(),
                0u);
    }
    EXPECT_EQ(next, rounds);
    EXPECT_TRUE(nursery.join());
  });
}

// Two cases; the channel of the one that lost closes next.
TEST_P(SingleSelectTest, LeavesNothingWhereItLost) {
  const int rounds = rounds_of(explored() ? 100 : 5'000);
  at({0, 1}, [&](std::size_t capacity) {
    for (int i = 0; i < rounds; ++i) {
      auto wins = make<int>(capacity);
      auto loses = make<int>(capacity);
      Nursery nursery;
      nursery.spawn([&] { ASSERT_TRUE(wins.sender.send(1)); });
      ASSERT_EQ(select(on_receive(loses.receiver, [](Result<int>) { FAIL(); }),
                       on_receive(wins.receiver, [](Result<int>) {}))
                    .value(),
                1u);
      loses.sender.close();
      wins.sender.close();
      ASSERT_TRUE(nursery.join());
    }
  });
}

}  // namespace
}  // namespace weft
