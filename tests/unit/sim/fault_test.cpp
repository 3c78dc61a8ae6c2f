#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <sstream>
#include <string>

#include "base/atomic.hpp"
#include "support/gate.hpp"
#include "wait/park.hpp"
#include <weft/testing.hpp>

namespace weft::testing {
namespace {

using namespace std::chrono_literals;
using test::Gate;

// What fibers saw, over all schedules.
class Seen {
 public:
  void add(const std::string& where, const Status& end) {
    all_.insert(where + ": " + (end ? "ok" : end.error().message()));
  }
  bool has(const std::string& what) const { return all_.contains(what); }
  std::string text() const {
    std::string text;
    for (const auto& one : all_) text += one + "\n";
    return text;
  }
  std::size_t size() const { return all_.size(); }

 private:
  std::set<std::string> all_;
};

// Every schedule with at most two preemptions, and where the fault may be.
ExploreResult try_all(Fault fault, const std::function<void(Simulation&)>& body,
                      unsigned max_faults = 1) {
  const auto result = explore({.search = Search::exhaustive,
                               .schedules = 100'000,
                               .depth = 1,
                               .faults = {fault},
                               .max_faults = max_faults},
                              body);
  EXPECT_TRUE(result) << result;
  EXPECT_TRUE(result.complete);
  return result;
}

// ---- A cancel

// Comes to each cancel point once.
void pass_cancel_points(Seen& seen, Task<>& sibling) {
  seen.add("checkpoint", this_fiber::checkpoint());
  seen.add("sleep", this_fiber::sleep_for(1s));
  Gate gate;
  seen.add("wait", gate.pass(Deadline::after(1s)));
  Nursery nursery;
  seen.add("join", sibling.wait());  // which this cancel does not reach
  weft::Atomic<std::uint32_t> flag{0};
  nursery.spawn([&flag, self = waiting::park_handle()] {
    flag.store(1, release);
    waiting::unpark(self);
  });
  Status end;
  do {
    end = waiting::park_if(flag, 0);
  } while (end && flag.load(acquire) == 0);  // woken for nothing
  seen.add("park", end);
  (void)nursery.join();
}

TEST(Faults, CancelAtEachCancelPoint) {
  Seen seen;
  (void)try_all(Fault::cancel_at_checkpoint, [&seen](Simulation&) {
    Nursery nursery;
    auto sibling = nursery.spawn([] {});
    nursery.spawn([&] { pass_cancel_points(seen, sibling); });
    (void)nursery.join();
  });
  for (const std::string where :
       {"checkpoint", "sleep", "wait", "join", "park"}) {
    EXPECT_TRUE(seen.has(where + ": cancelled")) << where << "\n"
                                                 << seen.text();
  }
  for (const std::string what : {"checkpoint: ok", "sleep: ok",
                                 "wait: timed_out", "join: ok", "park: ok"}) {
    EXPECT_TRUE(seen.has(what)) << what << "\n" << seen.text();
  }
}

// Who is cancelled stays so: how many points came before it tells the place.
TEST(Faults, CancelAtAnyOfSeveralCheckpoints) {
  std::set<int> passed;
  (void)try_all(Fault::cancel_at_checkpoint, [&passed](Simulation&) {
    Nursery nursery;
    nursery.spawn([&passed] {
      int before = 0;
      while (before < 4 && this_fiber::checkpoint()) ++before;
      passed.insert(before);
    });
    (void)nursery.join();
  });
  EXPECT_EQ(passed, (std::set{0, 1, 2, 3, 4}));
}

// ---- A wake for nothing

TEST(Faults, WakeAWaitForNothingWhichGoesOn) {
  std::uint64_t schedules = 0;
  const auto body = [](Simulation& sim) {
    Gate gate;
    bool open = false;
    Nursery nursery;
    nursery.spawn([&] {
      sim.check(bool(gate.pass()), "it passes");
      sim.check(open, "not before it is open");
    });
    sim.wait_until_all_parked();
    open = true;
    gate.open();
    (void)nursery.join();
  };
  schedules = try_all(Fault::spurious_wake, body).schedules;
  const auto without =
      explore({.search = Search::exhaustive, .depth = 1}, body);
  EXPECT_TRUE(without.complete);
  EXPECT_GT(schedules, without.schedules);  // it has been tried
}

TEST(Faults, WakeSleepsAndJoinsForNothingWhichGoOn) {
  (void)try_all(Fault::spurious_wake, [](Simulation& sim) {
    const auto begin = sim.now();
    Nursery nursery;
    nursery.spawn([&] {
      Nursery own;
      auto child = own.spawn([] { return this_fiber::sleep_for(1h); });
      sim.check(bool(child.join()), "it ends");
      sim.check(bool(own.join()), "all end");
      sim.check(sim.now() - begin == 1h, "after an hour");
    });
    (void)nursery.join();
  });
}

TEST(Faults, WakeARawParkForNothing) {
  std::set<int> parks;
  (void)try_all(
      Fault::spurious_wake,
      [&parks](Simulation& sim) {
        weft::Atomic<std::uint32_t> flag{0};
        waiting::ParkHandle parker;
        int parked = 0;
        Nursery nursery;
        nursery.spawn([&] {
          parker = waiting::park_handle();
          while (flag.load(acquire) == 0) {
            (void)waiting::park_if(flag, 0);
            ++parked;
          }
        });
        sim.wait_until_all_parked();
        flag.store(1, release);
        waiting::unpark(parker);
        (void)nursery.join();
        parks.insert(parked);
      },
      2);
  EXPECT_TRUE(parks.contains(1));
  EXPECT_EQ(parks.size(), 3u);  // without, with one, with two
}

// A park that takes any return for what it waits for.
TEST(Faults, ShowAParkThatDoesNotLookAgain) {
  const ExploreOptions options{.search = Search::exhaustive,
                               .faults = {Fault::spurious_wake}};
  const auto body = [](Simulation& sim) {
    weft::Atomic<std::uint32_t> flag{0};
    waiting::ParkHandle parker;
    Nursery nursery;
    nursery.spawn([&] {
      parker = waiting::park_handle();
      (void)waiting::park_if(flag, 0);
      sim.check(flag.load(relaxed) == 1, "woken for something");
    });
    sim.wait_until_all_parked();
    flag.store(1, release);
    waiting::unpark(parker);
    (void)nursery.join();
  };
  EXPECT_TRUE(explore({.search = Search::exhaustive}, body));
  const auto result = explore(options, body);
  EXPECT_EQ(result.verdict, Verdict::assertion);
  EXPECT_NE(result.report.find("is woken for nothing"), std::string::npos)
      << result.report;
}

// ---- No memory

TEST(Faults, LeaveAFiberWithoutAStack) {
  Seen seen;
  (void)try_all(Fault::allocation_failure, [&seen](Simulation& sim) {
    bool ran = false;
    Nursery nursery;
    auto task = nursery.spawn([&ran] { ran = true; });
    const auto end = task.join();
    seen.add("body", end);
    sim.check(ran == end.has_value(), "it ran or failed");
    sim.check(nursery.join().has_value() == end.has_value(), "as all did");
  });
  EXPECT_TRUE(seen.has("body: ok")) << seen.text();
  EXPECT_TRUE(seen.has("body: exhausted: stacks")) << seen.text();
  EXPECT_EQ(seen.size(), 2u) << seen.text();
}

TEST(Faults, LeaveADeadlineWithoutATimer) {
  Seen seen;
  (void)try_all(Fault::allocation_failure, [&seen](Simulation&) {
    Nursery nursery;
    nursery.spawn([&seen] {
      Gate never;
      seen.add("wait", never.pass(Deadline::after(1s)));
      seen.add("sleep", this_fiber::sleep_for(1s));
    });
    (void)nursery.join();
  });
  for (const std::string what : {"wait: timed_out", "wait: exhausted: memory",
                                 "sleep: ok", "sleep: exhausted: memory"}) {
    EXPECT_TRUE(seen.has(what)) << what << "\n" << seen.text();
  }
}

TEST(Faults, RefuseASpawn) {
  Seen seen;
  (void)try_all(Fault::spawn_refused, [&seen](Simulation&) {
    Nursery nursery;
    nursery.spawn([&seen] {
      Nursery own;
      auto child = own.try_spawn([] {});
      seen.add("try_spawn", child ? Status() : Status(child.error()));
      seen.add("spawn", own.spawn([] {}).join());
      (void)own.join();
    });
    (void)nursery.join();
  });
  for (const std::string where : {"try_spawn", "spawn"}) {
    EXPECT_TRUE(seen.has(where + ": ok")) << seen.text();
    EXPECT_TRUE(seen.has(where + ": exhausted: tasks")) << seen.text();
  }
  EXPECT_EQ(seen.size(), 4u) << seen.text();
}

// ---- Time

TEST(Faults, LetADeadlinePassWhileOthersCouldRun) {
  std::set<std::string> ends;
  const auto body = [&ends](Simulation&) {
    Gate gate;
    Nursery nursery;
    nursery.spawn([&] {
      ends.insert(gate.pass(Deadline::after(1h)) ? "opened" : "too late");
    });
    nursery.spawn([&] {
      this_fiber::yield();
      gate.open();
    });
    (void)nursery.join();
  };
  EXPECT_TRUE(explore({.search = Search::exhaustive, .depth = 1}, body));
  EXPECT_EQ(ends, (std::set<std::string>{"opened"}));
  (void)try_all(Fault::time_passes, body);
  EXPECT_EQ(ends, (std::set<std::string>{"opened", "too late"}));
}

// ---- How many, and whom

// Answers how many of so many checkpoints, each in a fiber of its own, failed;
// over all schedules.
std::set<int> cancelled_of(int fibers, unsigned max_faults) {
  std::set<int> counts;
  (void)try_all(
      Fault::cancel_at_checkpoint,
      [&](Simulation&) {
        int cancelled = 0;
        Nursery nursery;
        for (int i = 0; i < fibers; ++i) {
          nursery.spawn([&cancelled] {
            if (!this_fiber::checkpoint()) ++cancelled;
          });
        }
        (void)nursery.join();
        counts.insert(cancelled);
      },
      max_faults);
  return counts;
}

TEST(Faults, AreAtMostSoMany) {
  EXPECT_EQ(cancelled_of(2, 0), (std::set{0}));
  EXPECT_EQ(cancelled_of(2, 1), (std::set{0, 1}));
  EXPECT_EQ(cancelled_of(2, 2), (std::set{0, 1, 2}));
}

TEST(Faults, NeitherCancelTheBodyNorTakeItsMemory) {
  for (const auto fault :
       {Fault::cancel_at_checkpoint, Fault::allocation_failure}) {
    const auto result = try_all(fault, [](Simulation& sim) {
      sim.check(bool(this_fiber::checkpoint()), "not cancelled");
      sim.check(bool(this_fiber::sleep_for(1s)), "no lack of timers");
      weft::Atomic<std::uint32_t> flag{0};
      waiting::unpark(waiting::park_handle());
      sim.check(bool(waiting::park_if(flag, 0)), "its own token");
      Gate never;
      const auto end = never.pass(Deadline::after(1s));
      sim.check(end.error() == Errc::timed_out, "a timed wait");
    });
    EXPECT_EQ(result.schedules, 1u) << to_string(fault);
  }
}

TEST(Faults, RefuseASpawnOfTheBody) {
  bool refused = false;
  const auto result = try_all(Fault::spawn_refused, [&](Simulation&) {
    Nursery nursery;
    if (!nursery.try_spawn([] {})) refused = true;
    EXPECT_TRUE(nursery.join());
  });
  EXPECT_TRUE(refused);
  EXPECT_TRUE(result.untried.empty());
}

TEST(Faults, ThatHadNoChanceAreNamed) {
  const auto result = try_all(Fault::spawn_refused, [](Simulation&) {});
  EXPECT_EQ(result.untried, std::vector{Fault::spawn_refused});
  std::ostringstream text;
  text << result;
  EXPECT_NE(text.str().find("spawn_refused: nowhere"), std::string::npos);
}

TEST(Faults, AreOfTheKindsThatAreAskedFor) {
  Seen seen;
  (void)try_all(Fault::spurious_wake, [&seen](Simulation&) {
    Nursery nursery;
    auto sibling = nursery.spawn([] {});
    nursery.spawn([&] { pass_cancel_points(seen, sibling); });
    (void)nursery.join();
  });
  EXPECT_EQ(seen.size(), 5u) << seen.text();  // each as without a fault
}

TEST(Faults, AreTriedByOtherSearchesToo) {
  for (const auto search : {Search::random, Search::pct}) {
    std::set<std::string> ends;
    EXPECT_TRUE(
        explore({.search = search,
                 .schedules = 200,
                 .faults = {Fault::cancel_at_checkpoint, Fault::spurious_wake}},
                [&ends](Simulation&) {
                  Nursery nursery;
                  nursery.spawn([&ends] {
                    ends.insert(this_fiber::sleep_for(1s) ? "slept" : "not");
                  });
                  (void)nursery.join();
                }));
    EXPECT_EQ(ends, (std::set<std::string>{"slept", "not"}));
  }
}

}  // namespace
}  // namespace weft::testing
