// Who gives the other side a moment before it waits, and who does not.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "base/point.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

#if defined(WEFT_FAULTS) && !defined(WEFT_MODEL)

namespace weft {
namespace {

using base::Hold;
using base::Point;

class SpinTest : public test::RuntimeTest {};

// R-MUTEX-03
TEST_F(SpinTest, OfAMutexGivesAMomentToAnOwnerThatRuns) {
  undisturbed();
  Runtime runtime = start(2);
  Mutex mutex;
  std::atomic<bool> held{false};
  std::atomic<bool> seen{false};
  Hold spinning(Point::spinning);
  std::thread outside([&] {
    EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
      nursery.spawn([&] {
        const std::lock_guard hold(mutex);
        held = true;
        while (!seen) std::this_thread::yield();
      });
      nursery.spawn([&] {
        while (!held) this_fiber::yield();
        const std::lock_guard hold(mutex);
      });
    }));
  });
  spinning.await();
  seen = true;
  spinning.let_go();
  outside.join();
}

// R-MUTEX-03: else who spins would be held there for ever.
TEST_F(SpinTest, OfAMutexGivesNoneToAnOwnerThatWaits) {
  undisturbed();
  Runtime runtime = start(2);
  Mutex mutex;
  test::Gate gate;
  std::atomic<bool> held{false};
  Hold spinning(Point::spinning);
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&] {
      const std::lock_guard hold(mutex);
      held = true;
      EXPECT_TRUE(gate.pass());
    });
    while (!held || gate.waiting() == 0) this_fiber::yield();
    auto next = nursery.spawn([&] { const std::lock_guard hold(mutex); });
    EXPECT_FALSE(next.wait(Deadline::after(std::chrono::milliseconds(1))));
    gate.open();
    EXPECT_TRUE(next.join());
  }));
}

// R-FUTEX-03: sixteen times, and nobody behind somebody who waits.
TEST_F(SpinTest, OfAFutexIsForTheFirstWhoWaits) {
  undisturbed();
  Runtime runtime = start(1);
  Futex futex;
  Hold seventeenth(Point::spinning, 16);
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&] { EXPECT_TRUE(futex.wait(1)); });
      this_fiber::yield();
    }
    futex.post();
  }));
  EXPECT_EQ(futex.get(), 1u);
}

}  // namespace
}  // namespace weft

#endif
