// channel_wait_test.cpp: who waits at a channel, how long, and beside whom.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
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
using test::kNone;
using test::numbers;
using test::take_all;
using namespace std::chrono_literals;

class ChannelWaitTest : public test::ChannelsTest {
 protected:
  std::uint64_t parks() {
    std::uint64_t all = 0;
    for (const auto& worker : runtime().ref().stats().workers) {
      all += worker.parked;
    }
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, ChannelWaitTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

using Owned = std::unique_ptr<int>;

// ---- Deadlines

void expect_timeouts(Channel<Owned>& channel, Deadline deadline) {
  Owned value = std::make_unique<int>(7);
  EXPECT_EQ(channel.receiver.receive(deadline).error(), Errc::timed_out);
  while (channel.sender.try_send(std::move(value))) {
    value = std::make_unique<int>(8);
  }
  EXPECT_EQ(channel.sender.send(std::move(value), deadline).error(),
            Errc::timed_out);
  EXPECT_TRUE(value);
  EXPECT_EQ(channel.sender.size(), channel.sender.capacity());
}

// R-TIMER-03
TEST_P(ChannelWaitTest, TimesOutAndNothingHasHappened) {
  at_each_capacity([](std::size_t capacity) {
    for (const auto delay : {-1s, 0s}) {
      auto channel = make<Owned>(capacity);
      expect_timeouts(channel, Deadline::after(delay));
    }
    auto channel = make<Owned>(capacity);
    expect_timeouts(channel, Deadline::after(50us));
  });
}

TEST_P(ChannelWaitTest, TimesOutOnThreads) {
  for (const std::size_t capacity : {0u, 1u, 3u}) {
    for (const auto delay : {-1'000'000us, 50us}) {
      auto channel = make<Owned>(capacity);
      expect_timeouts(channel, Deadline::after(delay));
    }
  }
}

// A deadline is for the wait, not for what is there.
TEST_P(ChannelWaitTest, NeedsNoTimeForWhatIsThere) {
  at_each_capacity([](std::size_t capacity) {
    const auto expired = Deadline::after(-1s);
    auto channel = make<int>(capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_TRUE(channel.sender.send(static_cast<int>(i), expired));
    }
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_EQ(channel.receiver.receive(expired).value(), static_cast<int>(i));
    }
    Nursery nursery;
    auto receives = nursery.spawn([&] { return channel.receiver.receive(); });
    await_parked(receives);
    EXPECT_TRUE(channel.sender.send(4, expired));
    EXPECT_EQ(receives.join().value(), 4);
    fill(channel.sender, 100);
    auto sends = nursery.spawn([&] { return channel.sender.send(5); });
    await_parked(sends);
    EXPECT_TRUE(channel.receiver.receive(expired));
    EXPECT_TRUE(sends.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ChannelWaitTest, IsServedBeforeItsDeadline) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    const auto later = Deadline::after(1h);
    Nursery nursery;
    auto receives =
        nursery.spawn([&] { return channel.receiver.receive(later); });
    await_parked(receives);
    EXPECT_TRUE(channel.sender.send(1, later));
    EXPECT_EQ(receives.join().value(), 1);
    fill(channel.sender);
    auto sends = nursery.spawn([&] { return channel.sender.send(2, later); });
    await_parked(sends);
    EXPECT_TRUE(channel.receiver.receive(later));
    EXPECT_TRUE(sends.join());
    EXPECT_TRUE(nursery.join());
  });
}

// ---- Cancels

// R-CHBUF-04 C-11
TEST_P(ChannelWaitTest, KeepsTheValueOfACancelledSender) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<Owned>(capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_TRUE(channel.sender.send(std::make_unique<int>(1)));
    }
    Nursery nursery;
    auto gone = nursery.spawn([&] {
      auto value = std::make_unique<int>(7);
      EXPECT_EQ(channel.sender.send(std::move(value)).error(), Errc::cancelled);
      EXPECT_EQ(value == nullptr ? 0 : *value, 7);
    });
    await_parked(gone);
    auto stays = nursery.spawn(
        [&] { EXPECT_TRUE(channel.sender.send(std::make_unique<int>(9))); });
    await_parked(stays);
    gone.cancel();
    EXPECT_TRUE(gone.join());
    int last = 0;
    for (std::size_t i = 0; i < capacity + 1; ++i) {
      last = **channel.receiver.receive();
    }
    EXPECT_EQ(last, 9);
    EXPECT_TRUE(stays.join());
    EXPECT_EQ(channel.receiver.try_receive().error(), Errc::would_block);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ChannelWaitTest, GivesNothingToACancelledReceiver) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    Nursery nursery;
    auto gone = nursery.spawn([&] {
      EXPECT_EQ(channel.receiver.receive().error(), Errc::cancelled);
    });
    await_parked(gone);
    auto stays = nursery.spawn([&] { return channel.receiver.receive(); });
    await_parked(stays);
    gone.cancel();
    EXPECT_TRUE(gone.join());
    EXPECT_TRUE(channel.sender.send(1));
    EXPECT_EQ(stays.join().value(), 1);
    EXPECT_TRUE(nursery.join());
  });
}

