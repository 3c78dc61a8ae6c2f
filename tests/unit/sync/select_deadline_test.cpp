// select_deadline_test.cpp: how long a select waits, and whose deadline it was.

#include <gtest/gtest.h>

#include <chrono>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr auto kUnexpected = [](auto&&...) { ADD_FAILURE(); };

class SelectDeadlineTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SelectDeadlineTest,
                         ::testing::Values(1u, 2u));

// R-SEL-09: that of a scope stops the fiber, and is nobody's case: a loop of
// selects would go on for ever.
TEST_P(SelectDeadlineTest, TakesTheDeadlineOfAScopeForNoneOfItsOwn) {
  in_fiber([] {
    auto channel = make_channel<int>(1);
    const auto expect_stopped = [&] {
      const auto later = Deadline::after(1h);
      EXPECT_EQ(select(on_receive(channel.receiver, kUnexpected),
                       on_deadline(later, kUnexpected))
                    .error(),
                Errc::timed_out);
      EXPECT_EQ(select(on_deadline(later, kUnexpected)).error(),
                Errc::timed_out);
      EXPECT_EQ(select(on_deadline(later, kUnexpected), otherwise(kUnexpected))
                    .error(),
                Errc::timed_out);
      Selector selector(1);
      EXPECT_TRUE(selector.add(on_receive(channel.receiver, kUnexpected)));
      EXPECT_EQ(selector.wait(later).error(), Errc::timed_out);
    };
    {
      const CancelScope scope(Deadline::after(30us));
      expect_stopped();  // the first of them waited for it
    }
    Nursery nursery;
    (void)nursery.spawn({.deadline = Deadline::after(30us)}, expect_stopped)
        .join();
    (void)nursery.join();
    EXPECT_TRUE(select(on_deadline(Deadline::after(30us), [] {})));
  });
}

// The same while it waits for ops.
TEST_P(SelectDeadlineTest, TellsWhoseDeadlineItWasWhileItHasNoOps) {
  in_fiber([] {
    auto channel = make_channel<int>(1);
    Nursery nursery;
    auto child = nursery.spawn(
        {.budget = Budget{.ops = 0, .channel_ops = 4}}, [&channel] {
          int late = 0;
          EXPECT_EQ(select(on_receive(channel.receiver, kUnexpected),
                           on_deadline(Deadline::after(1us), [&] { ++late; }))
                        .value(),
                    1u);
          EXPECT_EQ(late, 1);
          const CancelScope scope(Deadline::after(30us));
          EXPECT_EQ(select(on_receive(channel.receiver, kUnexpected),
                           on_deadline(Deadline::after(1h), kUnexpected))
                        .error(),
                    Errc::timed_out);
        });
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
  });
}

// A loop that polls until then would go on for ever, too.
TEST_P(SelectDeadlineTest, PrefersADeadlineThatHasPassedToOtherwise) {
  in_fiber([] {
    auto channel = make_channel<int>(1);
    const auto passed = Deadline::after(-1s);
    int late = 0;
    int others = 0;
    const auto poll = [&](Deadline when) {
      return select(otherwise([&] { ++others; }),
                    on_receive(channel.receiver, [](Result<int>) {}),
                    on_deadline(when, [&] { ++late; }));
    };
    EXPECT_EQ(poll(Deadline::after(1h)).value(), 0u);
    EXPECT_EQ(poll(Deadline::never()).value(), 0u);
    EXPECT_EQ(poll(passed).value(), 2u);
    EXPECT_TRUE(channel.sender.send(1));
    EXPECT_EQ(poll(passed).value(), 1u);  // it is there
    EXPECT_EQ(late, 1);
    EXPECT_EQ(others, 2);
  });
}

}  // namespace
}  // namespace weft
