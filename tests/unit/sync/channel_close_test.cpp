// channel_close_test.cpp: how a channel ends, and what each side hears of it.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/fault.hpp"
#include "support/channel_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::fill;
using test::kNone;
using test::numbers;
using test::take_all;

class ChannelCloseTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ChannelCloseTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// A value that is counted as long as it is one.
class Counted {
 public:
  explicit Counted(int number) : number_(number) { ++live; }
  Counted(Counted&& other) noexcept : number_(other.number_) { ++live; }
  ~Counted() { --live; }
  int number() const { return number_; }

  static inline std::atomic<int> live{0};

 private:
  int number_;
};

// R-CHAN-11
TEST_P(ChannelCloseTest, LetsOutWhatIsInside) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    fill(channel.sender);
    channel.sender.close();
    EXPECT_TRUE(channel.sender.closed());
    EXPECT_TRUE(channel.receiver.closed());
    EXPECT_EQ(channel.sender.send(-1).error(), Errc::closed);
    EXPECT_EQ(channel.sender.try_send(-1).error(), Errc::closed);
    EXPECT_EQ(channel.receiver.size(), capacity);
    EXPECT_EQ(take_all(channel.receiver), numbers(0, capacity));
    EXPECT_EQ(channel.receiver.receive().error(), Errc::closed);
    EXPECT_EQ(channel.receiver.try_receive().error(), Errc::closed);
  });
}

TEST_P(ChannelCloseTest, ClosesWhenItsLastSenderGoes) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    auto copy = channel.sender;
    fill(channel.sender);
    channel.sender = {};
    EXPECT_FALSE(channel.receiver.closed());
    auto moved = std::move(copy);
    copy = {};
    EXPECT_FALSE(channel.receiver.closed());
    {
      const auto another = moved;
      moved = another;
    }
    EXPECT_FALSE(channel.receiver.closed());
    moved = {};
    EXPECT_TRUE(channel.receiver.closed());
    EXPECT_EQ(take_all(channel.receiver), numbers(0, capacity));
  });
}

TEST_P(ChannelCloseTest, ClosesWhenItsLastReceiverGoes) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    fill(channel.sender);
    Nursery nursery;
    auto waits = nursery.spawn(
        [&] { EXPECT_EQ(channel.sender.send(1).error(), Errc::closed); });
    await_parked(waits);
    {
      const auto copy = channel.receiver;
      channel.receiver = {};
      EXPECT_FALSE(channel.sender.closed());
    }
    EXPECT_TRUE(waits.join());
    EXPECT_EQ(channel.sender.send(1).error(), Errc::closed);
    EXPECT_EQ(channel.sender.size(), 0u);
    EXPECT_TRUE(nursery.join());
  });
}

// What each call answers after a close: B-28.
struct Heard {
  Error send, try_send, receive, try_receive, send_many, receive_many;
};

Heard listen(Sender<int>& sender, Receiver<int>& receiver) {
  int value = 1;
  return {sender.send(value).error(),
          sender.try_send(value).error(),
          receiver.receive().error(),
          receiver.try_receive().error(),
          sender.send_many(std::span(&value, 1)).error(),
          receiver.receive_many(&value, 1).error()};
}

void expect_heard(const Heard& heard, Error by_senders, Error by_receivers) {
  EXPECT_EQ(heard.send, by_senders);
  EXPECT_EQ(heard.try_send, by_senders);
  EXPECT_EQ(heard.send_many, by_senders);
  EXPECT_EQ(heard.receive, by_receivers);
  EXPECT_EQ(heard.try_receive, by_receivers);
  EXPECT_EQ(heard.receive_many, by_receivers);
}

// B-28
TEST_P(ChannelCloseTest, TellsTheReasonToTheOtherSide) {
  at_each_capacity([](std::size_t capacity) {
    for (const Error reason :
         {Error(Errc::denied), Error::user(42), Error::os(32)}) {
      auto one = make<int>(capacity);
      one.sender.close(reason);
      expect_heard(listen(one.sender, one.receiver), Errc::closed, reason);
      auto other = make<int>(capacity);
      other.receiver.close(reason);
      expect_heard(listen(other.sender, other.receiver), reason, Errc::closed);
    }
    auto plain = make<int>(capacity);
    plain.sender.close();
    expect_heard(listen(plain.sender, plain.receiver), Errc::closed,
                 Errc::closed);
    auto gone = make<int>(capacity);
    auto receiver = gone.receiver;
    gone.sender = {};
    EXPECT_EQ(receiver.receive().error(), Errc::closed);
  });
}

