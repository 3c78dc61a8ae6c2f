// B-24: fibers that yield, or spawn and join, kept their worker to themselves:
// timers and newcomers waited for ever.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/rng.hpp"
#include "stress/keepers.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::hold_worker_until;

class YieldStormTest : public test::RuntimeTest {};

// A fair look comes every 61 dispatches.
constexpr int kBound = 10'000;

// Runs `step` in `fibers` fibers on one worker until a sleeper has slept ten
// times. Counts the steps between a deadline and the sleeper's return.
template <typename Step>
int most_steps_past_a_deadline(int fibers, Step step) {
  auto runtime = *Runtime::start({.workers = 1});
  std::atomic<std::int64_t> due{INT64_MAX};
  std::atomic<bool> stop{false};
  int late = 0;
  int most = 0;
  const auto now = [] { return Clock::now().time_since_epoch().count(); };
  const auto end = runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < fibers; ++i) {
      nursery.spawn([&] {
        Nursery own;
        while (!stop) {
          if (now() >= due) ++late;
          step(own);
        }
        EXPECT_TRUE(own.join());
      });
    }
    for (int i = 0; i < 10; ++i) {
      const auto when = Deadline::after(1ms);
      late = 0;
      due = when.when().time_since_epoch().count();
      EXPECT_TRUE(this_fiber::sleep_until(when));
      EXPECT_TRUE(when.expired());
      due = INT64_MAX;
      most = std::max(most, late);
    }
    stop = true;
  });
  EXPECT_TRUE(end);
  return most;
}

// R-TIMER-02
TEST_F(YieldStormTest, ASleeperWakesBesidesFibersThatYield) {
  for (const int fibers : {1, 2, 20}) {
    EXPECT_LE(most_steps_past_a_deadline(fibers,
                                         [](Nursery&) { this_fiber::yield(); }),
              kBound + fibers);
  }
}

// R-TIMER-02
TEST_F(YieldStormTest, ASleeperWakesBesidesFibersThatSpawnAndJoin) {
  for (const int fibers : {1, 2, 20}) {
    EXPECT_LE(
        most_steps_past_a_deadline(
            fibers, [](Nursery& own) { EXPECT_TRUE(own.spawn([] {}).join()); }),
        kBound + fibers);
  }
}

// R-RUNQ-07: counts from when the push is done.
TEST_F(YieldStormTest, AnOutsiderStartsAfterABoundedNumberOfDispatches) {
  Runtime runtime = start(1);
  std::atomic<bool> stop{false};
  std::atomic<bool> pushed{false};
  std::atomic<int> late{0};
  Nursery nursery(runtime);
  for (int i = 0; i < 3; ++i) {
    nursery.spawn([&](Nursery& own) {
      while (!stop) {
        if (pushed) ++late;
        own.spawn([] {});
        this_fiber::yield();
      }
    });
  }
  for (int i = 0; i < test::scaled(200); ++i) {
    late = 0;
    int waited = 0;
    auto task = nursery.spawn([&] {
      waited = late;
      pushed = false;
    });
    pushed = true;
    ASSERT_TRUE(task.join());
    pushed = false;
    ASSERT_LE(waited, kBound);
  }
  stop = true;
  EXPECT_TRUE(nursery.join());
  expect_empty(runtime);
}

// The count to the next fair look lives in the worker: a joiner that arrived
// from another one must not make it miss the zero.
TEST_F(YieldStormTest, JoinsInPlaceAfterAMigrationStarveNobody) {
  Runtime runtime = start(2);
  test::Keepers keepers(runtime);
  std::atomic<bool> looping{false};
  std::atomic<bool> held{false};
  std::atomic<bool> slept{false};
  Nursery nursery(runtime);
  nursery.spawn([&](Nursery& own) {
    base::Rng rng(24);
    const auto join_some = [&](std::uint32_t count) {
      for (std::uint32_t i = 0; i < count; ++i) {
        EXPECT_TRUE(own.spawn([] {}).join());
      }
    };
    for (int i = 0; i < test::scaled(2'000); ++i) {
      join_some(rng.below(130));
      keepers.move_on();
    }
    looping = true;
    while (!held) join_some(1);
    own.spawn([&] {
      EXPECT_TRUE(this_fiber::sleep_for(1ms));
      slept = true;
    });
    while (!slept) join_some(1);
  });
  // The other worker is held: only the joiner's own can let the sleeper in.
  hold_worker_until([&] { return looping.load(); });
  nursery.spawn([&] {
    held = true;
    hold_worker_until([&] { return slept.load(); });
  });
  EXPECT_TRUE(nursery.join());
}

}  // namespace
}  // namespace weft
