// B-28: the reason of a close was told to the wrong side, or was lost on the
// way of a dozen calls.

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "support/channel_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;

class CloseReasonTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, CloseReasonTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

using Ask = Error (*)(Channel<int>&);

// Every way to send, and to receive.
const std::vector<Ask> kSends = {
    [](Channel<int>& channel) { return channel.sender.send(1).error(); },
    [](Channel<int>& channel) {
      const auto later = Deadline::after(std::chrono::hours(1));
      return channel.sender.send(1, later).error();
    },
    [](Channel<int>& channel) {
      int values[2] = {1, 2};
      return channel.sender.send_many(values).error();
    },
    [](Channel<int>& channel) {
      Error told = Errc{};
      EXPECT_TRUE(select(
          on_send(channel.sender, 1, [&](Status end) { told = end.error(); })));
      return told;
    },
};
const std::vector<Ask> kReceives = {
    [](Channel<int>& channel) { return channel.receiver.receive().error(); },
    [](Channel<int>& channel) {
      const auto later = Deadline::after(std::chrono::hours(1));
      return channel.receiver.receive(later).error();
    },
    [](Channel<int>& channel) {
      int values[2] = {};
      return channel.receiver.receive_many(values, 2).error();
    },
    [](Channel<int>& channel) {
      Error told = Errc{};
      EXPECT_TRUE(select(on_receive(
          channel.receiver, [&](Result<int> end) { told = end.error(); })));
      return told;
    },
    [](Channel<int>& channel) {
      Status end;
      for (const int value : channel.receiver.each(end)) ADD_FAILURE() << value;
      return end.error();
    },
};

// Asks after the close, and while it waits for it.
void expect_told(const std::vector<Ask>& asks, std::size_t capacity,
                 bool lock_free, bool by_sender, bool fill, Error expected) {
  const auto close = [&](Channel<int>& channel) {
    if (by_sender) {
      channel.sender.close(Error::user(77));
    } else {
      channel.receiver.close(Error::user(77));
    }
  };
  for (const Ask ask : asks) {
    for (const bool waits : {false, true}) {
      auto channel = make_channel<int>(capacity, {.lock_free = lock_free});
      if (fill) (void)test::fill(channel.sender);
      Nursery nursery;
      std::optional<Error> told;
      auto asked = nursery.spawn([&] {
        if (!waits) close(channel);
        told = ask(channel);
      });
      if (waits) {
        await_parked(asked);
        close(channel);
      }
      ASSERT_TRUE(asked.join());
      EXPECT_EQ(told, expected);
      EXPECT_TRUE(nursery.join());
    }
  }
}

TEST_P(CloseReasonTest, IsToldToTheOtherSideByEveryCall) {
  at({0, 1, 2}, [](std::size_t capacity) {
    const bool free = lock_free();
    expect_told(kSends, capacity, free, false, true, Error::user(77));
    expect_told(kReceives, capacity, free, true, false, Error::user(77));
    expect_told(kReceives, capacity, free, false, false, Errc::closed);
    // A sender who waits when its own side closes is let in: C-12.
    if (capacity == 0) {
      expect_told(kSends, capacity, free, true, true, Errc::closed);
    }
  });
}

}  // namespace
}  // namespace weft