// B-28: those who wait hear the same as those who come later.
TEST_P(ChannelCloseTest, TellsTheReasonToWhoWaits) {
  at_each_capacity([](std::size_t capacity) {
    for (const bool with_deadline : {false, true}) {
      const auto when = with_deadline ? Deadline::after(std::chrono::hours(1))
                                      : Deadline::never();
      auto one = make<int>(capacity);
      auto other = make<int>(capacity);
      auto mine = make<int>(capacity);
      fill(other.sender);
      Nursery nursery;
      auto receives = nursery.spawn([&] {
        EXPECT_EQ(one.receiver.receive(when).error(), Error::user(1));
      });
      auto sends = nursery.spawn([&] {
        EXPECT_EQ(other.sender.send(1, when).error(), Error::user(2));
      });
      auto self = nursery.spawn([&] {
        EXPECT_EQ(mine.receiver.receive(when).error(), Errc::closed);
      });
      await_parked(receives);
      await_parked(sends);
      await_parked(self);
      one.sender.close(Error::user(1));
      other.receiver.close(Error::user(2));
      mine.receiver.close(Error::user(3));
      EXPECT_TRUE(nursery.join());
    }
  });
}

// B-28
TEST_P(ChannelCloseTest, KeepsTheFirstReason) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    fill(channel.sender);
    channel.sender.close(Errc::denied);
    channel.sender.close(Errc::failed);
    channel.sender.close();
    EXPECT_EQ(take_all(channel.receiver), numbers(0, capacity));
    channel.receiver.close(Errc::invalid);
    expect_heard(listen(channel.sender, channel.receiver), Errc::closed,
                 Errc::denied);
    auto receiver = channel.receiver;
    channel.sender = {};
    EXPECT_EQ(receiver.receive().error(), Errc::denied);
  });
}

// R-CHAN-12
TEST_P(ChannelCloseTest, WakesAllWhoWait) {
  at_each_capacity([](std::size_t capacity) {
    constexpr int kWaiters = 30;
    auto channel = make<int>(capacity);
    Nursery nursery;
    for (int i = 0; i < kWaiters; ++i) {
      await_parked(nursery.spawn([&] {
        EXPECT_EQ(channel.receiver.receive().error(), Errc::closed);
      }));
    }
    channel.sender.close();
    EXPECT_TRUE(nursery.join());
  });
}

// R-CHAN-13 R-CHAN-14: whoever closes, each wait ends once.
TEST_P(ChannelCloseTest, EndsEachWaitOnceWhoeverCloses) {
  at_each_capacity([](std::size_t capacity) {
    for (int round = 0; round < 30; ++round) {
      auto channel = make<int>(capacity);
      std::atomic<int> ended{0};
      std::atomic<int> got{0};
      std::atomic<int> sent{0};
      Nursery nursery;
      for (int i = 0; i < 4; ++i) {
        nursery.spawn([&] {
          got += channel.receiver.receive().has_value();
          ++ended;
        });
      }
      for (int i = 0; i < 3; ++i) {
        nursery.spawn([&] { channel.sender.close(); });
        nursery.spawn([&] { sent += channel.sender.send(1).has_value(); });
      }
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(ended, 4);
      while (channel.receiver.try_receive()) ++got;
      EXPECT_EQ(got, sent);
    }
  });
}

// R-CHAN-11 C-12
TEST_P(ChannelCloseTest, LetsTheValuesOfWaitingSendersInBehindTheBuffer) {
  at_each_buffer([](std::size_t capacity) {
    for (const std::size_t waiting : {1u, 5u, 64u, 65u, 150u}) {
      auto channel = make<int>(capacity);
      fill(channel.sender);
      Nursery nursery;
      std::vector<Task<>> tasks;
      for (std::size_t i = 0; i < waiting; ++i) {
        tasks.push_back(nursery.spawn([&, i]() -> Status {
          return channel.sender.send(static_cast<int>(capacity + i));
        }));
        await_parked(tasks.back());
      }
      channel.sender.close(Errc::denied);
      EXPECT_TRUE(nursery.join());
      for (auto& task : tasks) EXPECT_TRUE(task.join());
      EXPECT_EQ(channel.sender.send(-1).error(), Errc::closed);
      EXPECT_EQ(take_all(channel.receiver), numbers(0, capacity + waiting));
      EXPECT_EQ(channel.receiver.receive().error(), Errc::denied);
    }
  });
}