// Either of them may win; the value comes to one of the two all the same.
TEST_P(ChannelWaitTest, LosesNothingWhenACancelAndASendRace) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    Nursery nursery;
    auto gone =
        nursery.spawn([&] { return channel.receiver.receive().value_or(0); });
    await_parked(gone);
    auto stays = nursery.spawn([&] { return channel.receiver.receive(); });
    await_parked(stays);
    auto canceller = nursery.spawn([&] { gone.cancel(); });
    auto sender = nursery.spawn([&] { EXPECT_TRUE(channel.sender.send(1)); });
    const auto got = gone.join();
    EXPECT_TRUE(canceller.join());
    EXPECT_TRUE(sender.join());
    if (got.value() == 1) {
      EXPECT_TRUE(channel.sender.send(1));
    }
    EXPECT_EQ(stays.join().value(), 1);
    EXPECT_TRUE(nursery.join());
  });
}

// Always a cancel point, but a try is none.
TEST_P(ChannelWaitTest, IsRefusedToACancelledFiberAlsoIfItNeedNotWait) {
  at_each_buffer([](std::size_t capacity) {
    auto channel = make<Owned>(capacity);
    auto value = std::make_unique<int>(1);
    as_cancelled([&] {
      EXPECT_EQ(channel.sender.send(std::move(value)).error(), Errc::cancelled);
      ASSERT_TRUE(value);
      EXPECT_TRUE(channel.sender.try_send(std::move(value)));
      EXPECT_EQ(channel.receiver.receive().error(), Errc::cancelled);
      EXPECT_TRUE(channel.receiver.try_receive());
    });
    EXPECT_EQ(channel.sender.size(), 0u);
  });
}

// R-CHAN-16
TEST_P(ChannelWaitTest, HasNothingToDoWithTheNurseryOfItsUsers) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    {
      Nursery nursery;
      auto waits = nursery.spawn([&] { (void)channel.receiver.receive(); });
      await_parked(waits);
      nursery.cancel();
      EXPECT_TRUE(nursery.join());
    }
    EXPECT_FALSE(channel.sender.closed());
    Nursery nursery;
    auto receives = nursery.spawn([&] { return channel.receiver.receive(); });
    EXPECT_TRUE(channel.sender.send(3));
    EXPECT_EQ(receives.join().value(), 3);
    EXPECT_TRUE(nursery.join());
  });
}

