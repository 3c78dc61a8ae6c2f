// B-16: work was published to a worker that had not started yet, or sat in the
// inbox of a busy one while the others slept.

#include <gtest/gtest.h>

#include <atomic>

#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class StartupTest : public test::RuntimeTest {};

// R-RUNQ-23
TEST_F(StartupTest, WhatIsSpawnedRightAfterTheStartRuns) {
  for (const auto policy :
       {SpawnPolicy::local, SpawnPolicy::round_robin, SpawnPolicy::global}) {
    for (int round = 0; round < test::scaled(200); ++round) {
      Runtime runtime = start(Config{
          .workers = 1 + static_cast<unsigned>(round) % 8, .spawn = policy});
      std::atomic<int> ran{0};
      Nursery nursery(runtime);
      for (int i = 0; i < 20; ++i) nursery.spawn([&ran] { ++ran; });
      ASSERT_EQ(nursery.spawn([round] { return round; }).join().value(), round);
      ASSERT_TRUE(nursery.join());
      ASSERT_EQ(ran, 20);
    }
  }
}

// R-RUNQ-02 R-AFF-02
TEST_F(StartupTest, NoInboxKeepsItsFibersBehindABusyOwner) {
  for (const auto policy : {SpawnPolicy::local, SpawnPolicy::round_robin}) {
    Runtime runtime = start(Config{.workers = 2, .spawn = policy});
    for (int round = 0; round < test::scaled(300); ++round) {
      std::atomic<bool> held{false};
      std::atomic<int> ran{0};
      constexpr int kTasks = 8;
      Nursery nursery(runtime);
      // Gives its worker back only after all others, wherever they were put.
      nursery.spawn([&] {
        held = true;
        test::hold_worker_until([&] { return ran == kTasks; });
      });
      if (round % 2 == 0) {
        test::hold_worker_until([&] { return held.load(); });
      }
      for (int i = 0; i < kTasks; ++i) nursery.spawn([&ran] { ++ran; });
      ASSERT_TRUE(nursery.join());
    }
    expect_empty(runtime);
  }
}

}  // namespace
}  // namespace weft
