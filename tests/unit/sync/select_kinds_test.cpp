// select_kinds_test.cpp: all that a select can wait for, besides channels.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "support/channel_test.hpp"
#include "support/gate.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::Gate;
using test::kIgnore;
using test::kNothing;
using test::WorkersTest;
using namespace std::chrono_literals;

class SelectKindsTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SelectKindsTest, ::testing::Values(1u, 2u));

// ---- Deadline, otherwise

// R-SEL-09
TEST_P(SelectKindsTest, ChoosesOtherwiseIfNothingIsReady) {
  in_fiber([] {
    auto channel = make_channel<int>(1);
    bool ran = false;
    EXPECT_EQ(select(on_receive(channel.receiver, kIgnore),
                     otherwise([&] { ran = true; }))
                  .value(),
              1u);
    EXPECT_TRUE(ran);
    EXPECT_EQ(select(otherwise(kNothing)).value(), 0u);
    EXPECT_TRUE(channel.sender.send(1));
    EXPECT_EQ(
        select(otherwise([] { FAIL(); }), on_receive(channel.receiver, kIgnore))
            .value(),
        1u);
    Error why = Errc{};
    EXPECT_TRUE(select(otherwise([&](Status end) { why = end.error(); })));
    EXPECT_EQ(why, Errc::would_block);
  });
}

// R-SEL-09
TEST_P(SelectKindsTest, EndsAtItsDeadline) {
  in_fiber([] {
    auto channel = make_channel<int>(1);
    for (const auto delay : {-1'000'000us, 30us}) {
      int late = 0;
      EXPECT_EQ(select(on_receive(channel.receiver, kIgnore),
                       on_deadline(Deadline::after(1h), [] { FAIL(); }),
                       on_deadline(Deadline::after(delay), [&] { ++late; }))
                    .value(),
                2u);
      EXPECT_EQ(late, 1);
    }
    EXPECT_TRUE(channel.sender.send(1));
    EXPECT_EQ(select(on_deadline(Deadline::after(-1s), [] { FAIL(); }),
                     on_receive(channel.receiver, kIgnore))
                  .value(),
              1u);
    EXPECT_EQ(channel.receiver.size(), 0u);
  });
}

// Nothing else to wait for: a sleep.
TEST_P(SelectKindsTest, WaitsForADeadlineAlone) {
  in_fiber([] {
    for (const auto delay : {-1'000'000us, 30us}) {
      const auto when = Deadline::after(delay);
      Error why = Errc{};
      EXPECT_EQ(
          select(on_deadline(when, [&](Status end) { why = end.error(); }))
              .value(),
          0u);
      EXPECT_EQ(why, Errc::timed_out);
      EXPECT_TRUE(when.expired());
    }
  });
}

// ---- Events, sequencers, futures, tasks

