#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "support/gate.hpp"
#include <weft/testing.hpp>

namespace weft::testing {
namespace {

using namespace std::chrono_literals;
using test::Gate;

// Over some schedules, each of which must pass.
void in_time(const std::function<void(Simulation&)>& body) {
  EXPECT_TRUE(explore({.schedules = 100}, body));
  EXPECT_TRUE(explore({.search = Search::pct, .schedules = 100}, body));
}

TEST(VirtualTime, PassesByExactlyWhatIsSlept) {
  in_time([](Simulation& sim) {
    const auto begin = sim.now();
    sim.check(bool(this_fiber::sleep_for(1h)), "it sleeps");
    sim.check(sim.now() - begin == 1h, "an hour");
    sim.check(Clock::now() == sim.now(), "the one clock");
  });
}

TEST(VirtualTime, BeginsTheSameInEachSchedule) {
  std::vector<Clock::time_point> begins;
  EXPECT_TRUE(explore({.schedules = 10}, [&begins](Simulation& sim) {
    begins.push_back(sim.now());
    sim.advance(1h);
  }));
  for (const auto begin : begins) EXPECT_EQ(begin, begins[0]);
}

TEST(VirtualTime, StandsStillWhileFibersRun) {
  in_time([](Simulation& sim) {
    const auto begin = sim.now();
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([] {
        for (int turn = 0; turn < 3; ++turn) this_fiber::yield();
      });
    }
    (void)nursery.join();
    sim.check(sim.now() == begin, "not a moment");
  });
}

TEST(VirtualTime, WakesSleepersInTheOrderOfTheirDeadlines) {
  in_time([](Simulation& sim) {
    const auto begin = sim.now();
    std::vector<int> order;
    Nursery nursery;
    for (const int hours : {3, 1, 4, 2}) {
      nursery.spawn([&, hours] {
        (void)this_fiber::sleep_for(1h * hours);
        sim.check(sim.now() - begin == 1h * hours, "on time");
        order.push_back(hours);
      });
    }
    (void)nursery.join();
    sim.check(order == std::vector{1, 2, 3, 4}, "the earliest first");
  });
}

TEST(VirtualTime, IsAdvancedFromDeadlineToDeadline) {
  in_time([](Simulation& sim) {
    const auto begin = sim.now();
    int ticks = 0;
    Nursery nursery;
    nursery.spawn([&] {
      for (int i = 0; i < 10; ++i) {
        (void)this_fiber::sleep_for(1s);
        ++ticks;
      }
    });
    sim.wait_until_all_parked();
    sim.advance(3500ms);
    sim.check(sim.now() - begin == 3500ms, "as far as asked");
    sim.check(ticks == 3, "what fell due has run");
    sim.advance(0s);
    sim.check(ticks == 3, "no time, no tick");
    (void)nursery.join();
    sim.check(sim.now() - begin == 10s, "to the last deadline");
  });
}

TEST(VirtualTime, AdvancesForABodyAlone) {
  in_time([](Simulation& sim) {
    const auto begin = sim.now();
    sim.advance(1h);
    sim.check(sim.now() - begin == 1h, "an hour");
  });
}

// ---- Until all are parked

TEST(WaitUntilAllParked, ReturnsWhenAllOthersWait) {
  in_time([](Simulation& sim) {
    const auto begin = sim.now();
    Gate gate;
    Nursery nursery;
    for (int i = 0; i < 4; ++i) nursery.spawn([&gate] { (void)gate.pass(); });
    sim.wait_until_all_parked();
    sim.check(gate.waiting() == 4, "all wait");
    sim.check(sim.now() == begin, "time stands still");
    gate.open();
    (void)nursery.join();
  });
}

TEST(WaitUntilAllParked, LetsWhoYieldsComeToItsWaitFirst) {
  in_time([](Simulation& sim) {
    Gate gate;
    Nursery nursery;
    for (int turns = 0; turns < 4; ++turns) {
      nursery.spawn([&gate, turns] {
        for (int i = 0; i < turns * 5; ++i) this_fiber::yield();
        (void)gate.pass();
      });
    }
    sim.wait_until_all_parked();
    sim.check(gate.waiting() == 4, "all wait");
    gate.open();
    (void)nursery.join();
  });
}

TEST(WaitUntilAllParked, DoesNotWaitForSleepers) {
  in_time([](Simulation& sim) {
    const auto begin = sim.now();
    bool woke = false;
    Nursery nursery;
    nursery.spawn([&woke] {
      (void)this_fiber::sleep_for(1ns);
      woke = true;
    });
    sim.wait_until_all_parked();
    sim.check(!woke && sim.now() == begin, "time stands still");
    (void)nursery.join();
    sim.check(woke, "it passes in the join");
  });
}

TEST(WaitUntilAllParked, ReturnsAtOnceAlone) {
  in_time([](Simulation& sim) {
    sim.wait_until_all_parked();
    sim.wait_until_all_parked();
  });
}

TEST(WaitUntilAllParked, MayBeWaitedForBySeveral) {
  in_time([](Simulation& sim) {
    Gate gate;
    int looked = 0;
    Nursery nursery;
    nursery.spawn([&gate] { (void)gate.pass(); });
    Nursery lookers;
    for (int i = 0; i < 3; ++i) {
      lookers.spawn([&] {
        sim.wait_until_all_parked();
        sim.check(gate.waiting() == 1, "it waits");
        ++looked;
      });
    }
    (void)lookers.join();
    sim.check(looked == 3, "all have looked");
    gate.open();
    (void)nursery.join();
  });
}

// ---- Deadlines

TEST(VirtualTime, EndsWaitsAtTheirDeadlines) {
  in_time([](Simulation& sim) {
    const auto begin = sim.now();
    Gate never;
    const auto end = never.pass(Deadline::after(2h));
    sim.check(!end && end.error() == Errc::timed_out, "timed out");
    sim.check(sim.now() - begin == 2h, "on time");
    sim.check(never.waiting() == 0, "nobody waits");
  });
}

TEST(VirtualTime, EndsJoinsAtTheirDeadlines) {
  in_time([](Simulation& sim) {
    const auto begin = sim.now();
    Nursery nursery;
    auto task = nursery.spawn([] { return this_fiber::sleep_for(3h); });
    const auto one = task.wait(Deadline::after(1h));
    sim.check(!one && one.error() == Errc::timed_out, "of the task");
    sim.check(sim.now() - begin == 1h, "after an hour");
    const auto all = nursery.join(Deadline::after(1h));
    sim.check(!all && all.error() == Errc::timed_out, "of the nursery");
    sim.check(sim.now() - begin == 2h, "after two hours");
    sim.check(bool(task.join()) && bool(nursery.join()), "they end");
    sim.check(sim.now() - begin == 3h, "after three hours");
  });
}

TEST(VirtualTime, LetsAWakeBeatItsDeadline) {
  in_time([](Simulation& sim) {
    const auto begin = sim.now();
    Gate gate;
    Nursery nursery;
    nursery.spawn([&] {
      (void)this_fiber::sleep_for(59min);
      gate.open();
    });
    sim.check(bool(gate.pass(Deadline::after(1h))), "it opens before");
    sim.check(sim.now() - begin == 59min, "on time");
    (void)nursery.join();
  });
}

// Both are due at once: either may come first, and both do come.
TEST(VirtualTime, LeavesItOpenWhoIsFirstOfEqualDeadlines) {
  std::vector<int> firsts;
  const auto result =
      explore({.search = Search::exhaustive}, [&firsts](Simulation&) {
        int first = 0;
        Nursery nursery;
        for (const int mine : {1, 2}) {
          nursery.spawn([&first, mine] {
            (void)this_fiber::sleep_for(1s);
            if (first == 0) first = mine;
          });
        }
        (void)nursery.join();
        firsts.push_back(first);
      });
  EXPECT_TRUE(result.complete);
  EXPECT_NE(std::ranges::count(firsts, 1), 0);
  EXPECT_NE(std::ranges::count(firsts, 2), 0);
}

}  // namespace
}  // namespace weft::testing