#if defined(WEFT_FAULTS)
// C-12: without memory for them they are not sent.
TEST_P(ChannelCloseTest, LeavesTheValuesOfWaitingSendersThereIsNoRoomFor) {
  at({1, 3}, [](std::size_t capacity) {
    constexpr std::size_t kRoom = 64;  // one piece of memory
    for (const unsigned pieces : {0u, 1u}) {
      auto channel = make<std::unique_ptr<int>>(capacity);
      for (std::size_t i = 0; i < capacity; ++i) {
        EXPECT_TRUE(channel.sender.send(std::make_unique<int>(0)));
      }
      std::atomic<std::size_t> sent{0};
      Nursery nursery;
      for (int i = 0; i < 80; ++i) {
        await_parked(nursery.spawn([&, i] {
          auto value = std::make_unique<int>(i);
          const auto end = channel.sender.send(std::move(value));
          sent += end.has_value();
          EXPECT_EQ(value == nullptr, end.has_value());
          EXPECT_TRUE(end || end.error() == Errc::closed);
        }));
      }
      {
        const base::Refusal refusal(base::FaultPoint::channel, pieces);
        channel.sender.close();
      }
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(sent, pieces * kRoom);
      std::size_t got = 0;
      while (channel.receiver.receive()) ++got;
      EXPECT_EQ(got, capacity + pieces * kRoom);
    }
  });
}
#endif

// C-12
TEST_P(ChannelCloseTest, RefusesSendersWhoWaitForARendezvous) {
  at({kNone}, [](std::size_t) {
    auto channel = make<std::unique_ptr<int>>(kNone);
    Nursery nursery;
    for (int i = 0; i < 5; ++i) {
      await_parked(nursery.spawn([&, i] {
        auto value = std::make_unique<int>(i);
        EXPECT_EQ(channel.sender.send(std::move(value)).error(), Errc::closed);
        ASSERT_TRUE(value);
        EXPECT_EQ(*value, i);
      }));
    }
    channel.sender.close(Errc::denied);
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(channel.receiver.receive().error(), Errc::denied);
  });
}

TEST_P(ChannelCloseTest, DestroysWhatIsInsideWhenTheReceiverCloses) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<Counted>(capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_TRUE(channel.sender.send(Counted(1)));
    }
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      await_parked(nursery.spawn([&, i] {
        Counted value(i);
        EXPECT_EQ(channel.sender.send(std::move(value)).error(), Errc::denied);
        EXPECT_EQ(value.number(), i);
      }));
    }
    channel.receiver.close(Errc::denied);
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(Counted::live, 0);
    EXPECT_EQ(channel.receiver.receive().error(), Errc::closed);
  });
}

TEST_P(ChannelCloseTest, DestroysWhatIsInsideWhenAllAreGone) {
  at_each_buffer([](std::size_t capacity) {
    for (const bool receiver_first : {false, true}) {
      auto channel = make<Counted>(capacity);
      auto copy = channel.receiver;
      for (std::size_t i = 0; i < capacity; ++i) {
        EXPECT_TRUE(channel.sender.send(Counted(1)));
      }
      Nursery nursery;
      for (int i = 0; i < 70; ++i) {
        await_parked(nursery.spawn(
            [&, i] { EXPECT_TRUE(channel.sender.send(Counted(i))); }));
      }
      channel.sender.close();
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(Counted::live, static_cast<int>(capacity) + 70);
      EXPECT_TRUE(channel.receiver.receive());
      if (receiver_first) channel.receiver = {};
      channel.sender = {};
      channel.receiver = {};
      copy = {};
      EXPECT_EQ(Counted::live, 0);
    }
  });
}

// R-MEMORD-08 R-CHAN-08: before, during and after.
TEST_P(ChannelCloseTest, LosesNothingThatWasSentWhileItCloses) {
  at({kNone, 1, 2, 128}, [](std::size_t capacity) {
    for (int round = 0; round < 10; ++round) {
      auto channel = make<int>(capacity);
      std::atomic<int> sent{0};
      int got = 0;
      Nursery nursery;
      for (int i = 0; i < 3; ++i) {
        nursery.spawn([&] {
          while (channel.sender.send(1)) ++sent;
        });
      }
      nursery.spawn([&, round] {
        for (int i = 0; i < round; ++i) this_fiber::yield();
        channel.sender.close();
      });
      for (const int value : channel.receiver) got += value;
      EXPECT_TRUE(nursery.join());
      ASSERT_EQ(got, sent);
    }
  });
}

}  // namespace
}  // namespace weft
