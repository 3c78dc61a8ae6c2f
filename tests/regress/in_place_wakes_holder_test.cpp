// A child ran in place on the stack of its nursery's owner while somebody else
// waited for its task: that one was kept to run next, for as long as the owner
// ran on, and no other worker could see it.

#include <gtest/gtest.h>

#include <atomic>

#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::hold_worker_until;

class InPlaceWakesHolderTest : public test::RuntimeTest {};

// R-JOIN-03 R-RUNQ-23
TEST_F(InPlaceWakesHolderTest, TheHolderOfATaskRunsBesidesTheOwner) {
  Runtime runtime = start(2);
  for (int round = 0; round < test::scaled(200); ++round) {
    const auto end = runtime.run([](Nursery& outer) {
      std::atomic<Task<int>*> task{nullptr};
      std::atomic<bool> up{false};
      std::atomic<bool> kept{false};
      std::atomic<bool> ran{false};
      std::atomic<bool> woken{false};
      Nursery inner;
      outer.spawn([&] {  // the holder, on the other worker
        up = true;
        hold_worker_until([&] { return task.load() != nullptr; });
        // Keeps that worker from stealing the child once the holder waits.
        outer.spawn([&] {
          kept = true;
          hold_worker_until([&] { return ran.load(); });
        });
        EXPECT_EQ(task.load()->join().value(), 7);
        woken = true;
      });
      hold_worker_until([&] { return up.load(); });
      auto child = inner.spawn([&] {
        ran = true;
        return 7;
      });
      task = &child;
      hold_worker_until([&] { return kept.load(); });
      EXPECT_TRUE(inner.join());  // the child runs here
      hold_worker_until([&] { return woken.load(); });
      EXPECT_TRUE(outer.join());
    });
    ASSERT_TRUE(end);
  }
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
