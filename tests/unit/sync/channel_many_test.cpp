// channel_many_test.cpp: several values at once, and one after the other.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <iterator>
#include <memory>
#include <stdexcept>
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

class ChannelManyTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ChannelManyTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

TEST_P(ChannelManyTest, SendsAllInOrder) {
  at_each_capacity([](std::size_t capacity) {
    for (const std::size_t count : {0u, 1u, 2u, 5u, 40u, 300u}) {
      auto channel = make<int>(capacity);
      Nursery nursery;
      nursery.spawn([&, count, sender = std::move(channel.sender)]() mutable {
        auto values = numbers(0, count);
        EXPECT_EQ(sender.send_many(values).value(), count);
      });
      EXPECT_EQ(take_all(channel.receiver), numbers(0, count));
      EXPECT_TRUE(nursery.join());
    }
  });
}

TEST_P(ChannelManyTest, SaysHowManyWentIn) {
  at_each_buffer([](std::size_t capacity) {
    auto channel = make<std::unique_ptr<int>>(capacity);
    std::vector<std::unique_ptr<int>> values;
    for (std::size_t i = 0; i < capacity + 2; ++i) {
      values.push_back(std::make_unique<int>(static_cast<int>(i)));
    }
    const auto expired = Deadline::after(-1s);
    EXPECT_EQ(channel.sender.send_many(values, expired).value(), capacity);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i] != nullptr, i >= capacity);
    }
    const auto rest = std::span(values).subspan(capacity);
    EXPECT_EQ(channel.sender.send_many(rest, expired).error(), Errc::timed_out);
    EXPECT_EQ(channel.sender.send_many(rest.first(0), expired).value(), 0u);
    channel.receiver.close(Errc::denied);
    EXPECT_EQ(channel.sender.send_many(rest).error(), Errc::denied);
    EXPECT_TRUE(rest[0]);
  });
}

TEST_P(ChannelManyTest, DropsWhatDoesNotGoIn) {
  at_each_buffer([](std::size_t capacity) {
    auto values = numbers(0, capacity + 3);
    auto newest = make<int>(capacity, OnFull::drop_newest);
    EXPECT_EQ(newest.sender.send_many(values).value(), capacity);
    auto oldest = make<int>(capacity, OnFull::drop_oldest);
    EXPECT_EQ(oldest.sender.send_many(values).value(), capacity + 3);
    EXPECT_EQ(oldest.sender.dropped(), 3u);
    EXPECT_EQ(oldest.receiver.receive().value(), 3);
  });
}

TEST_P(ChannelManyTest, ReceivesWhatIsThere) {
  at_each_buffer([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    fill(channel.sender);
    std::vector<int> got;
    const auto into = [&] { return std::back_inserter(got); };
    EXPECT_EQ(channel.receiver.receive_many(into(), 0).value(), 0u);
    EXPECT_EQ(channel.receiver.receive_many(into(), 1).value(), 1u);
    if (capacity > 1) {
      EXPECT_EQ(channel.receiver.receive_many(into(), 1000).value(),
                capacity - 1);
    }
    EXPECT_EQ(got, numbers(0, capacity));
    const auto none =
        channel.receiver.receive_many(into(), 9, Deadline::after(-1s));
    EXPECT_EQ(none.error(), Errc::timed_out);
    channel.sender.close(Errc::denied);
    EXPECT_EQ(channel.receiver.receive_many(into(), 9).error(), Errc::denied);
  });
}

// What waits outside is there as well.
TEST_P(ChannelManyTest, ReceivesOfWhoWaitsToo) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    const auto inside = fill(channel.sender);
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      await_parked(nursery.spawn([&, i] {
        EXPECT_TRUE(channel.sender.send(static_cast<int>(inside) + i));
      }));
    }
    std::vector<int> got(capacity + 3);
    EXPECT_EQ(channel.receiver.receive_many(got.begin(), 1000).value(),
              capacity + 3);
    EXPECT_EQ(got, numbers(0, capacity + 3));
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ChannelManyTest, WaitsForTheFirst) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    Nursery nursery;
    auto receives = nursery.spawn([&] {
      std::vector<int> got(4);
      EXPECT_EQ(channel.receiver.receive_many(got.begin(), 4).value(), 1u);
      return got[0];
    });
    await_parked(receives);
    EXPECT_TRUE(channel.sender.send(8));
    EXPECT_EQ(receives.join().value(), 8);
    EXPECT_TRUE(nursery.join());
  });
}

