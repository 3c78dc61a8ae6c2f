// select_test.cpp: one wait at several channels.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/channel_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::fill;
using test::kIgnore;
using test::kNone;
using namespace std::chrono_literals;

class SelectTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SelectTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// Nobody is left at it: a try meets nobody, and what is sent stays.
void expect_unused(Channel<int>& channel) {
  EXPECT_EQ(channel.receiver.try_receive().error(), Errc::would_block);
  EXPECT_EQ(fill(channel.sender), channel.sender.capacity());
  for (std::size_t i = 0; i < channel.sender.capacity(); ++i) {
    EXPECT_EQ(channel.receiver.try_receive().value(), static_cast<int>(i));
  }
}

// R-SEL-05 R-SEL-09
TEST_P(SelectTest, ReceivesWhatIsThere) {
  at_each_buffer([](std::size_t capacity) {
    auto numbers = make<int>(capacity);
    auto texts = make<std::string>(capacity);
    EXPECT_TRUE(texts.sender.send("here"));
    std::string got;
    const auto which = select(on_receive(numbers.receiver, kIgnore),
                              on_receive(texts.receiver, [&](auto text) {
                                got = std::move(text).value();
                              }));
    EXPECT_EQ(which.value(), 1u);
    EXPECT_EQ(got, "here");
    EXPECT_EQ(texts.receiver.size(), 0u);
  });
}

// R-SEL-02 R-SEL-05 R-SEL-07
TEST_P(SelectTest, IsWokenByEachOfItsChannels) {
  at_each_capacity([](std::size_t capacity) {
    for (const std::size_t chosen : {0u, 1u, 2u}) {
      std::vector<Channel<int>> channels;
      for (int i = 0; i < 3; ++i) channels.push_back(make<int>(capacity));
      int got = 0;
      const auto take = [&](Result<int> value) { got = value.value(); };
      Nursery nursery;
      auto waits = nursery.spawn([&] {
        return select(on_receive(channels[0].receiver, take),
                      on_receive(channels[1].receiver, take),
                      on_receive(channels[2].receiver, take));
      });
      await_parked(waits);
      EXPECT_TRUE(channels[chosen].sender.send(9));
      EXPECT_EQ(waits.join().value(), chosen);
      EXPECT_EQ(got, 9);
      for (auto& channel : channels) expect_unused(channel);
    }
  });
}

// R-SEL-05 R-SEL-09
TEST_P(SelectTest, SendsWhereThereIsRoom) {
  at_each_buffer([](std::size_t capacity) {
    auto full = make<int>(capacity);
    auto empty = make<int>(capacity);
    fill(full.sender);
    Status sent = Errc::failed;
    const auto which =
        select(on_send(full.sender, 1, kIgnore),
               on_send(empty.sender, 2, [&](Status end) { sent = end; }));
    EXPECT_EQ(which.value(), 1u);
    EXPECT_TRUE(sent);
    EXPECT_EQ(empty.receiver.try_receive().value(), 2);
    EXPECT_EQ(full.sender.size(), capacity);
  });
}

// R-SEL-05: those that wait go into the buffer, or to a receiver.
TEST_P(SelectTest, SendsWhenThereIsRoomAgain) {
  at_each_capacity([](std::size_t capacity) {
    auto one = make<int>(capacity);
    auto other = make<int>(capacity);
    fill(one.sender);
    fill(other.sender);
    Nursery nursery;
    auto waits = nursery.spawn([&] {
      return select(on_send(one.sender, 71, [] {}),
                    on_send(other.sender, 72, [] {}));
    });
    await_parked(waits);
    int last = 0;
    for (std::size_t i = 0; i <= capacity; ++i) {
      last = other.receiver.receive().value();
    }
    EXPECT_EQ(last, 72);
    EXPECT_EQ(waits.join().value(), 1u);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_TRUE(one.receiver.receive());
    }
    expect_unused(one);
    expect_unused(other);
  });
}

// R-SEL-03 R-SEL-04: losers have had no effect.
TEST_P(SelectTest, KeepsTheValueThatItDidNotSend) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<std::unique_ptr<int>>(capacity);
    auto ready = make<int>(1);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_TRUE(channel.sender.send(std::make_unique<int>(0)));
    }
    auto value = std::make_unique<int>(7);
    EXPECT_TRUE(ready.sender.send(1));
    EXPECT_EQ(select(on_send(channel.sender, std::move(value), [] {}),
                     on_receive(ready.receiver, kIgnore))
                  .value(),
              1u);
    EXPECT_TRUE(value);
    Nursery nursery;
    auto waits = nursery.spawn([&] {
      return select(on_send(channel.sender, std::move(value), [] {}),
                    on_receive(ready.receiver, kIgnore));
    });
    await_parked(waits);
    EXPECT_TRUE(ready.sender.send(1));
    EXPECT_EQ(waits.join().value(), 1u);
    ASSERT_TRUE(value);
    EXPECT_EQ(*value, 7);
    EXPECT_EQ(channel.sender.size(), capacity);
  });
}

