#include "support/channel_test.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fault.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::fill;
using test::kNone;
using test::numbers;
using test::take_all;

class ChannelTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ChannelTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// R-CHBUF-02 R-CHBUF-06
TEST_P(ChannelTest, HandsOverInTheOrderSent) {
  at_each_capacity([](std::size_t capacity) {
    constexpr int kValues = 300;
    auto channel = make<int>(capacity);
    Nursery nursery;
    nursery.spawn([sender = std::move(channel.sender)]() mutable {
      for (int i = 0; i < kValues; ++i) EXPECT_TRUE(sender.send(i));
    });
    EXPECT_EQ(take_all(channel.receiver), numbers(0, kValues));
    EXPECT_EQ(channel.receiver.receive().error(), Errc::closed);
    EXPECT_TRUE(nursery.join());
  });
}

// R-CHBUF-02
TEST_P(ChannelTest, TakesAsManyAsItsCapacityWithoutAReceiver) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    for (int lap = 0; lap < 5; ++lap) {
      EXPECT_EQ(fill(channel.sender), capacity);
      EXPECT_EQ(channel.sender.size(), capacity);
      EXPECT_EQ(channel.sender.try_send(7).error(), Errc::would_block);
      for (std::size_t i = 0; i < capacity; ++i) {
        EXPECT_EQ(channel.receiver.try_receive().value(), static_cast<int>(i));
      }
      EXPECT_EQ(channel.receiver.try_receive().error(), Errc::would_block);
      EXPECT_EQ(channel.receiver.size(), 0u);
    }
  });
}

// Full, half empty and empty, at every place of the ring.
TEST_P(ChannelTest, GoesRoundAtEveryPlace) {
  at_each_buffer([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    int in = 0;
    int out = 0;
    for (std::size_t step = 0; step < 4 * capacity + 9; ++step) {
      for (std::size_t i = 0; i <= step % (capacity + 1); ++i) {
        if (channel.sender.try_send(in)) ++in;
      }
      for (std::size_t i = 0; i <= step % 3; ++i) {
        const auto got = channel.receiver.try_receive();
        if (!got) break;
        EXPECT_EQ(*got, out++);
      }
      EXPECT_EQ(channel.sender.size(), static_cast<std::size_t>(in - out));
    }
  });
}

// R-CHBUF-02
TEST_P(ChannelTest, MakesASenderWaitWhileItIsFull) {
  at_each_buffer([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    fill(channel.sender);
    Nursery nursery;
    auto late = nursery.spawn([&] { return channel.sender.send(-1); });
    await_parked(late);
    for (int i = 0; i < 10; ++i) this_fiber::yield();
    EXPECT_FALSE(late.done());
    EXPECT_EQ(channel.receiver.receive().value(), 0);
    EXPECT_TRUE(late.join());
    EXPECT_EQ(channel.receiver.size(), capacity);
    for (std::size_t i = 1; i < capacity; ++i) {
      EXPECT_EQ(channel.receiver.receive().value(), static_cast<int>(i));
    }
    EXPECT_EQ(channel.receiver.receive().value(), -1);
    EXPECT_TRUE(nursery.join());
  });
}

// R-CHBUF-03
TEST_P(ChannelTest, RendezvousSendReturnsWhenAReceiverHasTheValue) {
  at({kNone}, [](std::size_t) {
    auto channel = make<int>(kNone);
    bool taking = false;
    Nursery nursery;
    auto sender = nursery.spawn([&] {
      EXPECT_TRUE(channel.sender.send(5));
      EXPECT_TRUE(taking);
    });
    await_parked(sender);
    EXPECT_EQ(channel.sender.size(), 0u);
    EXPECT_EQ(channel.sender.try_send(6).error(), Errc::would_block);
    taking = true;
    EXPECT_EQ(channel.receiver.receive().value(), 5);
    EXPECT_TRUE(sender.join());
    EXPECT_EQ(channel.receiver.try_receive().error(), Errc::would_block);
    EXPECT_TRUE(nursery.join());
  });
}

// R-CHBUF-03: a try meets who waits, on either side.
TEST_P(ChannelTest, TriesMeetWhoWaits) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    Nursery nursery;
    auto receives = nursery.spawn([&] { return channel.receiver.receive(); });
    await_parked(receives);
    EXPECT_TRUE(channel.sender.try_send(1));
    EXPECT_EQ(receives.join().value(), 1);
    fill(channel.sender, 10);
    auto sends = nursery.spawn([&] { return channel.sender.send(2); });
    await_parked(sends);
    EXPECT_EQ(channel.receiver.try_receive().value(), capacity == 0 ? 2 : 10);
    EXPECT_TRUE(sends.join());
    EXPECT_EQ(channel.receiver.size(), capacity);
    EXPECT_TRUE(nursery.join());
  });
}

