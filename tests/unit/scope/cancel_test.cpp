// cancel_test.cpp: scopes and shields of one fiber.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "support/death_test.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

class CancelTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, CancelTest, ::testing::Values(1u, 2u));

TEST_P(CancelTest, EndsAtTheScopeThatWasAsked) {
  in_fiber([] {
    CancelScope outer;
    {
      CancelScope inner;
      inner.cancel();
      EXPECT_TRUE(inner.cancelled());
      EXPECT_EQ(this_fiber::checkpoint().error(), Errc::cancelled);
      EXPECT_TRUE(this_fiber::cancelled());
    }
    EXPECT_FALSE(outer.cancelled());
    EXPECT_FALSE(this_fiber::cancelled());
    EXPECT_TRUE(this_fiber::checkpoint());
    EXPECT_TRUE(this_fiber::sleep_for(1us));
  });
}

TEST_P(CancelTest, ReachesAScopeFromAnotherFiber) {
  in_fiber([] {
    std::optional<CancelScope> scope;
    Event open;
    Nursery nursery;
    auto sleeper = nursery.spawn([&]() -> Status {
      scope.emplace();
      open.set();
      const Status end = this_fiber::sleep_for(1h);
      scope.reset();
      EXPECT_TRUE(this_fiber::checkpoint());
      return end;
    });
    ASSERT_TRUE(open.wait());
    scope->cancel();
    // Nobody cancelled the fiber, so this is a failure like any other.
    EXPECT_EQ(sleeper.join().error(), Errc::cancelled);
    EXPECT_EQ(nursery.join().error(), Errc::cancelled);
  });
}

TEST_P(CancelTest, StopsTheNurseriesInside) {
  in_fiber([] {
    std::atomic<int> stopped{0};
    CancelScope scope;
    Nursery nursery;
    for (int i = 0; i < 100; ++i) {
      nursery.spawn([&] {
        stopped += this_fiber::sleep_for(1h).error() == Errc::cancelled;
      });
    }
    scope.cancel();
    EXPECT_EQ(nursery.join().error(), Errc::cancelled);
    EXPECT_FALSE(nursery.cancelled());  // from outside
    EXPECT_LE(stopped, 100);            // the others never started
    EXPECT_EQ(nursery.live(), 0u);
  });
}

TEST_P(CancelTest, CountsADeadlineThatHasPassed) {
  in_fiber([] {
    CancelScope scope(Deadline::after(-1s));
    EXPECT_TRUE(scope.timed_out());
    EXPECT_FALSE(scope.cancelled());
    EXPECT_EQ(this_fiber::checkpoint().error(), Errc::timed_out);
  });
}

TEST_P(CancelTest, LeavesAScopeInsideOfANurseryThatIsOver) {
  in_fiber([] {
    Nursery nursery;
    const CancelScope limit;
    nursery.cancel();
    EXPECT_TRUE(this_fiber::cancelled());
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(this_fiber::checkpoint());
  });
}

TEST_P(CancelTest, MovesADeadlineEitherWay) {
  in_fiber([] {
    CancelScope scope(Deadline::after(1h));
    scope.set_deadline(Deadline::after(1ms));
    EXPECT_EQ(this_fiber::sleep_for(1h).error(), Errc::timed_out);
  });
  in_fiber([] {
    CancelScope scope(Deadline::after(1h));
    scope.set_deadline(Deadline::never());
    EXPECT_EQ(this_fiber::deadline(), Deadline::never());
    scope.set_deadline(Deadline::after(-1s));
    EXPECT_TRUE(scope.timed_out());
    scope.set_deadline(Deadline::after(1h));  // too late
    EXPECT_EQ(this_fiber::checkpoint().error(), Errc::timed_out);
  });
}

