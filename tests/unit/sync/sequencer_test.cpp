#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <numeric>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/sequencer.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

class SequencerTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SequencerTest, ::testing::Values(1u, 2u, 4u));

// R-SEQ-01
TEST_P(SequencerTest, CountsAndOnlyGrows) {
  in_fiber([] {
    Sequencer sequencer;
    EXPECT_EQ(sequencer.value(), 0u);
    sequencer.increment();
    EXPECT_EQ(sequencer.value(), 1u);
    sequencer.advance(1);  // not greater
    sequencer.advance(0);
    EXPECT_EQ(sequencer.value(), 1u);
    sequencer.advance(2);
    sequencer.advance(10);  // over the ones between
    EXPECT_EQ(sequencer.value(), 10u);
    EXPECT_EQ(Sequencer(7).value(), 7u);
  });
}

// R-SEQ-01
TEST_P(SequencerTest, DoesNotWaitForWhatIsReached) {
  in_fiber([] {
    Sequencer sequencer(3);
    EXPECT_TRUE(sequencer.wait(0));
    EXPECT_TRUE(sequencer.wait(3));
    EXPECT_TRUE(sequencer.wait(3, Deadline::after(-1s)));
    Sequencer::Future done;
    sequencer.wait(2, done);
    EXPECT_TRUE(done.is_set());
    EXPECT_TRUE(done.wait());
  });
}

