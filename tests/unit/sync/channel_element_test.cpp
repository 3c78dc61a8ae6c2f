// channel_element_test.cpp: what can go through a channel.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "support/channel_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;

class ChannelElementTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ChannelElementTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// So many words that depend on each other, and nothing else.
template <std::size_t Words, std::size_t Align = 8>
struct alignas(Align) Checked {
  std::array<std::uint64_t, Words> words;

  explicit Checked(std::uint64_t seed = 0) {
    for (auto& word : words) word = seed = seed * 0x5DEECE66Du + 11;
  }
  bool is(std::uint64_t seed) const {
    return words == Checked(seed).words &&
           reinterpret_cast<std::uintptr_t>(this) % Align == 0;
  }
};

// B-29: fibers send, by way of the buffer, of who waits, and of a close.
template <typename T, typename Make>
void expect_sound(Make make, std::size_t capacity) {
  constexpr std::uint64_t kValues = 70;
  Channel<T> channel = make(capacity);
  Nursery nursery;
  nursery.spawn([sender = std::move(channel.sender)]() mutable {
    for (std::uint64_t i = 0; i < kValues; ++i) {
      EXPECT_TRUE(sender.send(T(i)));
      if (i % 7 == 0) this_fiber::yield();
    }
  });
  for (std::uint64_t i = 0; i < kValues; ++i) {
    auto got = channel.receiver.receive();
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->is(i));
    if (i % 11 == 0) this_fiber::yield();
  }
  EXPECT_TRUE(nursery.join());

  channel = make(capacity);
  std::uint64_t next = 0;
  while (channel.sender.try_send(T(next))) ++next;
  const auto late = next + (capacity != 0 ? 3 : 0);
  Nursery late_senders;
  for (std::uint64_t i = next; i < late; ++i) {
    await_parked(
        late_senders.spawn([&, i] { EXPECT_TRUE(channel.sender.send(T(i))); }));
  }
  channel.sender.close();
  EXPECT_TRUE(late_senders.join());
  for (std::uint64_t i = 0; i < late; ++i) {
    EXPECT_TRUE(channel.receiver.receive().value().is(i));
  }
  EXPECT_FALSE(channel.receiver.receive());
}

// B-29
TEST_P(ChannelElementTest, MayBeOfAnySizeAndAlignment) {
  at_each_capacity([](std::size_t capacity) {
    const auto sound = [&]<typename T>(T) {
      expect_sound<T>([](std::size_t n) { return make<T>(n); }, capacity);
    };
    sound(Checked<1>());
    sound(Checked<2>());
    sound(Checked<16>());  // 128 bytes
    sound(Checked<17>());
    sound(Checked<8, 64>());
    sound(Checked<24, 64>());
    sound(Checked<512>());
    sound(Checked<16, 128>());
  });
}

struct Small {
  std::uint8_t byte;
  explicit Small(std::uint64_t seed) : byte(static_cast<std::uint8_t>(seed)) {}
  bool is(std::uint64_t seed) const { return byte == (seed & 255); }
};

TEST_P(ChannelElementTest, MayBeOneByteThatHasNoDefault) {
  at_each_capacity([](std::size_t capacity) {
    expect_sound<Small>([](std::size_t n) { return make<Small>(n); }, capacity);
  });
}

TEST_P(ChannelElementTest, MayBeMoveOnly) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<std::unique_ptr<std::string>>(capacity);
    Nursery nursery;
    nursery.spawn([&] {
      for (int i = 0; i < 50; ++i) {
        auto text = std::make_unique<std::string>(40, 'a');
        *text += std::to_string(i);
        EXPECT_TRUE(channel.sender.send(std::move(text)));
        EXPECT_FALSE(text);
      }
      channel.sender.close();
    });
    int next = 0;
    for (auto& text : channel.receiver) {
      EXPECT_EQ(*text, std::string(40, 'a') + std::to_string(next++));
    }
    EXPECT_EQ(next, 50);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ChannelElementTest, IsCopiedIfItIsNotMoved) {
  at_each_buffer([](std::size_t capacity) {
    auto channel = make<std::string>(capacity);
    const std::string text(60, 'b');
    EXPECT_TRUE(channel.sender.send(text));
    EXPECT_EQ(channel.receiver.receive().value(), text);
    EXPECT_TRUE(channel.sender.try_send(text));
    EXPECT_EQ(channel.receiver.try_receive().value(), text);
    EXPECT_EQ(text, std::string(60, 'b'));
  });
}