TEST_P(CancelTest, TellsTheEarliestDeadlineAround) {
  in_fiber([] {
    const auto soon = Deadline::after(1h);
    const auto late = Deadline::after(2h);
    EXPECT_EQ(this_fiber::deadline(), Deadline::never());
    CancelScope outer(soon);
    CancelScope inner(late);
    EXPECT_EQ(this_fiber::deadline(), soon);
    Nursery nursery;
    auto child = nursery.spawn([] { return this_fiber::deadline(); });
    EXPECT_EQ(child.join().value(), soon);  // R-NURS-11: inherited
    {
      Shield shield(late);
      EXPECT_EQ(this_fiber::deadline(), late);
    }
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(CancelTest, KeepsTheOuterDeadlineWhenTheInnerScopeIsOver) {
  in_fiber([] {
    CancelScope outer(Deadline::after(2ms));
    {
      CancelScope inner(Deadline::after(1ms));
      EXPECT_EQ(this_fiber::sleep_for(1h).error(), Errc::timed_out);
    }
    EXPECT_EQ(this_fiber::sleep_for(1h).error(), Errc::timed_out);
    EXPECT_TRUE(outer.timed_out());
  });
}

TEST_P(CancelTest, ShieldsWhatIsInsideAndNothingElse) {
  in_fiber([] {
    CancelScope outer;
    {
      Shield shield;
      outer.cancel();
      EXPECT_FALSE(this_fiber::cancelled());
      EXPECT_TRUE(this_fiber::sleep_for(1us));
      {
        CancelScope inner;
        inner.cancel();
        EXPECT_EQ(this_fiber::sleep_for(1h).error(), Errc::cancelled);
        {
          Shield again;
          EXPECT_TRUE(this_fiber::sleep_for(1us));
        }
        EXPECT_EQ(this_fiber::sleep_for(1h).error(), Errc::cancelled);
      }
      EXPECT_TRUE(this_fiber::sleep_for(1us));
    }
    EXPECT_EQ(this_fiber::sleep_for(1h).error(), Errc::cancelled);
  });
}

// A parked fiber, stopped from outside of its shield and then from inside. That
// it is ready for a moment says nothing: wakes for nothing are allowed.
TEST_P(CancelTest, WakesAShieldedFiberForItsInnerScopeAlone) {
  in_fiber([] {
    std::optional<CancelScope> inner;
    std::atomic<bool> slept{false};
    Nursery nursery;
    auto child = nursery.spawn([&] {
      Shield shield;
      inner.emplace();
      const Status end = this_fiber::sleep_for(1h);
      slept = true;
      inner.reset();
      EXPECT_EQ(end.error(), Errc::cancelled);
    });
    await_parked(child);
    child.cancel();
    nursery.cancel();
    for (int i = 0; i < 100; ++i) this_fiber::yield();
    EXPECT_FALSE(slept);
    inner->cancel();
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(CancelTest, ShieldsTheNurseriesInsideOfAShield) {
  in_fiber([] {
    CancelScope outer;
    outer.cancel();
    Shield shield;
    Nursery nursery;
    auto child = nursery.spawn([] { return this_fiber::sleep_for(1us); });
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(CancelTest, WorksOnAPlainThread) {
  CancelScope scope;
  std::atomic<bool> ready{false};
  std::thread canceller([&] {
    while (!ready) std::this_thread::yield();
    scope.cancel();
  });
  ready = true;
  EXPECT_EQ(Event().wait().error(), Errc::cancelled);
  canceller.join();
}

// B-13: what a fiber has around it goes with it from worker to worker.
TEST_P(CancelTest, GoesWithTheFiberFromWorkerToWorker) {
  in_fiber([] {
    // Far away: simulated time passes in leaps while all do nothing but yield.
    const auto when = Deadline::after(24h * 365 * 100);
    Nursery nursery({.deadline = when});
    for (int i = 0; i < 8; ++i) {
      nursery.spawn([when] {
        CancelScope scope;
        for (int turn = 0; turn < 200; ++turn) {
          this_fiber::yield();
          EXPECT_EQ(this_fiber::deadline(), when);
          EXPECT_FALSE(this_fiber::cancelled());
        }
        scope.cancel();
        this_fiber::yield();
        EXPECT_TRUE(this_fiber::cancelled());
      });
    }
    EXPECT_TRUE(nursery.join());
  });
}

// A stop that races with the end of the scope ends no wait behind it.
TEST_P(CancelTest, EndsNoWaitBehindTheScope) {
  in_fiber([] {
    for (int round = 0; round < 300; ++round) {
      auto [sender, receiver] = make_channel<int>(0);
      Nursery nursery;
      nursery.spawn([&, sender = std::move(sender)]() mutable {
        {
          CancelScope scope(Deadline::after(std::chrono::microseconds(
              static_cast<int>(this_fiber::id().value % 7))));
          (void)sender.send(1);
        }
        EXPECT_TRUE(this_fiber::sleep_for(1us));
      });
      (void)receiver.receive(Deadline::after(3us));
      EXPECT_TRUE(nursery.join());
    }
  });
}

// On real workers: it takes time that only computing lets pass.
using CancelClockTest = test::RuntimeTest;

TEST_F(CancelClockTest, SeesTheDeadlineOfAFiberThatComputes) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([] {
    CancelScope scope(Deadline::after(1ms));
    while (!this_fiber::cancelled()) {
    }
    EXPECT_TRUE(scope.timed_out());
  }));
}

using CancelDeathTest = test::FreshProcessTest;

TEST_F(CancelDeathTest, DiesIfAScopeEndsBeforeOneInsideOfIt) {
  EXPECT_DEATH(
      {
        auto runtime = Runtime::start({.workers = 1});
        (void)runtime->run([] {
          std::optional<CancelScope> outer;
          outer.emplace();
          CancelScope inner;
          outer.reset();
        });
      },
      "ends while one that was opened inside of it is still open");
}

TEST_F(CancelDeathTest, DiesIfAFiberEndsInsideOfItsScope) {
  EXPECT_DEATH(
      {
        auto runtime = Runtime::start({.workers = 1});
        (void)runtime->run([] { (void)new CancelScope; });
      },
      "ended inside of a scope");
}

TEST_F(CancelDeathTest, DiesOfADeadlineOnAPlainThread) {
  EXPECT_DEATH({ CancelScope scope(Deadline::after(1h)); },
               "a scope with a deadline on a plain thread");
}

// Its own runtime watches the clock; the other one may be gone by then.
TEST_P(CancelTest, HasADeadlineFromAThreadOfAnotherRuntime) {
  std::atomic<CancelScope*> scope{nullptr};
  Nursery nursery(runtime());
  auto sleeper = nursery.spawn([&] {
    CancelScope own;
    scope = &own;
    EXPECT_EQ(this_fiber::sleep_until(Deadline::never()).error(),
              Errc::timed_out);
  });
  {
    Runtime other = start({.workers = 1});
    EXPECT_TRUE(other.run([&] {
      while (scope.load() == nullptr) this_fiber::yield();
      scope.load()->set_deadline(Deadline::after(1ms));
    }));
  }
  EXPECT_TRUE(sleeper.join());
  EXPECT_TRUE(nursery.join());
}

}  // namespace
}  // namespace weft