// R-SEL-04 C-25: the value goes to the next who waits.
TEST_P(SelectTest, SwallowsNothingThatIsMeantForTheNext) {
  at_each_capacity([](std::size_t capacity) {
    auto one = make<int>(capacity);
    auto other = make<int>(capacity);
    Nursery nursery;
    auto selects = nursery.spawn([&] {
      return select(on_receive(one.receiver, kIgnore),
                    on_receive(other.receiver, kIgnore));
    });
    await_parked(selects);
    auto next = nursery.spawn([&] { return other.receiver.receive(); });
    await_parked(next);
    EXPECT_TRUE(one.sender.send(1));
    EXPECT_TRUE(other.sender.send(2));
    EXPECT_EQ(selects.join().value(), 0u);
    EXPECT_EQ(next.join().value(), 2);
  });
}

// R-SEL-02
TEST_P(SelectTest, TakesTheSameChannelTwice) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    for (int round = 0; round < 20; ++round) {
      int got = 0;
      const auto take = [&](Result<int> value) { got += value.value(); };
      Nursery nursery;
      auto waits = nursery.spawn([&] {
        return select(on_receive(channel.receiver, take),
                      on_receive(channel.receiver, take));
      });
      await_parked(waits);
      EXPECT_TRUE(channel.sender.send(3));
      EXPECT_LT(waits.join().value(), 2u);
      EXPECT_EQ(got, 3);
    }
    fill(channel.sender);
    Nursery nursery;
    auto sends = nursery.spawn([&] {
      return select(on_send(channel.sender, 81, [] {}),
                    on_send(channel.sender, 82, [] {}));
    });
    await_parked(sends);
    int last = 0;
    for (std::size_t i = 0; i <= capacity; ++i) {
      last = channel.receiver.receive().value();
    }
    EXPECT_EQ(last, 81 + static_cast<int>(sends.join().value()));
    expect_unused(channel);
  });
}

// Both ends of one channel: it does not meet itself.
TEST_P(SelectTest, MeetsOthersOnlyAtBothEndsOfAChannel) {
  at({kNone}, [](std::size_t) {
    auto channel = make<int>(kNone);
    int got = 0;
    const auto both = [&](int mine) {
      return select(on_send(channel.sender, std::move(mine), [] {}),
                    on_receive(channel.receiver, [&](Result<int> value) {
                      got = value.value();
                    }));
    };
    Nursery nursery;
    auto one = nursery.spawn([&] { return both(1); });
    await_parked(one);
    EXPECT_FALSE(one.done());
    auto other = nursery.spawn([&] { return both(2); });
    const auto first = one.join().value();
    const auto second = other.join().value();
    EXPECT_EQ(first + second, 1u);  // one sends, the other receives
    EXPECT_EQ(got, first == 0 ? 1 : 2);
    expect_unused(channel);
  });
}

// A closed channel is ready, on either side.
TEST_P(SelectTest, IsToldOfAClose) {
  at_each_capacity([](std::size_t capacity) {
    auto open = make<int>(capacity);
    auto closed = make<int>(capacity);
    closed.sender.close(Errc::denied);
    Error told = Errc::failed;
    const auto hear = [&](auto end) { told = end.error(); };
    EXPECT_EQ(select(on_receive(open.receiver, hear),
                     on_receive(closed.receiver, hear))
                  .value(),
              1u);
    EXPECT_EQ(told, Errc::denied);
    fill(open.sender);
    EXPECT_EQ(
        select(on_send(closed.sender, 1, hear), on_send(open.sender, 1, hear))
            .value(),
        0u);
    EXPECT_EQ(told, Errc::closed);
    std::optional<int> slot(4);
    EXPECT_TRUE(select(receive_into(slot, closed.receiver)));
    EXPECT_FALSE(slot.has_value());
  });
}

