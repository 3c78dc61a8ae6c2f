// B-33: a new task was queued behind the backlog of a busy worker.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::hold_worker_until;

class BacklogTest : public test::RuntimeTest {};

// R-AFF-02 R-RUNQ-24: the busy fiber ends only after the newcomer has run.
TEST_F(BacklogTest, ANewcomerDoesNotWaitForABusyWorker) {
  Runtime runtime = start(2);
  for (int round = 0; round < test::scaled(300); ++round) {
    std::atomic<bool> busy{false};
    std::atomic<bool> newcomer{false};
    std::atomic<int> ran{0};
    constexpr int kBacklog = 200;
    Nursery nursery(runtime);
    nursery.spawn([&](Nursery& own) {
      for (int i = 0; i < kBacklog; ++i) own.spawn([&] { ++ran; });
      busy = true;
      hold_worker_until([&] { return newcomer.load(); });
    });
    hold_worker_until([&] { return busy.load(); });
    nursery.spawn([&] { newcomer = true; });
    ASSERT_TRUE(nursery.join());
    ASSERT_EQ(ran, kBacklog);
  }
  expect_empty(runtime);
}

// R-AFF-02: nor if the only other worker has endless work of its own.
TEST_F(BacklogTest, ANewcomerIsNotForgottenInTheInboxOfABusyWorker) {
  Runtime runtime = start(2);
  std::atomic<bool> held{false};
  std::atomic<bool> stop{false};
  Nursery nursery(runtime);
  nursery.spawn([&] {
    while (!stop) this_fiber::yield();
  });
  nursery.spawn([&] {
    held = true;
    hold_worker_until([&] { return stop.load(); });
  });
  hold_worker_until([&] { return held.load(); });
  for (int i = 0; i < 20; ++i) {  // in turn to the one and the other
    ASSERT_TRUE(nursery.spawn([] {}).join());
  }
  stop = true;
  EXPECT_TRUE(nursery.join());
  expect_empty(runtime);
}

// R-RUNQ-07: a bounded number of dispatches after the push it runs, whatever
// else the worker has to do.
TEST_F(BacklogTest, ANewcomerPassesTheBacklogOfABusyWorker) {
  constexpr int kBound = 1'000;
  Runtime runtime = start(1);
  std::atomic<bool> stop{false};
  std::atomic<bool> pushed{false};
  std::atomic<int> late{0};
  Nursery nursery(runtime);
  for (int i = 0; i < 4; ++i) {
    nursery.spawn([&](Nursery& own) {
      while (!stop) {
        for (int k = 0; k < 20; ++k) {
          own.spawn([&] {
            if (pushed) ++late;
          });
        }
        while (own.live() > 100 && !stop) this_fiber::yield();
        this_fiber::yield();
      }
    });
  }
  for (int i = 0; i < test::scaled(500); ++i) {
    late = 0;
    int waited = 0;
    auto task = nursery.spawn([&] {
      waited = late;
      pushed = false;
    });
    pushed = true;
    ASSERT_TRUE(task.join());
    pushed = false;
    EXPECT_LE(waited, kBound);
  }
  stop = true;
  EXPECT_TRUE(nursery.join());
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