// R-SEQ-01 R-FUT-01
TEST_P(SequencerTest, WakesWhoWaitsForTheValueItComesTo) {
  in_fiber([] {
    Sequencer sequencer;
    Nursery nursery;
    auto first = nursery.spawn([&] { EXPECT_TRUE(sequencer.wait(1)); });
    auto second = nursery.spawn([&] { EXPECT_TRUE(sequencer.wait(2)); });
    auto fifth = nursery.spawn([&] { EXPECT_TRUE(sequencer.wait(5)); });
    await_parked(first);
    await_parked(second);
    await_parked(fifth);
    sequencer.increment();
    EXPECT_TRUE(first.join());
    EXPECT_FALSE(second.done());
    sequencer.advance(4);
    EXPECT_TRUE(second.join());
    EXPECT_FALSE(fifth.done());
    sequencer.advance(100);
    EXPECT_TRUE(fifth.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SequencerTest, WakesManyOfOneToken) {
  in_fiber([] {
    Sequencer sequencer;
    Nursery nursery;
    std::vector<Task<>> waiters;
    for (int i = 0; i < 100; ++i) {
      waiters.push_back(nursery.spawn([&] { EXPECT_TRUE(sequencer.wait(1)); }));
    }
    for (auto& waiter : waiters) await_parked(waiter);
    sequencer.increment();
    EXPECT_TRUE(nursery.join());
  });
}

// Notes when it is set, on the setter's stack.
struct Note : AnyFuture::Callback {
  Note(std::vector<std::uint64_t>& where, std::uint64_t what)
      : Callback{[](Callback& it) noexcept {
          auto& note = static_cast<Note&>(it);
          note.log.push_back(note.token);
        }},
        log(where),
        token(what) {}
  std::vector<std::uint64_t>& log;
  std::uint64_t token;
};

// R-SEQ-04
TEST_P(SequencerTest, WakesInTheOrderOfTheTokens) {
  in_fiber([] {
    base::Rng rng(5);
    for (const std::uint32_t count : {1u, 2u, 3u, 10u, 300u}) {
      std::vector<std::uint64_t> tokens(count);
      std::iota(tokens.begin(), tokens.end(), 1);
      for (std::uint32_t i = count; i > 1; --i) {
        std::swap(tokens[i - 1], tokens[rng.below(i)]);
      }
      std::vector<std::uint64_t> log;
      Sequencer sequencer;
      std::deque<Sequencer::Future> waits(count);
      std::deque<Note> notes;
      for (std::size_t i = 0; i < count; ++i) {
        sequencer.wait(tokens[i], waits[i]);
        ASSERT_TRUE(waits[i].subscribe(notes.emplace_back(log, tokens[i])));
      }
      sequencer.advance(count / 2);
      EXPECT_EQ(log.size(), count / 2);
      sequencer.advance(count);
      EXPECT_EQ(log.size(), count);
      EXPECT_TRUE(std::is_sorted(log.begin(), log.end()));
    }
  });
}

// ---- Futures

// R-SEQ-01 R-SEQ-02
TEST_P(SequencerTest, SetsAFutureWhenItsTokenIsReached) {
  in_fiber([] {
    Sequencer sequencer;
    Sequencer::Future done;
    for (std::uint64_t token = 2; token < 20; token += 2) {
      sequencer.wait(token, done);
      sequencer.increment();
      EXPECT_FALSE(done.is_set());
      sequencer.increment();
      EXPECT_TRUE(done.is_set());
      EXPECT_TRUE(done.wait());
      done.reset();  // and used again
    }
  });
}

// R-SEQ-03
TEST_P(SequencerTest, HasFuturesThatWaitUntilADeadline) {
  in_fiber([] {
    Sequencer sequencer;
    Sequencer::Future done;
    sequencer.wait(1, done);
    EXPECT_EQ(done.wait(Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_FALSE(done.is_set());  // it still waits
    sequencer.increment();
    EXPECT_TRUE(done.wait(Deadline::after(-1s)));
  });
}

// R-SEQ-02: cancelled before a combiner knows it, and afterwards.
TEST_P(SequencerTest, SetsACancelledFutureWithCancelled) {
  in_fiber([] {
    Sequencer sequencer;
    Sequencer::Future fresh;
    sequencer.wait(5, fresh);
    fresh.cancel();
    EXPECT_TRUE(fresh.is_set());
    EXPECT_EQ(fresh.wait().error(), Errc::cancelled);
    Sequencer::Future known;
    Sequencer::Future other;
    sequencer.wait(5, known);
    sequencer.wait(4, other);
    sequencer.increment();  // a combiner takes them
    known.cancel();
    EXPECT_EQ(known.wait().error(), Errc::cancelled);
    EXPECT_FALSE(other.is_set());
    sequencer.advance(9);
    EXPECT_TRUE(other.wait());
    EXPECT_EQ(known.wait().error(), Errc::cancelled);
  });
}

// R-SEQ-02
TEST_P(SequencerTest, LeavesAFutureAloneThatIsCancelledTooLate) {
  in_fiber([] {
    Sequencer sequencer;
    Sequencer::Future done;
    sequencer.wait(1, done);
    sequencer.increment();
    done.cancel();
    EXPECT_TRUE(done.wait());
    done.reset();
    sequencer.wait(1, done);  // reached already
    done.cancel();
    EXPECT_TRUE(done.wait());
  });
}

TEST_P(SequencerTest, LeavesAFutureAloneThatDoesNotWait) {
  in_fiber([] {
    Sequencer::Future done;
    done.cancel();  // of nothing
    {
      Sequencer sequencer;
      sequencer.wait(1, done);
      sequencer.increment();
      EXPECT_TRUE(done.wait());
    }
    done.reset();
    done.cancel();  // it waits no more
    done.reset();
    Sequencer sequencer;
    sequencer.wait(1, done);
    done.cancel();
    EXPECT_EQ(done.wait().error(), Errc::cancelled);
  });
}

// R-SEQ-04 R-SEQ-07: out of the middle of the order.
TEST_P(SequencerTest, KeepsTheOrderOfTheOthersWhenSomeAreCancelled) {
  in_fiber([] {
    constexpr std::uint64_t kCount = 200;
    base::Rng rng(9);
    std::vector<std::uint64_t> log;
    Sequencer sequencer;
    std::deque<Sequencer::Future> waits(kCount);
    std::deque<Note> notes;
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto token = 3 + rng.below(50);
      sequencer.wait(token, waits[i]);
      ASSERT_TRUE(waits[i].subscribe(notes.emplace_back(log, token)));
      if (i % 10 == 0) sequencer.advance(1);
    }
    sequencer.increment();
    for (std::size_t i = 0; i < kCount; i += 3) waits[i].cancel();
    log.clear();
    sequencer.advance(20);
    sequencer.advance(60);
    EXPECT_TRUE(std::is_sorted(log.begin(), log.end()));
    for (auto& wait : waits) EXPECT_TRUE(wait.is_set());
    for (std::size_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(waits[i].wait().has_value(), i % 3 != 0);
    }
  });
}

// R-SEQ-06: who is set may come here again, in the middle of it.
TEST_P(SequencerTest, MayBeMovedFromWithinASet) {
  in_fiber([] {
    struct Again : AnyFuture::Callback {
      explicit Again(Sequencer& which)
          : Callback{[](Callback& it) noexcept {
              auto& self = static_cast<Again&>(it);
              self.sequencer.increment();
              self.sequencer.wait(3, self.next);
              self.sequencer.increment();
            }},
            sequencer(which) {}
      Sequencer& sequencer;
      Sequencer::Future next;
    };
    Sequencer sequencer;
    Sequencer::Future first;
    Again again(sequencer);
    sequencer.wait(1, first);
    ASSERT_TRUE(first.subscribe(again));
    sequencer.increment();
    EXPECT_EQ(sequencer.value(), 3u);
    EXPECT_TRUE(again.next.wait());
  });
}

// A callback may take back another wait, of this round or a later one.
TEST_P(SequencerTest, MayBeCancelledFromWithinASet) {
  in_fiber([] {
    struct Cancel : AnyFuture::Callback {
      Cancel()
          : Callback{[](Callback& it) noexcept {
              auto& self = static_cast<Cancel&>(it);
              self.same.cancel();
              self.later.cancel();
            }} {}
      Sequencer::Future same;
      Sequencer::Future later;
    };
    Sequencer sequencer;
    Sequencer::Future first;
    Cancel cancel;
    sequencer.wait(1, first);
    ASSERT_TRUE(first.subscribe(cancel));
    sequencer.wait(1, cancel.same);
    sequencer.wait(2, cancel.later);
    sequencer.increment();
    EXPECT_TRUE(cancel.same.wait()) << "what is reached is reached";
    EXPECT_EQ(cancel.later.wait().error(), Errc::cancelled);
  });
}

// ---- Ends of a wait

// R-TIMER-03 R-SEQ-03
TEST_P(SequencerTest, IsAsItWasWhenAWaitEndsEarly) {
  in_fiber([] {
    Sequencer sequencer;
    EXPECT_EQ(sequencer.wait(1, Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_EQ(sequencer.wait(1, Deadline::after(-1s)).error(), Errc::timed_out);
    Nursery nursery;
    auto first = nursery.spawn(
        [&] { EXPECT_EQ(sequencer.wait(1).error(), Errc::cancelled); });
    auto second = nursery.spawn([&] { EXPECT_TRUE(sequencer.wait(1)); });
    await_parked(first);
    await_parked(second);
    first.cancel();
    EXPECT_TRUE(first.join());
    EXPECT_FALSE(second.done());
    sequencer.increment();
    EXPECT_TRUE(second.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SequencerTest, RefusesACancelledFiberAlthoughTheTokenIsReached) {
  in_fiber([] {
    Sequencer sequencer(1);
    as_cancelled([&] {
      EXPECT_EQ(sequencer.wait(2).error(), Errc::cancelled);
      EXPECT_EQ(sequencer.wait(1).error(), Errc::cancelled);
    });
  });
}

// R-SEQ-07: one way or the other, and the sequencer is empty.
TEST_P(SequencerTest, EndsOneWayWhenCancelsRaceWithTheToken) {
  in_fiber([] {
    for (int i = 0; i < 300; ++i) {
      Sequencer sequencer;
      Sequencer::Future wait;
      sequencer.wait(2, wait);
      Nursery nursery;
      nursery.spawn([&] { sequencer.increment(); });
      nursery.spawn([&] { sequencer.increment(); });
      wait.cancel();
      const auto end = wait.wait();
      ASSERT_TRUE(end || end.error() == Errc::cancelled);
      ASSERT_TRUE(nursery.join());
    }
  });
}

// R-SEQ-05
TEST_P(SequencerTest, LosesNobodyAtTheLastTokenOfThreadsAndFibers) {
  constexpr std::uint64_t kEach = 100;
  for (int round = 0; round < 20; ++round) {
    Sequencer sequencer;
    const auto add = [&] {
      for (std::uint64_t i = 0; i < kEach; ++i) sequencer.increment();
    };
    Nursery nursery(runtime());
    std::atomic<int> through{0};
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&] { through += sequencer.wait(4 * kEach).has_value(); });
    }
    nursery.spawn(add);
    nursery.spawn(add);
    std::thread first(add);
    std::thread second(add);
    EXPECT_TRUE(sequencer.wait(4 * kEach));
    EXPECT_EQ(sequencer.value(), 4 * kEach);
    first.join();
    second.join();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(through, 3);
  }
}

}  // namespace
}  // namespace weft