// Whoever gives up, no value and no place is lost with him.
TEST_P(ChannelWaitTest, LosesNothingToWhoGivesUp) {
  at({kNone, 1, 2}, [](std::size_t capacity) {
    const int rounds = explored() ? 10 : 100;
    for (int round = 0; round < rounds; ++round) {
      auto channel = make<int>(capacity);
      std::atomic<int> sent{0};
      std::atomic<int> got{0};
      Nursery nursery;
      std::vector<Task<>> tasks;
      for (int i = 0; i < 4; ++i) {
        const auto when = Deadline::after(std::chrono::microseconds(round));
        tasks.push_back(nursery.spawn(
            [&, when] { sent += channel.sender.send(1, when).has_value(); }));
        tasks.push_back(nursery.spawn(
            [&, when] { got += channel.receiver.receive(when).has_value(); }));
      }
      tasks[1].cancel();
      tasks[6].cancel();
      (void)nursery.join();
      EXPECT_EQ(channel.sender.size(), static_cast<std::size_t>(sent - got));
      while (channel.receiver.try_receive()) ++got;
      ASSERT_EQ(got, sent);
    }
  });
}

// ---- Others

// R-CHAN-01
TEST_P(ChannelWaitTest, LetsOthersRunWhileItWaits) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    int count = 0;
    Nursery nursery;
    auto receives = nursery.spawn([&] { return channel.receiver.receive(); });
    auto counts = nursery.spawn([&] {
      for (int i = 0; i < 100; ++i) {
        ++count;
        this_fiber::yield();
      }
      EXPECT_TRUE(channel.sender.send(count));
    });
    EXPECT_EQ(receives.join().value(), 100);
    EXPECT_TRUE(counts.join());
    EXPECT_TRUE(nursery.join());
  });
}

// R-CHAN-02
TEST_P(ChannelWaitTest, ParksNobodyWhoNeedNotWait) {
  at_each_buffer([this](std::size_t capacity) {
    auto channel = make<int>(capacity);
    const auto before = parks();
    for (int round = 0; round < 50; ++round) {
      for (std::size_t i = 0; i < capacity; ++i) {
        EXPECT_TRUE(channel.sender.send(1));
      }
      for (std::size_t i = 0; i < capacity; ++i) {
        EXPECT_TRUE(channel.receiver.receive());
      }
    }
    EXPECT_EQ(parks(), before);
  });
}

// R-CHAN-10
TEST_P(ChannelWaitTest, ParksNobodyWhereNothingWillCome) {
  at_each_capacity([this](std::size_t capacity) {
    auto channel = make<int>(capacity);
    channel.sender.close();
    const auto before = parks();
    EXPECT_FALSE(channel.receiver.receive());
    EXPECT_FALSE(channel.receiver.receive(Deadline::after(1h)));
    EXPECT_FALSE(channel.sender.send(1));
    EXPECT_EQ(parks(), before);
  });
}

// ---- Threads

// R-CHBUF-01
TEST_P(ChannelWaitTest, ServesThreadsOnBothSides) {
  for (const std::size_t capacity : {0u, 1u, 2u, 128u}) {
    constexpr int kValues = 400;
    auto channel = make<int>(capacity);
    std::thread sends([sender = std::move(channel.sender)]() mutable {
      for (int i = 0; i < kValues; ++i) EXPECT_TRUE(sender.send(i));
    });
    EXPECT_EQ(take_all(channel.receiver), numbers(0, kValues));
    sends.join();
  }
}

// R-CHBUF-01
TEST_P(ChannelWaitTest, ServesThreadsAndFibersTogether) {
  for (const std::size_t capacity : {0u, 1u, 2u, 128u}) {
    constexpr int kValues = 200;
    auto channel = make<int>(capacity);
    std::atomic<int> got{0};
    const auto sends = [&] {
      for (int i = 0; i < kValues; ++i) EXPECT_TRUE(channel.sender.send(1));
    };
    const auto receives = [&] {
      for (int i = 0; i < kValues; ++i)
        got += channel.receiver.receive().value();
    };
    Nursery nursery(runtime());
    nursery.spawn(sends);
    nursery.spawn(receives);
    std::thread sender(sends);
    std::thread receiver(receives);
    sender.join();
    receiver.join();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(got, 2 * kValues);
    EXPECT_EQ(channel.sender.size(), 0u);
  }
}

}  // namespace
}  // namespace weft
