// explored_channel_test.cpp: channels and select, over schedules; what they
// answer is checked against a sequential channel.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "unit/sync/recorded_channel.hpp"
#include "unit/sync/searches.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Fault;
using test::RecordedChannel;
using test::Search;
using test::search_all;
using test::Simulation;
using namespace std::chrono_literals;

// Ends all that still waits, in the order of who may.
void end(Simulation& sim, RecordedChannel& channel) {
  sim.wait_until_all_parked();
  channel.close();
  sim.wait_until_all_parked();
  channel.hang_up();
}

// R-CHAN-08 R-CHAN-09: two senders, a receiver, a close.
void race_close(Simulation&, std::size_t capacity) {
  RecordedChannel channel(capacity);
  Nursery nursery;
  nursery.spawn([&] {
    (void)channel.send(1);
    (void)channel.send(2);
  });
  nursery.spawn([&] {
    while (channel.receive() == Errc{}) {
    }
  });
  channel.close();
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(channel.why_not_linearizable(), "");
}

TEST(ExploredChannel, LosesNothingWhenItCloses) {
  for (const std::size_t capacity : {0u, 1u, 2u}) {
    const auto body = [=](Simulation& sim) { race_close(sim, capacity); };
    search_all({}, 2, body);
    search_all({Fault::spurious_wake}, 1, body);
    search_all({Fault::cancel_at_checkpoint}, 1, body);
  }
}

// B-05 B-06
TEST(ExploredChannel, LosesNoWake) {
  for (const std::size_t capacity : {0u, 1u}) {
    search_all({Fault::spurious_wake}, 1, [=](Simulation&) {
      RecordedChannel there(capacity);
      RecordedChannel back(capacity);
      Nursery nursery;
      nursery.spawn([&] {
        for (int i = 0; i < 2; ++i) {
          EXPECT_EQ(there.send(i), Errc{});
          EXPECT_EQ(back.receive(), Errc{});
        }
      });
      nursery.spawn([&] {
        for (int i = 0; i < 2; ++i) {
          EXPECT_EQ(there.receive(), Errc{});
          EXPECT_EQ(back.send(i), Errc{});
        }
      });
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(there.why_not_linearizable(), "");
      EXPECT_EQ(back.why_not_linearizable(), "");
    });
  }
}

// C-11: who gives up has had no effect, and no wake is spent on him.
TEST(ExploredChannel, LosesNothingToWhoGivesUp) {
  for (const std::size_t capacity : {0u, 1u}) {
    search_all(
        {Fault::time_passes, Fault::cancel_at_checkpoint}, 1, [=](Simulation&) {
          RecordedChannel channel(capacity);
          Nursery nursery;
          nursery.spawn([&] {
            (void)channel.send(1, Deadline::after(1ms));
            (void)channel.send(2, Deadline::after(1ms));
          });
          nursery.spawn([&] { (void)channel.receive(Deadline::after(1ms)); });
          nursery.spawn([&] { (void)channel.receive(Deadline::after(2ms)); });
          (void)nursery.join();
          while (channel.try_receive() == Errc{}) {
          }
          EXPECT_EQ(channel.why_not_linearizable(), "");
        });
  }
}

// C-12
TEST(ExploredChannel, LetsSendersInBehindTheBufferWhenItCloses) {
  search_all({}, 1, [](Simulation& sim) {
    RecordedChannel channel(1);
    Nursery nursery;
    auto first = nursery.spawn([&] { (void)channel.send(1); });
    nursery.spawn([&] { (void)channel.send(2); });
    sim.wait_until_all_parked();
    nursery.spawn([&] {
      (void)channel.send(3);
      first.cancel();
    });
    nursery.spawn([&] { channel.close(); });
    while (channel.receive() == Errc{}) {
    }
    (void)nursery.join();
    EXPECT_EQ(channel.why_not_linearizable(), "");
  });
}

TEST(ExploredChannel, HearsOfAReceiverThatGoes) {
  for (const std::size_t capacity : {0u, 1u}) {
    search_all({}, 2, [=](Simulation&) {
      RecordedChannel channel(capacity);
      Nursery nursery;
      nursery.spawn([&] {
        while (channel.send(1) == Errc{}) {
        }
      });
      nursery.spawn([&] { (void)channel.receive(); });
      channel.hang_up();
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(channel.why_not_linearizable(), "");
    });
  }
}

// R-SEL-03 R-SEL-04
TEST(ExploredSelect, TakesOneValueOfTwo) {
  for (const std::size_t capacity : {0u, 1u}) {
    search_all({Fault::spurious_wake}, 1, [=](Simulation&) {
      RecordedChannel one(capacity);
      RecordedChannel other(capacity);
      Nursery nursery;
      nursery.spawn([&] { EXPECT_EQ(one.send(1), Errc{}); });
      nursery.spawn([&] { EXPECT_EQ(other.send(2), Errc{}); });
      EXPECT_EQ(RecordedChannel::receive_any(one, other), Errc{});
      EXPECT_EQ(RecordedChannel::receive_any(one, other), Errc{});
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(one.why_not_linearizable(), "");
      EXPECT_EQ(other.why_not_linearizable(), "");
    });
  }
}