TEST_P(SelectKindsTest, WaitsForEvents) {
  in_fiber([] {
    Event one;
    Event other;
    int calls = 0;
    const auto wait = [&] {
      return select(on_event(one, [&] { calls += 1; }),
                    on_event(other, [&](Status end) {
                      EXPECT_TRUE(end);
                      calls += 10;
                    }));
    };
    Nursery nursery;
    auto waits = nursery.spawn(wait);
    await_parked(waits);
    other.set();
    EXPECT_EQ(waits.join().value(), 1u);
    EXPECT_EQ(wait().value(), 1u);
    other.reset();
    one.set();
    EXPECT_EQ(wait().value(), 0u);
    EXPECT_EQ(calls, 21);
    one.reset();
    auto again = nursery.spawn(wait);
    await_parked(again);
    one.set();
    EXPECT_EQ(again.join().value(), 0u);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SelectKindsTest, WaitsForASequencerToReachAToken) {
  in_fiber([] {
    Sequencer sequencer;
    const auto wait = [&] {
      return select(on_reached(sequencer, 5, kNothing),
                    on_reached(sequencer, 3, kNothing));
    };
    Nursery nursery;
    auto waits = nursery.spawn(wait);
    await_parked(waits);
    sequencer.advance(2);
    for (int i = 0; i < 10; ++i) this_fiber::yield();
    EXPECT_FALSE(waits.done());
    sequencer.increment();
    EXPECT_EQ(waits.join().value(), 1u);
    EXPECT_EQ(wait().value(), 1u);
    EXPECT_EQ(select(on_reached(sequencer, 4, kNothing),
                     on_deadline(Deadline::after(-1s), kNothing))
                  .value(),
              1u);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SelectKindsTest, WaitsForFuturesAndTakesTheValue) {
  in_fiber([] {
    Future<int> number;
    Future<> done;
    int got = 0;
    const auto wait = [&] {
      return select(
          on_set(number, [&](Result<int> value) { got = value.value(); }),
          on_set(done, kNothing));
    };
    Nursery nursery;
    auto waits = nursery.spawn(wait);
    await_parked(waits);
    number.set(8);
    EXPECT_EQ(waits.join().value(), 0u);
    EXPECT_EQ(got, 8);
    number.reset();
    done.set();
    EXPECT_EQ(wait().value(), 1u);
    Future<int> failed;
    failed.set(Errc::denied);
    Error why = Errc{};
    EXPECT_TRUE(select(on_set(failed, [&](auto end) { why = end.error(); })));
    EXPECT_EQ(why, Errc::denied);
    // Nobody is left at the one that lost.
    EXPECT_EQ(number.wait(Deadline::after(-1s)).error(), Errc::timed_out);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SelectKindsTest, WaitsForTasksAndJoinsThem) {
  in_fiber([] {
    Event go;
    Nursery nursery;
    auto slow = nursery.spawn([&] { EXPECT_TRUE(go.wait()); });
    auto quick = nursery.spawn([] {
      this_fiber::yield();
      return 4;
    });
    int got = 0;
    const auto first =
        select(on_done(slow, kNothing),
               on_done(quick, [&](Result<int> end) { got = end.value(); }));
    EXPECT_EQ(first.value(), 1u);
    EXPECT_EQ(got, 4);
    EXPECT_FALSE(quick);  // joined
    EXPECT_EQ(select(on_done(slow, kNothing),
                     on_deadline(Deadline::after(10us), kNothing))
                  .value(),
              1u);
    go.set();
    EXPECT_EQ(select(on_done(slow, kNothing)).value(), 0u);
    EXPECT_TRUE(slow);  // without its result it is not joined
    EXPECT_TRUE(slow.join());
    EXPECT_TRUE(nursery.join());
  });
}

// As of a channel: it is ready, and the handler is told.
TEST_P(SelectKindsTest, SaysInvalidOfAnEmptyTask) {
  in_fiber([] {
    Task<int> none;
    Error told = Errc{};
    const auto hear = [&](Result<int> end) { told = end.error(); };
    EXPECT_EQ(select(on_done(none, hear)).value(), 0u);
    EXPECT_EQ(told, Errc::invalid);
    bool ran = false;
    EXPECT_TRUE(select(on_done(none, [&] { ran = true; }),
                       otherwise([] { FAIL() << "an empty task is ready"; })));
    EXPECT_TRUE(ran);
    Nursery nursery;
    (void)nursery.join();
    auto refused = nursery.spawn([] { return 1; });
    EXPECT_EQ(select(on_done(refused, hear)).value(), 0u);
    EXPECT_EQ(told, Errc::closed);  // why it never started
  });
}

// Each that lost can be waited for as if nobody had.
TEST_P(SelectKindsTest, LeavesWhatLostAsItWas) {
  in_fiber([] {
    auto channel = make_channel<int>(0);
    Event event;
    Sequencer sequencer;
    Future<int> future;
    Event go;
    Nursery nursery;
    auto task = nursery.spawn([&] { EXPECT_TRUE(go.wait()); });
    for (int round = 0; round < 20; ++round) {
      auto waits = nursery.spawn([&] {
        return select(
            on_event(event, kNothing), on_reached(sequencer, 100, kNothing),
            on_set(future, kNothing), on_done(task, kNothing),
            on_receive(channel.receiver, kIgnore),
            on_deadline(Deadline::after(round % 2 == 0 ? 1h : 0h), kNothing));
      });
      if (round % 2 == 0) {
        await_parked(waits);
        EXPECT_TRUE(channel.sender.send(1));
      }
      EXPECT_EQ(waits.join().value(), round % 2 == 0 ? 4u : 5u);
      const auto expired = Deadline::after(-1s);
      EXPECT_EQ(event.wait(expired).error(), Errc::timed_out);
      EXPECT_EQ(sequencer.wait(100, expired).error(), Errc::timed_out);
      EXPECT_EQ(future.wait(expired).error(), Errc::timed_out);
      EXPECT_EQ(task.wait(expired).error(), Errc::timed_out);
      EXPECT_EQ(channel.sender.try_send(1).error(), Errc::would_block);
    }
    go.set();
    EXPECT_TRUE(task.join());
    EXPECT_TRUE(nursery.join());
  });
}

// ---- Waitables of one's own

// Opens never.
struct Closed {
  bool try_complete(Waiter&) noexcept { return false; }
  bool publish(Waiter&) noexcept { return false; }
  void unpublish(Waiter&) noexcept {}
};

TEST_P(SelectKindsTest, WaitsForWaitablesOfOnesOwn) {
  in_fiber([] {
    Gate one;
    Gate other;
    Nursery nursery;
    auto waits = nursery.spawn([&] {
      return select(on(one, kNothing),
                    on(other, [](Status end) { EXPECT_TRUE(end); }));
    });
    await_parked(waits);
    EXPECT_EQ(one.waiting() + other.waiting(), 2u);
    other.open();
    EXPECT_EQ(waits.join().value(), 1u);
    EXPECT_EQ(one.waiting() + other.waiting(), 0u);
    Closed closed;
    Error told = Errc{};
    EXPECT_EQ(select(on(one, kNothing),
                     on(closed, [&](Status end) { told = end.error(); }))
                  .value(),
              1u);
    EXPECT_EQ(told, Errc::closed);
    EXPECT_EQ(one.waiting(), 0u);
    EXPECT_TRUE(nursery.join());
  });
}

// Gives a number away.
struct Number {
  int value = 0;
  bool try_complete(Waiter& waiter) noexcept {
    if (value == 0) return false;
    waiter.slot<int>() = value;
    return true;
  }
  bool publish(Waiter&) noexcept { return false; }
  void unpublish(Waiter&) noexcept {}
};

TEST_P(SelectKindsTest, PassesItsSlotToAWaitable) {
  in_fiber([] {
    Number number{7};
    int got = 0;
    EXPECT_EQ(select(on(number, got, kNothing)).value(), 0u);
    EXPECT_EQ(got, 7);
  });
}

// ---- The choice

// R-SEL-09
TEST_P(SelectKindsTest, IsFairAmongThoseThatAreReady) {
  in_fiber([] {
    constexpr int kRounds = 4'000;
    std::vector<Channel<int>> channels;
    for (int i = 0; i < 2; ++i) channels.push_back(make_channel<int>(1));
    int first = 0;
    for (int i = 0; i < kRounds; ++i) {
      for (auto& channel : channels) (void)channel.sender.try_send(i);
      first += select(on_receive(channels[0].receiver, kIgnore),
                      on_receive(channels[1].receiver, kIgnore))
                   .value() == 0;
    }
    EXPECT_GT(first, kRounds * 3 / 10);
    EXPECT_LT(first, kRounds * 7 / 10);
  });
}

TEST_P(SelectKindsTest, TakesTheFirstIfAskedTo) {
  in_fiber([] {
    Event one;
    Event other;
    other.set();
    EXPECT_EQ(
        select_in_order(on_event(one, kNothing), on_event(other, kNothing))
            .value(),
        1u);
    one.set();
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(
          select_in_order(on_event(one, kNothing), on_event(other, kNothing))
              .value(),
          0u);
    }
  });
}

TEST_P(SelectKindsTest, ServesThreads) {
  for (int round = 0; round < 100; ++round) {
    auto one = make_channel<int>(0);
    auto other = make_channel<int>(1);
    Event event;
    int got = 0;
    std::thread selects([&] {
      for (bool stopped = false; !stopped;) {
        const auto take = [&](Result<int> value) { got += value.value(); };
        EXPECT_TRUE(select(on_receive(one.receiver, take),
                           on_receive(other.receiver, take),
                           on_event(event, [&] { stopped = true; }),
                           on_deadline(Deadline::after(1h), [] { FAIL(); })));
      }
      while (const auto left = other.receiver.try_receive()) got += *left;
    });
    Nursery nursery(runtime());
    nursery.spawn([&] { EXPECT_TRUE(one.sender.send(1)); });
    nursery.spawn([&] { EXPECT_TRUE(other.sender.send(2)); });
    EXPECT_TRUE(nursery.join());
    event.set();
    selects.join();
    EXPECT_EQ(got, 3);
  }
}

}  // namespace
}  // namespace weft