// R-CHAN-15: the buffer has no part in it.
TEST_P(ChannelTest, GivesToAWaitingReceiverDirectly) {
  at_each_buffer([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    Nursery nursery;
    auto first = nursery.spawn([&] { return channel.receiver.receive(); });
    await_parked(first);
    auto second = nursery.spawn([&] { return channel.receiver.receive(); });
    await_parked(second);
    EXPECT_TRUE(channel.sender.send(1));
    EXPECT_EQ(channel.sender.size(), 0u);
    EXPECT_EQ(first.join().value(), 1);
    EXPECT_TRUE(channel.sender.send(2));
    EXPECT_EQ(channel.sender.size(), 0u);
    EXPECT_EQ(second.join().value(), 2);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ChannelTest, ServesReceiversInTheOrderOfArrival) {
  at_each_capacity([](std::size_t capacity) {
    constexpr int kReceivers = 20;
    auto channel = make<int>(capacity);
    Nursery nursery;
    std::vector<Task<int>> tasks;
    for (int i = 0; i < kReceivers; ++i) {
      tasks.push_back(
          nursery.spawn([&] { return channel.receiver.receive().value(); }));
      await_parked(tasks.back());
    }
    for (int i = 0; i < kReceivers; ++i) EXPECT_TRUE(channel.sender.send(i));
    for (int i = 0; i < kReceivers; ++i) {
      EXPECT_EQ(tasks[static_cast<std::size_t>(i)].join().value(), i);
    }
    EXPECT_TRUE(nursery.join());
  });
}

// R-CHBUF-07 C-05
TEST_P(ChannelTest, LetsWaitingSendersInBehindTheBufferInOrder) {
  at_each_capacity([](std::size_t capacity) {
    constexpr std::size_t kSenders = 20;
    auto channel = make<int>(capacity);
    const int buffered = static_cast<int>(fill(channel.sender));
    Nursery nursery;
    std::vector<Task<>> tasks;
    for (std::size_t i = 0; i < kSenders; ++i) {
      tasks.push_back(nursery.spawn([&, i] {
        EXPECT_TRUE(channel.sender.send(buffered + static_cast<int>(i)));
      }));
      await_parked(tasks.back());
    }
    for (std::size_t i = 0; i < capacity + kSenders; ++i) {
      EXPECT_EQ(channel.receiver.receive().value(), static_cast<int>(i));
      if (i >= kSenders) continue;
      EXPECT_TRUE(tasks[i].join());  // it is its turn, nobody else's
      EXPECT_EQ(channel.sender.size(), capacity);
    }
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ChannelTest, LeavesAValueAloneThatItDoesNotTake) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<std::unique_ptr<int>>(capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_TRUE(channel.sender.send(std::make_unique<int>(1)));
    }
    auto value = std::make_unique<int>(7);
    EXPECT_EQ(channel.sender.try_send(std::move(value)).error(),
              Errc::would_block);
    ASSERT_TRUE(value);
    channel.receiver.close();
    EXPECT_EQ(channel.sender.send(std::move(value)).error(), Errc::closed);
    EXPECT_EQ(channel.sender.try_send(std::move(value)).error(), Errc::closed);
    ASSERT_TRUE(value);
    EXPECT_EQ(*value, 7);
  });
}

TEST_P(ChannelTest, TellsItsCapacityAndItsName) {
  at_each_capacity([](std::size_t capacity) {
    auto setup = options();
    std::string name = "of requests, some of them long";
    setup.name = name;
    auto channel = make_channel<char>(capacity, setup);
    name.assign(name.size(), 'x');
    EXPECT_TRUE(channel.sender);
    EXPECT_TRUE(channel.receiver);
    EXPECT_EQ(channel.sender.capacity(), capacity);
    EXPECT_EQ(channel.receiver.capacity(), capacity);
    EXPECT_EQ(channel.sender.name(), "of requests, some of them long");
    EXPECT_EQ(channel.receiver.name(), channel.sender.name());
    EXPECT_FALSE(channel.sender.closed());
    EXPECT_FALSE(channel.receiver.closed());
    EXPECT_EQ(make<int>(capacity).sender.name(), "");
  });
}

// What is asked of handles that have no channel.
template <typename T>
void expect_refused(Sender<T>& sender, Receiver<T>& receiver, Errc why) {
  EXPECT_FALSE(sender);
  EXPECT_FALSE(receiver);
  T value{};
  EXPECT_EQ(sender.send(value).error(), why);
  EXPECT_EQ(sender.try_send(value).error(), why);
  EXPECT_EQ(sender.send_many(std::span(&value, 1)).error(), why);
  EXPECT_EQ(receiver.receive().error(), why);
  EXPECT_EQ(receiver.try_receive().error(), why);
  EXPECT_EQ(receiver.receive_many(&value, 1).error(), why);
  EXPECT_TRUE(sender.closed());
  EXPECT_TRUE(receiver.closed());
  EXPECT_EQ(sender.size() + sender.capacity() + sender.dropped(), 0u);
  EXPECT_EQ(sender.name(), "");
  sender.close();
  receiver.close(Errc::denied);
  Status end;
  for (T& one : receiver.each(end)) FAIL() << one;
  EXPECT_EQ(end.error(), why);
}

TEST_P(ChannelTest, RefusesWhatIsAskedOfAnEmptyHandle) {
  in_fiber([] {
    Sender<int> sender;
    Receiver<int> receiver;
    expect_refused(sender, receiver, Errc::invalid);
    auto channel = make<int>(1);
    sender = std::move(channel.sender);
    receiver = std::move(channel.receiver);
    expect_refused(channel.sender, channel.receiver, Errc::invalid);
    const auto copy = sender;
    sender = Sender<int>();
    EXPECT_FALSE(receiver.closed());
    const auto& self = copy;
    EXPECT_TRUE(Sender<int>(self).send(1));
    EXPECT_EQ(receiver.receive().value(), 1);
  });
}

TEST_P(ChannelTest, SaysThatThereIsNoMemoryForIt) {
  in_fiber([] {
    auto huge = make<int>(SIZE_MAX);
    expect_refused(huge.sender, huge.receiver, Errc::exhausted);
    auto large = make<int>(std::size_t{1} << 45);
    expect_refused(large.sender, large.receiver, Errc::exhausted);
#if defined(WEFT_FAULTS)
    const base::Refusal refusal(base::FaultPoint::channel);
    auto channel = make<int>(3);
    expect_refused(channel.sender, channel.receiver, Errc::exhausted);
    EXPECT_EQ(channel.sender.send(1).error().resource(), Resource::memory);
#endif
  });
}

// ---- Full channels that do not wait

TEST_P(ChannelTest, DropsTheNewestIfSoMade) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity, OnFull::drop_newest);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_TRUE(channel.sender.send(static_cast<int>(i)));
    }
    EXPECT_EQ(channel.sender.dropped(), 0u);
    EXPECT_EQ(channel.sender.send(-1).error(), Errc::would_block);
    EXPECT_EQ(channel.sender.send(-2).error(), Errc::would_block);
    EXPECT_EQ(channel.receiver.dropped(), 2u);
    channel.sender.close();
    EXPECT_EQ(take_all(channel.receiver), numbers(0, capacity));
    EXPECT_EQ(channel.sender.send(-3).error(), Errc::closed);
    EXPECT_EQ(channel.sender.dropped(), 2u);
  });
}