// Two selects, two channels, each at one end of both.
TEST(ExploredSelect, MeetsAnother) {
  for (const std::size_t capacity : {0u, 1u}) {
    search_all({Fault::cancel_at_checkpoint}, 1, [=](Simulation& sim) {
      RecordedChannel one(capacity);
      RecordedChannel other(capacity);
      Nursery nursery;
      nursery.spawn([&] { (void)RecordedChannel::pass_on(one, 1, other); });
      nursery.spawn([&] { (void)RecordedChannel::pass_on(other, 2, one); });
      end(sim, one);
      other.close();
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(one.why_not_linearizable(), "");
      EXPECT_EQ(other.why_not_linearizable(), "");
    });
  }
}

// At both ends of one rendezvous: not with itself.
TEST(ExploredSelect, DoesNotMeetItself) {
  const auto alone =
      testing::explore({.schedules = 20, .print = false}, [](Simulation&) {
        RecordedChannel channel(0);
        (void)RecordedChannel::pass_on(channel, 1, channel);
      });
  EXPECT_EQ(alone.verdict, testing::Verdict::deadlock) << alone;
  search_all({}, 2, [](Simulation& sim) {
    RecordedChannel channel(0);
    Nursery nursery;
    for (int i = 0; i < 2; ++i) {
      nursery.spawn([&, i] {
        EXPECT_EQ(RecordedChannel::pass_on(channel, i, channel), Errc{});
      });
    }
    sim.wait_until_all_parked();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(channel.why_not_linearizable(), "");
  });
}

// B-23
TEST(ExploredSelect, RacesWithAClose) {
  for (const std::size_t capacity : {0u, 1u}) {
    search_all({Fault::cancel_at_checkpoint}, 1, [=](Simulation&) {
      RecordedChannel one(capacity);
      RecordedChannel other(capacity);
      Nursery nursery;
      nursery.spawn([&] { (void)one.send(1); });
      nursery.spawn([&] {
        while (RecordedChannel::receive_any(one, other) == Errc{}) {
        }
      });
      other.close();
      one.close();
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(one.why_not_linearizable(), "");
      EXPECT_EQ(other.why_not_linearizable(), "");
    });
  }
}

TEST(ExploredSelect, WaitsForADeadlineAlone) {
  search_all({}, 1, [](Simulation&) {
    EXPECT_EQ(select(on_deadline(Deadline::after(1ms), [] {})).value(), 0u);
  });
}

// Any short programs of up to three fibers.
void run_any(Simulation& sim, std::size_t capacity, OnFull on_full) {
  RecordedChannel channel(capacity, /*lock_free=*/true, on_full);
  RecordedChannel other(1);
  int next = 1;
  const auto any_call = [&] {
    const auto soon = Deadline::after(1ms);
    switch (sim.choose(9)) {
      case 0:
        return (void)channel.send(next++);
      case 1:
        return (void)channel.send(next++, soon);
      case 2:
        return (void)channel.try_send(next++);
      case 3:
        return (void)channel.receive();
      case 4:
        return (void)channel.receive(soon);
      case 5:
        return (void)channel.try_receive();
      case 6:
        return (void)RecordedChannel::receive_any(channel, other);
      case 7:
        return (void)RecordedChannel::pass_on(channel, next++, other);
      default:
        switch (sim.choose(6)) {
          case 0:
          case 1:
            return channel.close();
          case 2:
            return channel.hang_up();
          default:
            return (void)other.try_send(1);
        }
    }
  };
  Nursery nursery;
  std::vector<Task<>> tasks;
  for (int i = 0; i < 3; ++i) {
    tasks.push_back(nursery.spawn([&] {
      for (int n = 0; n < 3; ++n) any_call();
    }));
  }
  if (sim.choose(3) == 0) tasks[1].cancel();
  end(sim, channel);
  sim.wait_until_all_parked();
  other.close();
  (void)nursery.join();
  sim.check(channel.why_not_linearizable().empty(), "it is linearizable");
  EXPECT_EQ(channel.why_not_linearizable(), "");
  EXPECT_EQ(other.why_not_linearizable(), "");
}

// R-CHAN-09
TEST(ExploredChannel, AnswersAsASequentialChannelWould) {
  for (const std::size_t capacity : {0u, 1u, 2u}) {
    for (const auto search : {Search::random, Search::pct}) {
      for (const auto on_full :
           {OnFull::wait, OnFull::drop_newest, OnFull::drop_oldest}) {
        const int schedules = on_full == OnFull::wait ? 1'500 : 500;
        (void)testing::explore_test(
            {.search = search,
             .schedules = static_cast<std::uint64_t>(test::scaled(schedules)),
             .faults = {Fault::spurious_wake, Fault::time_passes,
                        Fault::cancel_at_checkpoint}},
            [=](Simulation& sim) { run_any(sim, capacity, on_full); });
      }
    }
  }
}

}  // namespace
}  // namespace weft
