// sequencer_storm_test.cpp: of all who move a sequencer one wakes who waits;
// of a cancel and the token one completes.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include "support/side_by_side.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::scaled;
using test::side_by_side;

class SequencerStormTest : public test::WorkersTest {
 protected:
  static int rounds(int plain) {
    return scaled(explored() ? (plain + 19) / 20 : plain);
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, SequencerStormTest,
                         ::testing::Values(1u, 2u, 4u));

struct Count : AnyFuture::Callback {
  Count() noexcept
      : Callback{
            [](Callback& it) noexcept { ++static_cast<Count&>(it).calls; }} {}
  std::atomic<int> calls{0};
};

// B-09 R-SEQ-05: a waiter at the last token, and a fresh object each round.
TEST_P(SequencerStormTest, LosesNobodyAtTheLastToken) {
  constexpr std::uint64_t kFibers = 3;
  constexpr std::uint64_t kEach = 4;
  const int count = rounds(5'000);
  in_fiber([&] {
    for (int round = 0; round < count; ++round) {
      Sequencer sequencer;
      Nursery nursery;
      for (std::uint64_t i = 0; i < kFibers; ++i) {
        nursery.spawn([&] {
          for (std::uint64_t n = 0; n < kEach; ++n) sequencer.increment();
        });
      }
      ASSERT_TRUE(sequencer.wait(kFibers * kEach));
      ASSERT_TRUE(nursery.join());
    }
  });
}

// B-09: the same between threads that do nothing else.
TEST(SequencerStormThreadTest, LosesNobodyAtTheLastTokenOfRawIncrementers) {
  constexpr std::uint64_t kThreads = 2;
  constexpr std::uint64_t kEach = 2;
  const test::Watchdog watchdog;
  const int count = scaled(4'000);
  std::vector<std::unique_ptr<Sequencer>> fresh;
  for (int i = 0; i < count; ++i)
    fresh.push_back(std::make_unique<Sequencer>());
  std::atomic<int> round{0};
  const auto increment = [&] {
    for (int mine = 0; mine < count; ++mine) {
      while (round < mine) this_fiber::yield();
      for (std::uint64_t n = 0; n < kEach; ++n) {
        fresh[static_cast<std::size_t>(mine)]->increment();
      }
    }
  };
  side_by_side({increment, increment, [&] {
                  for (auto& sequencer : fresh) {
                    ASSERT_TRUE(sequencer->wait(kThreads * kEach));
                    ++round;
                  }
                }});
}

// B-10 R-SEQ-07: cancel against the token, of a wait that is known to the
// combiner or not yet; each is completed once.
TEST_P(SequencerStormTest, CompletesEachWaitOnceWhateverEndsIt) {
  constexpr std::size_t kWaits = 8;
  const int count = rounds(1'500);
  in_fiber([&] {
    base::Rng rng(13);
    for (int round = 0; round < count; ++round) {
      Sequencer sequencer;
      std::deque<Sequencer::Future> waits(kWaits);
      std::deque<Count> counts(kWaits);
      for (std::size_t i = 0; i < kWaits; ++i) {
        sequencer.wait(1 + rng.below(6), waits[i]);
        if (!waits[i].subscribe(counts[i])) counts[i].calls = 1;
        if (rng.below(6) == 0) sequencer.increment();
      }
      Nursery nursery;
      for (std::size_t half = 0; half < 2; ++half) {
        nursery.spawn([&, half] {
          for (std::size_t i = half; i < kWaits; i += 2) {
            waits[i].cancel();
            ASSERT_TRUE(waits[i].is_set());
          }
        });
      }
      nursery.spawn([&] {
        for (int n = 0; n < 6; ++n) sequencer.increment();
      });
      nursery.spawn([&] { sequencer.advance(5); });
      ASSERT_TRUE(nursery.join());
      for (std::size_t i = 0; i < kWaits; ++i) {
        ASSERT_TRUE(waits[i].is_set());
        ASSERT_EQ(counts[i].calls, 1);
      }
    }
  });
}

// B-10: threads, a fresh pair each round.
TEST(SequencerStormThreadTest, CompletesEachWaitOnce) {
  struct Round {
    Sequencer sequencer;
    Sequencer::Future wait;
    Count count;
    std::atomic<int> here{0};
    void meet() {
      ++here;
      while (here != 2) this_fiber::yield();
    }
  };
  const test::Watchdog watchdog;
  const int count = scaled(4'000);
  std::deque<Round> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& it = all[i];
    it.sequencer.wait(2, it.wait);
    ASSERT_TRUE(it.wait.subscribe(it.count));
    if (i % 2 == 0) it.sequencer.increment();  // a combiner knows it
  }
  side_by_side({[&] {
                  for (auto& it : all) {
                    it.meet();
                    it.sequencer.advance(2);
                  }
                },
                [&] {
                  for (auto& it : all) {
                    it.meet();
                    it.wait.cancel();
                    ASSERT_TRUE(it.wait.is_set());
                  }
                }});
  for (auto& it : all) ASSERT_EQ(it.count.calls, 1);
}

// R-SEQ-01 R-SEQ-03: waits with deadlines and cancels, in the stack's frames.
TEST_P(SequencerStormTest, EndsEachWaitOneWay) {
  constexpr std::uint64_t kSteps = 50;
  const int count = rounds(150);
  in_fiber([&] {
    base::Rng rng(17);
    for (int round = 0; round < count; ++round) {
      Sequencer sequencer;
      std::atomic<int> ended{0};
      Nursery nursery;
      std::vector<Task<>> tasks;
      for (int i = 0; i < 16; ++i) {
        const auto token = 1 + rng.below(kSteps);
        const auto when =
            i % 4 == 0
                ? Deadline::never()
                : Deadline::after(std::chrono::microseconds(rng.below(80)));
        tasks.push_back(nursery.spawn([&, i, token, when] {
          const auto end = sequencer.wait(token, when);
          ASSERT_TRUE(!end || sequencer.value() >= token);
          ASSERT_TRUE(i % 4 != 0 || end);
          ++ended;
        }));
      }
      for (int i = 0; i < 2; ++i) {
        nursery.spawn([&] {
          for (std::uint64_t n = 0; n < kSteps / 2; ++n) {
            sequencer.increment();
            if (n % 8 == 0) this_fiber::yield();
          }
        });
      }
      int never = 0;  // cancelled before it began
      for (std::size_t i = 1; i < 16; i += 4) tasks[i].cancel();
      for (auto& task : tasks) never += !task.join();
      ASSERT_TRUE(nursery.join());
      ASSERT_EQ(ended + never, 16);
    }
  });
}

// R-EVENT-01 R-EVENT-02
TEST_P(SequencerStormTest, EventsWakeWhoWaitedBeforeTheSet) {
  const int count = rounds(2'000);
  Event event;
  std::atomic<int> left{6};
  Nursery nursery(runtime());
  for (int i = 0; i < 6; ++i) {
    nursery.spawn([&] {
      for (int n = 0; n < count; ++n) ASSERT_TRUE(event.wait());
      --left;
    });
  }
  for (int i = 0; i < 2; ++i) {
    nursery.spawn([&] {
      while (left != 0) {
        event.set();
        event.reset();
        this_fiber::yield();
      }
    });
  }
  EXPECT_TRUE(nursery.join());
}

}  // namespace
}  // namespace weft