TEST_P(ChannelTest, DropsTheOldestIfSoMade) {
  at_each_buffer([](std::size_t capacity) {
    auto channel = make<int>(capacity, OnFull::drop_oldest);
    const auto sent = 2 * capacity + 1;
    for (std::size_t i = 0; i < sent; ++i) {
      EXPECT_TRUE(channel.sender.send(static_cast<int>(i)));
    }
    EXPECT_EQ(channel.sender.dropped(), sent - capacity);
    EXPECT_EQ(channel.sender.try_send(-1).error(), Errc::would_block);
    EXPECT_EQ(channel.sender.dropped(), sent - capacity);
    channel.sender.close();
    EXPECT_EQ(take_all(channel.receiver),
              numbers(static_cast<int>(sent - capacity), capacity));
  });
}

TEST_P(ChannelTest, DropsTheNewestWhereThereIsNoOldest) {
  in_fiber([] {
    auto channel = make<int>(kNone, OnFull::drop_oldest);
    EXPECT_EQ(channel.sender.send(1).error(), Errc::would_block);
    EXPECT_EQ(channel.sender.dropped(), 1u);
    Nursery nursery;
    auto receives = nursery.spawn([&] { return channel.receiver.receive(); });
    await_parked(receives);
    EXPECT_TRUE(channel.sender.send(2));
    EXPECT_EQ(receives.join().value(), 2);
    EXPECT_EQ(channel.sender.dropped(), 1u);
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
