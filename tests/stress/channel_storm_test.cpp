// channel_storm_test.cpp: channels between fibers and threads that really run
// at the same time: what was sent is received, once, in order.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "base/rng.hpp"
#include "stress/scale.hpp"
#include "support/channel_test.hpp"
#include "unit/sync/recorded_channel.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::scaled;

class ChannelStormTest : public test::ChannelsTest {
 protected:
  static int rounds(int plain) {  // fewer where they are simulated
    return scaled(explored() ? (plain + 19) / 20 : plain);
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, ChannelStormTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// Who sent it, and as which of his.
struct Item {
  std::uint32_t sender = 0;
  std::uint32_t number = 0;
};

// What came of one channel, checked.
class Ledger {
 public:
  explicit Ledger(std::size_t senders) : sent_(senders) {}

  void sent(std::size_t sender) { ++sent_[sender]; }
  // One receiver's view: numbers of each sender only grow.
  class Reader {
   public:
    explicit Reader(Ledger& ledger) : ledger_(ledger), next_(ledger.size()) {}
    void got(const Item& item) {
      EXPECT_GE(item.number, next_[item.sender]);
      next_[item.sender] = item.number + 1;
      ++ledger_.received_;
    }

   private:
    Ledger& ledger_;
    std::vector<std::uint32_t> next_;
  };
  std::size_t size() const { return sent_.size(); }
  void expect_even() const {
    std::uint64_t all = 0;
    for (const auto& sent : sent_) all += sent;
    EXPECT_EQ(received_, all);
  }

 private:
  std::vector<std::atomic<std::uint64_t>> sent_;
  std::atomic<std::uint64_t> received_{0};
};

Deadline any_deadline(base::Rng& rng) {
  return rng.below(4) != 0
             ? Deadline::never()
             : Deadline::after(std::chrono::microseconds(rng.below(30)));
}

// Sends in all ways until the channel is closed, or so many.
void send_some(Sender<Item> to, Ledger& ledger, std::uint32_t me, int count) {
  base::Rng rng(me);
  std::uint32_t number = 0;
  for (int i = 0; i < count; ++i) {
    Item item{me, number};
    Status end;
    switch (rng.below(4)) {
      case 0:
        end = to.try_send(item);
        break;
      case 1: {
        const auto chosen = select(
            on_send(to, std::move(item), [&](Status sent) { end = sent; }),
            on_deadline(any_deadline(rng), [&] { end = Errc::timed_out; }));
        if (!chosen) end = chosen.error();
        break;
      }
      default:
        end = to.send(item, any_deadline(rng));
    }
    if (end) {
      ledger.sent(me);
      ++number;
    } else if (end.error() == Errc::cancelled || end.error() == Errc::closed) {
      return;
    }
    if (rng.below(32) == 0) this_fiber::yield();
  }
}

void receive_some(Receiver<Item> from, Receiver<Item> also, Ledger& ledger,
                  std::uint64_t seed) {
  base::Rng rng(seed);
  Ledger::Reader reader(ledger);
  bool over = false;
  const auto take = [&](Result<Item> item) {
    if (item) reader.got(*item);
    over |= !item && item.error() == Errc::closed;
  };
  while (!over) {
    switch (rng.below(5)) {
      case 0:
        take(from.try_receive());
        break;
      case 1: {
        const auto end = select(on_receive(from, take),
                                on_receive(also, [](Result<Item>) { FAIL(); }),
                                on_deadline(any_deadline(rng), [] {}));
        if (!end) return;  // cancelled
        break;
      }
      case 2: {
        Item items[8];
        const auto end = from.receive_many(items, 8, any_deadline(rng));
        for (std::size_t i = 0; end && i < *end; ++i) reader.got(items[i]);
        over |= !end && end.error() == Errc::closed;
        if (!end && end.error() == Errc::cancelled) return;
        break;
      }
      default: {
        auto item = from.receive(any_deadline(rng));
        if (!item && item.error() == Errc::cancelled) return;
        take(std::move(item));
      }
    }
  }
}

// R-MEMORD-08 R-CHAN-08: closed at any moment, by hand or by the last to go.
TEST_P(ChannelStormTest, ReceivesWhatWasSentHoweverItEnds) {
  const int storms = rounds(24);
  base::Rng rng(5);
  for (int storm = 0; storm < storms; ++storm) {
    for (const std::size_t capacity : {0u, 1u, 2u, 128u}) {
      constexpr std::uint32_t kSenders = 5;
      auto channel = make<Item>(capacity);
      auto silent = make<Item>(1);
      Ledger ledger(kSenders);
      const auto after = rng.below(4) == 0 ? 0 : rng.below(300);
      std::thread receives;
      {
        Nursery nursery(runtime());
        std::vector<Task<>> tasks;
        std::thread sends([&] { send_some(channel.sender, ledger, 0, 100); });
        for (std::uint32_t i = 1; i < kSenders; ++i) {
          tasks.push_back(nursery.spawn(send_some, channel.sender,
                                        std::ref(ledger), i, 100));
        }
        Nursery readers(runtime());
        receives = std::thread([&] {
          receive_some(channel.receiver, silent.receiver, ledger, 9);
        });
        for (std::uint64_t i = 0; i < 2; ++i) {
          auto reader =
              readers.spawn(receive_some, channel.receiver, silent.receiver,
                            std::ref(ledger), 20 + i);
          if (i == 0 && storm % 3 == 0) reader.cancel();
        }
        if (storm % 4 == 1) tasks[0].cancel();
        if (after != 0) {
          for (std::uint64_t i = 0; i < after; ++i) std::this_thread::yield();
          channel.sender.close();
        }
        sends.join();
        EXPECT_TRUE(nursery.join());
        channel.sender.close();
        EXPECT_TRUE(readers.join());
      }
      receives.join();
      ledger.expect_even();
    }
  }
}

// The receiver goes: every sender hears of it, and nothing leaks.
TEST_P(ChannelStormTest, LetsEverybodyGoWhenTheReceiverDoes) {
  const int storms = rounds(200);
  for (int storm = 0; storm < storms; ++storm) {
    const auto capacity = static_cast<std::size_t>(storm % 4);
    auto channel = make<std::unique_ptr<int>>(capacity);
    Nursery nursery(runtime());
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([sender = channel.sender]() mutable {
        auto value = std::make_unique<int>(1);
        while (sender.send(std::move(value))) value = std::make_unique<int>(2);
        EXPECT_TRUE(value);
      });
    }
    channel.sender = {};
    nursery.spawn([storm, receiver = std::move(channel.receiver)]() mutable {
      for (int i = 0; i < storm % 50; ++i) EXPECT_TRUE(receiver.receive());
    });
    EXPECT_TRUE(nursery.join());
  }
}

// Short races of threads, checked against a sequential channel: R-CHAN-09.
TEST_P(ChannelStormTest, AnswersThreadsAsASequentialChannelWould) {
  const int storms = rounds(300);
  base::Rng rng(3);
  for (int storm = 0; storm < storms; ++storm) {
    constexpr OnFull kOnFull[] = {OnFull::wait, OnFull::drop_newest,
                                  OnFull::drop_oldest};
    test::RecordedChannel channel(static_cast<std::size_t>(storm % 3),
                                  lock_free(), kOnFull[storm / 3 % 3]);
    const auto run = [&channel](std::uint64_t seed) {
      base::Rng mine(seed);
      for (int i = 0; i < 4; ++i) {
        const int value = static_cast<int>(seed % 1000) * 4 + i;
        const auto soon = Deadline::after(std::chrono::microseconds(5));
        switch (mine.below(9)) {
          case 0:
          case 1:
          case 2:
            (void)channel.send(value, soon);
            break;
          case 3:
            (void)channel.try_send(value);
            break;
          case 4:
            channel.close();
            break;
          case 5:
            (void)channel.try_receive();
            break;
          default:
            (void)channel.receive(soon);
        }
      }
    };
    const auto seed = rng.below(1'000'000) * 3;
    Nursery nursery(runtime());
    nursery.spawn([&] { run(seed); });
    nursery.spawn([&] { run(seed + 1); });
    std::thread third([&] { run(seed + 2); });
    third.join();
    EXPECT_TRUE(nursery.join());
    ASSERT_EQ(channel.why_not_linearizable(), "") << seed;
  }
}

// A channel that drops: each value that was sent is received, or counted.
TEST_P(ChannelStormTest, CountsWhatItDrops) {
  const int items = rounds(4'000);
  for (const auto on_full : {OnFull::drop_newest, OnFull::drop_oldest}) {
    for (const std::size_t capacity : {0u, 1u, 2u, 128u}) {
      auto channel = make<std::unique_ptr<int>>(capacity, on_full);
      std::atomic<std::uint64_t> sent{0};
      std::atomic<std::uint64_t> refused{0};
      std::atomic<std::uint64_t> got{0};
      const auto sends = [&, sender = channel.sender]() mutable {
        for (int i = 0; i < items; ++i) {
          auto value = std::make_unique<int>(i);
          Status end;
          if (i % 4 == 0) {
            EXPECT_TRUE(select(on_send(sender, std::move(value),
                                       [&](Status how) { end = how; })));
          } else {
            end = sender.send(std::move(value));
          }
          EXPECT_EQ(value == nullptr, end.has_value());
          EXPECT_TRUE(end || end.error() == Errc::would_block);
          ++(end ? sent : refused);
          if (i % 16 == 0) this_fiber::yield();
        }
      };
      const auto receives = [&, receiver = channel.receiver]() mutable {
        for (const auto& value : receiver) got += value != nullptr;
      };
      Nursery readers(runtime());
      readers.spawn(receives);
      std::thread reader(receives);
      Nursery writers(runtime());
      for (int i = 0; i < 2; ++i) writers.spawn(sends);
      std::thread writer(sends);
      writer.join();
      EXPECT_TRUE(writers.join());
      channel.sender.close();
      reader.join();
      EXPECT_TRUE(readers.join());
      const bool oldest = on_full == OnFull::drop_oldest && capacity != 0;
      EXPECT_EQ(got + (oldest ? channel.sender.dropped() : 0), sent);
      EXPECT_EQ(oldest ? 0 : channel.sender.dropped(), refused);
    }
  }
}

// Selects at both ends of several channels, and no value is lost.
TEST_P(ChannelStormTest, SelectsOfThreadsAndFibersLoseNothing) {
  const int items = rounds(3'000);
  constexpr std::size_t kChannels = 3;
  for (const std::size_t capacity : {0u, 1u, 8u}) {
    std::vector<Channel<int>> channels;
    for (std::size_t i = 0; i < kChannels; ++i) {
      channels.push_back(make<int>(capacity));
    }
    std::atomic<int> got{0};
    const auto sends = [&] {
      for (int i = 0; i < items; ++i) {
        ASSERT_TRUE(select(on_send(channels[0].sender, 1, [] {}),
                           on_send(channels[1].sender, 1, [] {}),
                           on_send(channels[2].sender, 1, [] {})));
      }
    };
    const auto receives = [&] {
      const auto take = [&](Result<int> value) { got += value.value(); };
      for (int i = 0; i < items; ++i) {
        ASSERT_TRUE(select(on_receive(channels[2].receiver, take),
                           on_receive(channels[0].receiver, take),
                           on_receive(channels[1].receiver, take)));
      }
    };
    Nursery nursery(runtime());
    nursery.spawn(sends);
    nursery.spawn(receives);
    std::thread sender(sends);
    std::thread receiver(receives);
    sender.join();
    receiver.join();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(got, 2 * items);
    for (auto& channel : channels) EXPECT_EQ(channel.sender.size(), 0u);
  }
}

// B-05 B-06: a thread and a fiber, by turns.
TEST_P(ChannelStormTest, PingPongOfAThreadAndAFiberNeverStops) {
  const int turns = rounds(5'000);
  for (const std::size_t capacity : {0u, 1u}) {
    auto there = make<int>(capacity);
    auto back = make<int>(capacity);
    Nursery nursery(runtime());
    nursery.spawn([&] {
      for (int i = 0; i < turns; ++i) {
        ASSERT_EQ(there.receiver.receive().value(), i);
        ASSERT_TRUE(back.sender.send(i));
      }
    });
    for (int i = 0; i < turns; ++i) {
      ASSERT_TRUE(there.sender.send(i));
      auto got = back.receiver.receive(
          Deadline::after(std::chrono::microseconds(i % 40)));
      if (!got) got = back.receiver.receive();
      ASSERT_EQ(got.value(), i);
    }
    EXPECT_TRUE(nursery.join());
  }
}

// Handles come and go with their fibers; the last one closes.
TEST_P(ChannelStormTest, ClosesOnceWhenAllHandlesGo) {
  const int storms = rounds(1'500);
  for (int storm = 0; storm < storms; ++storm) {
    auto channel =
        make<std::unique_ptr<int>>(static_cast<std::size_t>(storm % 3));
    Nursery nursery(runtime());
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([sender = channel.sender]() mutable {
        (void)sender.try_send(std::make_unique<int>(1));
      });
      nursery.spawn([receiver = channel.receiver]() mutable {
        auto copy = receiver;
        (void)copy.try_receive();
      });
    }
    channel = {};
    EXPECT_TRUE(nursery.join());
  }
}

}  // namespace
}  // namespace weft
