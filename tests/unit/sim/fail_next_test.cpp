#include <gtest/gtest.h>

#include "base/atomic.hpp"
#include "wait/park.hpp"
#include <weft/testing.hpp>

namespace weft::testing {
namespace {

using namespace std::chrono_literals;

TEST(FailNext, CancelsAtThePlannedCheckpoint) {
  for (std::uint64_t after = 0; after < 3; ++after) {
    EXPECT_TRUE(explore({.schedules = 20}, [after](Simulation& sim) {
      sim.fail_next(Fault::cancel_at_checkpoint, after);
      Nursery nursery;
      nursery.spawn([&sim, after] {
        for (std::uint64_t i = 0; i < after; ++i) {
          sim.check(bool(this_fiber::checkpoint()), "not yet");
        }
        sim.check(!this_fiber::checkpoint(), "now");
        sim.check(!this_fiber::checkpoint(), "and from now on");
      });
      (void)nursery.join();
    }));
  }
}

TEST(FailNext, WakesForNothing) {
  EXPECT_TRUE(explore({.schedules = 20}, [](Simulation& sim) {
    sim.fail_next(Fault::spurious_wake, 1);
    weft::Atomic<std::uint32_t> flag{0};
    (void)this_fiber::sleep_for(1s);  // the first chance
    sim.check(bool(waiting::park_if(flag, 0)), "the second: nobody unparks it");
  }));
}

TEST(FailNext, TakesMemoryAway) {
  EXPECT_TRUE(explore({.schedules = 20}, [](Simulation& sim) {
    Nursery nursery({.on_failure = OnFailure::wait_for_all});
    sim.fail_next(Fault::allocation_failure);
    const auto stack = nursery.spawn([] {}).join();
    sim.check(stack.error() == Error::out_of(Resource::stacks), "no stack");
    sim.fail_next(Fault::allocation_failure);
    const auto timer = this_fiber::sleep_for(1s);  // a plan spares nobody
    sim.check(timer.error() == Error::out_of(Resource::memory), "no timer");
    sim.check(bool(this_fiber::sleep_for(1s)), "once");
    (void)nursery.join();
  }));
}

TEST(FailNext, RefusesASpawn) {
  EXPECT_TRUE(explore({.schedules = 20}, [](Simulation& sim) {
    Nursery nursery;
    sim.fail_next(Fault::spawn_refused, 1);
    sim.check(bool(nursery.try_spawn([] {})), "the first");
    const auto refused = nursery.try_spawn([] {});
    sim.check(!refused && refused.error() == Errc::exhausted, "the second");
    sim.check(bool(nursery.try_spawn([] {})), "the third");
    sim.check(bool(nursery.join()), "without a trace");
  }));
}

TEST(FailNext, LetsTimePass) {
  EXPECT_TRUE(explore({.schedules = 20, .workers = 1}, [](Simulation& sim) {
    const auto begin = sim.now();
    bool woke = false;
    Nursery nursery;
    nursery.spawn([&woke] {
      (void)this_fiber::sleep_for(1h);
      woke = true;
    });
    sim.wait_until_all_parked();
    sim.fail_next(Fault::time_passes);
    while (!woke) this_fiber::yield();
    sim.check(sim.now() - begin == 1h, "to the deadline");
    (void)nursery.join();
  }));
}

TEST(FailNext, IsToldInTheReport) {
  const auto result = explore([](Simulation& sim) {
    sim.fail_next(Fault::cancel_at_checkpoint);
    sim.check(bool(this_fiber::checkpoint()), "it goes on");
  });
  EXPECT_EQ(result.verdict, Verdict::assertion);
  EXPECT_NE(result.report.find("comes to a checkpoint, is cancelled"),
            std::string::npos)
      << result.report;
}

TEST(FailNext, IsForgottenInTheNextSchedule) {
  int runs = 0;
  EXPECT_TRUE(explore({.schedules = 5}, [&runs](Simulation& sim) {
    Nursery nursery;
    sim.check(bool(nursery.try_spawn([] {})), "none is left of the last run");
    (void)nursery.join();
    sim.fail_next(Fault::spawn_refused);
    ++runs;
  }));
  EXPECT_EQ(runs, 6);  // the first one twice
}

}  // namespace
}  // namespace weft::testing