// What was sent is an error: not one of the channel.
TEST_P(ChannelElementTest, MayBeAResult) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<Result<int>>(capacity);
    Nursery nursery;
    nursery.spawn([&] {
      EXPECT_TRUE(channel.sender.send(Result<int>(4)));
      EXPECT_TRUE(channel.sender.send(Result<int>(Errc::denied)));
      EXPECT_TRUE(channel.sender.send(Result<int>(Errc::closed)));
      channel.sender.close(Errc::failed);
    });
    Result<Result<int>> got = channel.receiver.receive();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->value(), 4);
    got = channel.receiver.receive();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error(), Errc::denied);
    got = channel.receiver.receive();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error(), Errc::closed);
    got = channel.receiver.receive();
    EXPECT_FALSE(got);
    EXPECT_EQ(got.error(), Errc::failed);
    auto status = make<Status>(1);
    EXPECT_TRUE(status.sender.send(Status(Errc::denied)));
    EXPECT_EQ(status.receiver.receive().value().error(), Errc::denied);
    EXPECT_TRUE(nursery.join());
  });
}

struct Request {
  int number;
  Sender<int> reply;
};

// Also what is never received is answered: its channel closes.
TEST_P(ChannelElementTest, MayHoldASenderOfAnotherChannel) {
  at_each_capacity([](std::size_t capacity) {
    auto requests = make<Request>(capacity);
    Nursery nursery;
    auto server = nursery.spawn([&] {
      for (int i = 0; i < 10; ++i) {
        auto request = requests.receiver.receive();
        ASSERT_TRUE(request);
        EXPECT_TRUE(request->reply.send(2 * request->number));
      }
    });
    for (int i = 0; i < 10; ++i) {
      auto answer = make<int>(1);
      EXPECT_TRUE(requests.sender.send({i, std::move(answer.sender)}));
      EXPECT_EQ(answer.receiver.receive().value(), 2 * i);
      EXPECT_EQ(answer.receiver.receive().error(), Errc::closed);
    }
    EXPECT_TRUE(server.join());
    auto unanswered = make<int>(1);
    if (capacity == 0) return;
    EXPECT_TRUE(requests.sender.send({1, std::move(unanswered.sender)}));
    EXPECT_FALSE(unanswered.receiver.closed());
    requests.receiver.close();
    EXPECT_EQ(unanswered.receiver.receive().error(), Errc::closed);
    EXPECT_TRUE(nursery.join());
  });
}

// A channel that goes with channels in it that go with it.
TEST_P(ChannelElementTest, MayBeTheEndOfAChain) {
  at_each_buffer([](std::size_t) {
    struct Link {
      std::unique_ptr<Channel<Link>> next;
      int* gone = nullptr;
      Link() = default;
      Link(Link&& other) noexcept
          : next(std::move(other.next)),
            gone(std::exchange(other.gone, nullptr)) {}
      ~Link() {
        if (gone != nullptr) ++*gone;
      }
    };
    int gone = 0;
    {
      auto chain = std::make_unique<Channel<Link>>(make<Link>(1));
      for (int i = 0; i < 20; ++i) {
        auto outer = std::make_unique<Channel<Link>>(make<Link>(1));
        Link link;
        link.next = std::move(chain);
        link.gone = &gone;
        EXPECT_TRUE(outer->sender.send(std::move(link)));
        chain = std::move(outer);
      }
      EXPECT_EQ(gone, 0);
    }
    EXPECT_EQ(gone, 20);
  });
}

// Waits while it is moved.
struct Gated {
  Event* gate;

  explicit Gated(Event& opens) : gate(&opens) {}
  Gated(Gated&& from) noexcept : gate(from.gate) { EXPECT_TRUE(gate->wait()); }
  ~Gated() = default;
};

// Whose wait was ended already, and who is to run next, is woken by whoever the
// sender is then: it may have come to another worker.
TEST_P(ChannelElementTest, MayWaitWhileItIsHandedOver) {
  at_each_capacity([](std::size_t capacity) {
    for (int round = 0; round < 20; ++round) {
      auto channel = make<Gated>(capacity);
      Event gate;
      int got = 0;
      Nursery nursery;
      auto receiver = nursery.spawn([&] {
        auto value = channel.receiver.receive();
        EXPECT_TRUE(value);
        ++got;
      });
      await_parked(receiver);
      auto sender =
          nursery.spawn([&] { EXPECT_TRUE(channel.sender.send(Gated(gate))); });
      await_parked(sender);
      nursery.spawn([&] {
        const this_fiber::Pin here;
        gate.set();
        this_fiber::yield();
      });
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(got, 1);
    }
  });
}

}  // namespace
}  // namespace weft
