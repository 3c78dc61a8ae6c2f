// B-06: "somebody waits" and the ring were two words read in no common order,
// and the path with a deadline forgot even that; a count that was not exact
// said "empty".

#include <gtest/gtest.h>

#include <chrono>

#include "stress/scale.hpp"
#include "support/channel_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

class TimedReceiveTest : public test::ChannelsTest {
 protected:
  // Every way to send and to receive, in turn.
  static void send(Sender<int>& to, int value, int way) {
    const auto later = Deadline::after(1h);
    if (way % 4 == 0) {
      ASSERT_TRUE(to.send(value));
    } else if (way % 4 == 1) {
      ASSERT_TRUE(to.send(value, later));
    } else if (way % 4 == 2) {
      ASSERT_TRUE(to.send_many(std::span(&value, 1)));
    } else {
      ASSERT_TRUE(select(on_send(to, std::move(value), [] {}),
                         on_deadline(later, [] { FAIL(); })));
    }
  }
  static int receive(Receiver<int>& from, int way) {
    int got = -1;
    const auto later = Deadline::after(1h);
    if (way % 4 == 0) {
      got = from.receive().value();
    } else if (way % 4 == 1) {
      got = from.receive(later).value();
    } else if (way % 4 == 2) {
      EXPECT_TRUE(from.receive_many(&got, 1));
    } else {
      EXPECT_TRUE(
          select(on_receive(from, [&](Result<int> end) { got = end.value(); }),
                 on_deadline(later, [] { FAIL(); })));
    }
    return got;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, TimedReceiveTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// Two channels, four fibers, every way.
TEST_P(TimedReceiveTest, PingPongByEveryCallNeverStops) {
  const int rounds = test::scaled(explored() ? 200 : 8'000);
  auto there = make<int>(1);
  auto back = make<int>(1);
  in_fiber([&] {
    Nursery nursery;
    for (int pair = 0; pair < 2; ++pair) {
      nursery.spawn([&, pair] {
        for (int i = 0; i < rounds; ++i) {
          send(there.sender, i, i + pair);
          ASSERT_GE(receive(back.receiver, i / 4), 0);
        }
      });
      nursery.spawn([&, pair] {
        for (int i = 0; i < rounds; ++i) {
          ASSERT_GE(receive(there.receiver, i / 4 + pair), 0);
          send(back.sender, i, i / 2);
        }
      });
    }
    EXPECT_TRUE(nursery.join());
  });
  EXPECT_EQ(there.sender.size() + back.sender.size(), 0u);
}

// A value that is there is found, however little time there is.
TEST_P(TimedReceiveTest, FindsWhatIsThereWithoutTime) {
  const int rounds = test::scaled(explored() ? 200 : 5'000);
  auto channel = make<int>(2);
  in_fiber([&] {
    for (int i = 0; i < rounds; ++i) {
      ASSERT_TRUE(channel.sender.send(i));
      ASSERT_EQ(channel.receiver.size(), 1u);
      ASSERT_EQ(channel.receiver.receive(Deadline::after(-1s)).value(), i);
    }
  });
}

}  // namespace
}  // namespace weft
