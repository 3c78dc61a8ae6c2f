// select_race_test.cpp: selects against sends, closes, cancels and each other.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <utility>
#include <vector>

#include "support/channel_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::kNone;
using namespace std::chrono_literals;

class SelectRaceTest : public test::ChannelsTest {
 protected:
  static int rounds(int plain) { return explored() ? plain / 10 : plain; }
};
INSTANTIATE_TEST_SUITE_P(Workers, SelectRaceTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// R-SEL-03: many wakers, one select; what it did not take is still there.
TEST_P(SelectRaceTest, TakesOneAndLosesNone) {
  at({kNone, 1, 2}, [](std::size_t capacity) {
    for (int round = 0; round < rounds(200); ++round) {
      std::vector<Channel<int>> channels;
      for (int i = 0; i < 3; ++i) channels.push_back(make<int>(capacity));
      int got = 0;
      const auto take = [&](Result<int> value) { got += value.value(); };
      Nursery nursery;
      for (auto& channel : channels) {
        nursery.spawn([&channel] { EXPECT_TRUE(channel.sender.send(1)); });
      }
      for (int n = 1; n <= 3; ++n) {
        ASSERT_TRUE(select(on_receive(channels[0].receiver, take),
                           on_receive(channels[1].receiver, take),
                           on_receive(channels[2].receiver, take)));
        ASSERT_EQ(got, n);
      }
      EXPECT_TRUE(nursery.join());
    }
  });
}

// Two channels, two selects, in opposite order, each with both ends.
TEST_P(SelectRaceTest, MeetsAnotherSelectInWhateverOrder) {
  at({kNone, 1}, [](std::size_t capacity) {
    for (int round = 0; round < rounds(200); ++round) {
      auto a = make<int>(capacity);
      auto b = make<int>(capacity);
      std::atomic<int> sent{0};
      std::atomic<int> got{0};
      const auto count_sent = [&](Status end) { sent += end.has_value(); };
      const auto count_got = [&](Result<int> value) { got += value.value(); };
      Nursery nursery;
      nursery.spawn([&] {
        for (int i = 0; i < 3; ++i) {
          ASSERT_TRUE(select(on_send(a.sender, 1, count_sent),
                             on_receive(b.receiver, count_got)));
        }
      });
      nursery.spawn([&] {
        for (int i = 0; i < 3; ++i) {
          ASSERT_TRUE(select(on_send(b.sender, 1, count_sent),
                             on_receive(a.receiver, count_got)));
        }
      });
      EXPECT_TRUE(nursery.join());
      ASSERT_TRUE(capacity != 0 || sent == 3);
      while (a.receiver.try_receive()) ++got;
      while (b.receiver.try_receive()) ++got;
      ASSERT_EQ(got, sent);
    }
  });
}

// B-23: nodes that lost are not there any more when the channel closes.
TEST_P(SelectRaceTest, EndsWhenAChannelCloses) {
  at({kNone, 1, 2}, [](std::size_t capacity) {
    for (int round = 0; round < rounds(50); ++round) {
      auto one = make<int>(capacity);
      auto other = make<int>(capacity);
      std::atomic<int> sent{0};
      int got = 0;
      Nursery nursery;
      nursery.spawn([&] {
        while (one.sender.send(1)) ++sent;
      });
      nursery.spawn([&, round] {
        for (int i = 0; i < round % 8; ++i) this_fiber::yield();
        one.sender.close();
        other.sender.close();
      });
      for (int open = 2; open > 0;) {
        open = 2;
        const auto take = [&](Result<int> value) {
          if (value) {
            got += *value;
          } else {
            open = 0;
          }
        };
        ASSERT_TRUE(select(on_receive(one.receiver, take),
                           on_receive(other.receiver, take)));
      }
      while (const auto value = one.receiver.receive()) got += *value;
      EXPECT_TRUE(nursery.join());
      ASSERT_EQ(got, sent);
    }
  });
}

// A cancel, a deadline and a sender at once: the value is taken or it is not.
TEST_P(SelectRaceTest, LosesNothingWhenItGivesUp) {
  at({kNone, 1}, [](std::size_t capacity) {
    for (int round = 0; round < rounds(300); ++round) {
      auto one = make<int>(capacity);
      auto other = make<int>(capacity);
      int got = 0;
      std::atomic<int> sent{0};
      const auto take = [&](Result<int> value) { got += value.value(); };
      Nursery nursery;
      auto selects = nursery.spawn([&, round] {
        const auto end = select(
            on_receive(one.receiver, take), on_receive(other.receiver, take),
            on_deadline(Deadline::after(std::chrono::microseconds(round % 50)),
                        [] {}));
        EXPECT_TRUE(end || end.error() == Errc::cancelled);
      });
      for (auto* channel : {&one, &other}) {
        nursery.spawn([&sent, channel] {
          sent += channel->sender.send(1, Deadline::after(20us)).has_value();
        });
      }
      if (round % 3 == 0) selects.cancel();
      (void)nursery.join();
      int left = 0;
      for (auto* channel : {&one, &other}) {
        while (channel->receiver.try_receive()) ++left;
      }
      ASSERT_EQ(got + left, sent);
    }
  });
}

// Several selects share the work of several channels.
TEST_P(SelectRaceTest, SharesValuesAmongSelects) {
  at({kNone, 1, 128}, [](std::size_t capacity) {
    const int values = rounds(500);
    auto one = make<int>(capacity);
    auto other = make<int>(capacity);
    std::atomic<int> got{0};
    Nursery nursery;
    for (auto* channel : {&one, &other}) {
      nursery.spawn([&, channel] {
        for (int i = 0; i < values; ++i) {
          ASSERT_TRUE(channel->sender.send(1));
        }
        channel->sender.close();
      });
    }
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&] {
        bool ended = false;
        const auto take = [&](Result<int> value) {
          got += value ? *value : 0;
          ended = !value;
        };
        while (!ended) {
          ASSERT_TRUE(select(on_receive(one.receiver, take),
                             on_receive(other.receiver, take)));
        }
        for (auto* channel : {&one, &other}) {
          while (const auto value = channel->receiver.receive()) got += *value;
        }
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(got, 2 * values);
  });
}

// What has happened is told, whatever comes before the fiber runs again.
TEST_P(SelectRaceTest, ACancelAfterASetTakesNothingAway) {
  in_fiber([] {
    Future<int> answer;
    Error seen{Errc{}};
    int value = 0;
    Nursery nursery;
    auto waiter = nursery.spawn([&] {
      const auto end = select(on_set(answer, [&](Result<int> got) {
        seen = got ? Error(Errc{}) : got.error();
        value = got.value_or(0);
      }));
      EXPECT_TRUE(end);
    });
    test::await_parked(waiter);
    answer.set(7);
    waiter.cancel();
    EXPECT_TRUE(waiter.join());
    EXPECT_EQ(seen, Errc{});
    EXPECT_EQ(value, 7);
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