TEST_P(SelectTest, IsToldOfACloseWhileItWaits) {
  at_each_capacity([](std::size_t capacity) {
    auto one = make<std::unique_ptr<int>>(capacity);
    auto other = make<int>(capacity);
    while (one.sender.try_send(std::make_unique<int>(1))) {
    }
    Error told = Errc{};
    auto value = std::make_unique<int>(2);
    const auto wait = [&] {
      return select(
          on_send(one.sender, std::move(value),
                  [&](Status sent) { told = sent.error(); }),
          on_receive(other.receiver, [&](auto got) { told = got.error(); }));
    };
    Nursery nursery;
    auto first = nursery.spawn(wait);
    await_parked(first);
    other.sender.close(Error::user(5));
    EXPECT_EQ(first.join().value(), 1u);
    EXPECT_EQ(told, Error::user(5));
    EXPECT_TRUE(value);
    auto another = make<int>(capacity);
    other = std::move(another);
    auto second = nursery.spawn(wait);
    await_parked(second);
    one.receiver.close(Error::user(6));
    EXPECT_EQ(second.join().value(), 0u);
    EXPECT_EQ(told, Error::user(6));
    EXPECT_TRUE(value);
    EXPECT_TRUE(nursery.join());
  });
}

// C-12: a select that waits to send is a sender who waits.
TEST_P(SelectTest, IsLetInByACloseBehindTheBuffer) {
  at_each_buffer([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    auto other = make<int>(capacity);
    fill(channel.sender);
    Status sent = Errc::failed;
    Nursery nursery;
    auto waits = nursery.spawn([&] {
      return select(
          on_receive(other.receiver, kIgnore),
          on_send(channel.sender, 99, [&](Status end) { sent = end; }));
    });
    await_parked(waits);
    channel.sender.close();
    EXPECT_EQ(waits.join().value(), 1u);
    EXPECT_TRUE(sent);
    auto all = test::take_all(channel.receiver);
    ASSERT_EQ(all.size(), capacity + 1);
    EXPECT_EQ(all.back(), 99);
    expect_unused(other);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SelectTest, HasAHandlerThatMayWait) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    auto back = make<int>(capacity);
    Nursery nursery;
    auto echo = nursery.spawn([&] {
      return select(on_receive(channel.receiver, [&](Result<int> value) {
        EXPECT_TRUE(back.sender.send(value.value() + 1));
      }));
    });
    EXPECT_TRUE(channel.sender.send(1));
    EXPECT_EQ(back.receiver.receive().value(), 2);
    EXPECT_EQ(echo.join().value(), 0u);
  });
}

// R-SEL-07: cancelled, and nobody is left at the channels.
TEST_P(SelectTest, IsCancelledAndNothingHasHappened) {
  at_each_capacity([](std::size_t capacity) {
    auto one = make<int>(capacity);
    auto other = make<int>(capacity);
    bool ran = false;
    const auto take = [&](Result<int>) { ran = true; };
    Nursery nursery;
    auto waits = nursery.spawn([&] {
      return select(on_receive(one.receiver, take),
                    on_receive(other.receiver, take));
    });
    await_parked(waits);
    waits.cancel();
    EXPECT_EQ(waits.join().error(), Errc::cancelled);
    expect_unused(one);
    expect_unused(other);
    const auto inside = fill(one.sender);
    as_cancelled([&] {
      EXPECT_EQ(
          select(on_receive(one.receiver, take), otherwise([&] { ran = true; }))
              .error(),
          Errc::cancelled);
    });
    EXPECT_FALSE(ran);
    EXPECT_EQ(one.receiver.size(), inside);
    EXPECT_TRUE(nursery.join());
  });
}

// Drops as a send would.
TEST_P(SelectTest, DropsWhereAFullChannelDrops) {
  at_each_buffer([](std::size_t capacity) {
    auto oldest = make<int>(capacity, OnFull::drop_oldest);
    fill(oldest.sender);
    EXPECT_TRUE(select(on_send(oldest.sender, 99, [] {})));
    EXPECT_EQ(oldest.sender.dropped(), 1u);
    EXPECT_EQ(oldest.receiver.receive().value(), capacity == 1 ? 99 : 1);
    auto newest = make<int>(capacity, OnFull::drop_newest);
    fill(newest.sender);
    Error told = Errc{};
    EXPECT_TRUE(select(
        on_send(newest.sender, 99, [&](Status sent) { told = sent.error(); })));
    EXPECT_EQ(told, Errc::would_block);
    EXPECT_EQ(newest.sender.dropped(), 1u);
  });
}

TEST_P(SelectTest, TellsOfAHandleWithoutAChannel) {
  in_fiber([] {
    Sender<int> sender;
    Receiver<int> receiver;
    auto open = make<int>(1);
    Error told = Errc{};
    EXPECT_EQ(
        select(on_receive(open.receiver, kIgnore),
               on_receive(receiver, [&](auto got) { told = got.error(); }))
            .value(),
        1u);
    EXPECT_EQ(told, Errc::invalid);
    told = Errc{};
    EXPECT_TRUE(
        select(on_send(sender, 1, [&](Status sent) { told = sent.error(); })));
    EXPECT_EQ(told, Errc::invalid);
    EXPECT_EQ(select().error(), Errc::invalid);
  });
}

}  // namespace
}  // namespace weft
