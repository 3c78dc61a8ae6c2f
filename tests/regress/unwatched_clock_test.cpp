// A worker armed a timer and went on with a fiber that only it may run; the
// sleepers had looked at the clocks before, so nobody watched this one.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "stress/scale.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::hold_worker_until;

class UnwatchedClockTest : public test::RuntimeTest {};

// R-TIMER-02
TEST_F(UnwatchedClockTest, ASleeperWakesWhileItsWorkerIsHeldByAPinnedFiber) {
  Runtime runtime = start(2);
  for (int round = 0; round < test::scaled(20); ++round) {
    const auto end = runtime.run([](Nursery& nursery) {
      test::Gate gate;
      std::atomic<bool> slept{false};
      nursery.spawn([&] {
        this_fiber::Pin pin;
        EXPECT_TRUE(gate.pass());
        hold_worker_until([&] { return slept.load(); });
      });
      while (gate.waiting() == 0) this_fiber::yield();
      gate.open();
      // Time for the other worker to fall asleep again.
      const auto later = Deadline::after(1ms);
      hold_worker_until([&] { return later.expired(); });
      EXPECT_TRUE(this_fiber::sleep_for(1ms));
      slept = true;
      EXPECT_TRUE(nursery.join());
    });
    ASSERT_TRUE(end);
  }
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