// Large values take the place of one on the stack, not of several.
TEST_P(ChannelManyTest, ReceivesLargeValuesOnASmallStack) {
  at({kNone, 1, 3}, [](std::size_t capacity) {
    struct Large {
      std::array<char, 24 << 10> bytes;
    };
    auto channel = make<Large>(capacity);
    const auto large = std::make_unique<Large>();
    std::vector<Large> got(5);
    Nursery nursery;
    nursery.spawn(SpawnOptions{.stack_size = StackSize{64 << 10}}, [&] {
      std::size_t count = 0;
      while (count < got.size()) {
        const auto more = channel.receiver.receive_many(
            got.begin() + static_cast<std::ptrdiff_t>(count),
            got.size() - count);
        ASSERT_TRUE(more);
        count += *more;
      }
    });
    for (std::size_t i = 0; i < got.size(); ++i) {
      large->bytes.fill(static_cast<char>('a' + i));
      EXPECT_TRUE(channel.sender.send(std::move(*large)));
    }
    EXPECT_TRUE(nursery.join());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].bytes.back(), static_cast<char>('a' + i));
    }
  });
}

// A value that is counted as long as it is one.
struct CountedAlive {
  CountedAlive() { ++live; }
  CountedAlive(CountedAlive&&) noexcept { ++live; }
  ~CountedAlive() { --live; }
  static inline std::atomic<int> live{0};
};

// Takes one, and throws at the next.
struct Full {
  using iterator_category = std::output_iterator_tag;
  using difference_type = std::ptrdiff_t;
  Full& operator*() { return *this; }
  Full& operator++() { return *this; }
  Full& operator++(int) { return *this; }
  Full& operator=(CountedAlive&&) {
    if (--*room < 0) throw std::length_error("full");
    return *this;
  }
  int* room;
};

TEST_P(ChannelManyTest, DestroysWhatCouldNotBeWritten) {
  at({kNone, 1, 3}, [](std::size_t capacity) {
    auto channel = make<CountedAlive>(capacity);
    Nursery nursery;
    for (int i = 0; i < 5; ++i) {
      const auto sends = nursery.spawn(
          [&] { EXPECT_TRUE(channel.sender.send(CountedAlive())); });
      while (!sends.done() && sends.state() != FiberState::parked) {
        this_fiber::yield();
      }
    }
    int room = 1;
    EXPECT_THROW((void)channel.receiver.receive_many(Full{&room}, 5),
                 std::length_error);
    while (channel.receiver.try_receive()) {
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(CountedAlive::live, 0);
  });
}

// A cancel point, also where it need not wait.
TEST_P(ChannelManyTest, IsRefusedToACancelledFiber) {
  at_each_buffer([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    auto values = numbers(0, capacity);
    as_cancelled([&] {
      EXPECT_EQ(channel.sender.send_many(values).error(), Errc::cancelled);
    });
    EXPECT_EQ(channel.sender.size(), 0u);
    fill(channel.sender);
    as_cancelled([&] {
      EXPECT_EQ(channel.receiver.receive_many(values.begin(), 2).error(),
                Errc::cancelled);
    });
    EXPECT_EQ(channel.receiver.size(), capacity);
  });
}

// ---- One after the other

TEST_P(ChannelManyTest, IteratesUntilItIsClosed) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<std::unique_ptr<int>>(capacity);
    Nursery nursery;
    nursery.spawn([&] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(channel.sender.send(std::make_unique<int>(i)));
      }
      channel.sender.close();
    });
    int next = 0;
    for (auto& value : channel.receiver) {
      const auto mine = std::move(value);
      EXPECT_EQ(*mine, next++);
    }
    EXPECT_EQ(next, 20);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ChannelManyTest, TellsWhyThereIsNoMore) {
  at_each_buffer([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    fill(channel.sender);
    std::size_t count = 0;
    Status end;
    for (const int value : channel.receiver.each(end, Deadline::after(-1s))) {
      EXPECT_EQ(value, static_cast<int>(count++));
    }
    EXPECT_EQ(count, capacity);
    EXPECT_EQ(end.error(), Errc::timed_out);
    fill(channel.sender);
    channel.sender.close(Error::user(12));
    for (const int value : channel.receiver.each(end)) {
      count -= value >= 0 ? 1 : 0;
    }
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(end.error(), Error::user(12));
    as_cancelled([&] {
      for (const int value : channel.receiver.each(end)) FAIL() << value;
      EXPECT_EQ(end.error(), Errc::cancelled);
    });
  });
}

}  // namespace
}  // namespace weft
