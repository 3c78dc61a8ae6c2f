#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/atomic.hpp"
#include "support/death_test.hpp"
#include "support/gate.hpp"
#include "unit/sim/bodies.hpp"
#include "wait/park.hpp"
#include <weft/testing.hpp>

namespace weft::testing {
namespace {

using test::Gate;

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Explore, PassesWhatIsRight) {
  const auto result = explore({.schedules = 50}, test::keep_update);
  EXPECT_EQ(result.verdict, Verdict::passed);
  EXPECT_TRUE(result);
  EXPECT_EQ(result.schedules, 50u);
  EXPECT_GT(result.distinct, 1u);
  EXPECT_FALSE(result.complete);
  EXPECT_TRUE(result.replay.empty());
  EXPECT_TRUE(result.report.empty());
}

TEST(Explore, RunsABodyThatDoesNothing) {
  const auto result = explore([](Simulation&) {});
  EXPECT_TRUE(result);
  EXPECT_EQ(result.schedules, 1'000u);
  EXPECT_EQ(result.distinct, 1u);
}

TEST(Explore, RunsTheBodyAsAFiber) {
  EXPECT_TRUE(explore({.schedules = 1}, [](Simulation& sim) {
    sim.check(this_fiber::is_fiber(), "a fiber");
    sim.check(this_fiber::name() == "test", "with a name");
    sim.check(sim.runtime().worker_count() == 2, "of two workers");
  }));
}

TEST(Explore, HasAsManyWorkersAsAsked) {
  for (const unsigned workers : {1u, 2u, 5u}) {
    EXPECT_TRUE(explore({.schedules = 10, .workers = workers},
                        [workers](Simulation& sim) {
                          test::keep_update(sim);
                          sim.check(sim.runtime().worker_count() == workers,
                                    "as many workers as asked");
                        }));
  }
}

TEST(Explore, FindsALostUpdateBySearchesOfAllKinds) {
  for (const auto search : {Search::random, Search::pct, Search::exhaustive}) {
    const auto result = explore({.search = search}, test::lose_update);
    EXPECT_EQ(result.verdict, Verdict::assertion);
    expect_in(result.report, "both count");
  }
}

TEST(Explore, CompletesAnExhaustiveSearch) {
  const auto result =
      explore({.search = Search::exhaustive, .depth = 2}, test::keep_update);
  EXPECT_TRUE(result);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.distinct, result.schedules);
}

TEST(Explore, StopsAtTheFirstFailure) {
  const auto result =
      explore([](Simulation& sim) { sim.check(false, "never"); });
  EXPECT_EQ(result.schedules, 1u);
  EXPECT_FALSE(result);
}

TEST(Explore, ReportsWhatFailedHowAndHowToReplay) {
  const auto result = explore(test::lose_update);
  expect_in(result.report, "assertion failed: both count");
  expect_in(result.report, "fiber 1 \"test\": begins");
  expect_in(result.report, "fiber 2: begins");
  expect_in(result.report, "uses #1");
  expect_in(result.report, "again: WEFT_REPLAY=" + result.replay);
  std::ostringstream text;
  text << result;
  expect_in(text.str(), "failed after");
  expect_in(text.str(), result.report);
}

TEST(Explore, PrintsAFailureAndNothingElse) {
  ::testing::internal::CaptureStderr();
  (void)explore({.schedules = 10}, test::keep_update);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  const auto result = explore(test::lose_update);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "weft: " + result.report);
}

TEST(Explore, NoticesAnException) {
  const auto result =
      explore([](Simulation&) { throw std::runtime_error("no more thread"); });
  EXPECT_EQ(result.verdict, Verdict::exception);
  expect_in(result.report, "no more thread");
  EXPECT_EQ(explore([](Simulation&) { throw 1; }).verdict, Verdict::exception);
}

TEST(Explore, NoticesAnExceptionOfAChildThatIsRethrown) {
  const auto result = explore([](Simulation&) {
    Nursery nursery;
    nursery.spawn([] { throw std::runtime_error("of a child"); });
    (void)nursery.join();
  });
  EXPECT_EQ(result.verdict, Verdict::exception);
  expect_in(result.report, "of a child");
}

TEST(Explore, NoticesADeadlockAndSaysWhoWaits) {
  const auto result = explore([](Simulation&) {
    Gate gate;
    Nursery nursery;
    nursery.spawn({.name = "late"}, [&gate] { (void)gate.pass(); });
    (void)nursery.join();
  });
  EXPECT_EQ(result.verdict, Verdict::deadlock);
  expect_in(result.report, "every fiber waits");
  expect_in(result.report, "fiber 1 \"test\" joins its children");
  expect_in(result.report, "fiber 2 \"late\" waits on #1");
  EXPECT_EQ(result.report.find("which is ready"), std::string::npos);
}

TEST(Explore, FindsADeadlockOfTwoLocks) {
  struct Lock {
    Gate free;
    bool held = false;
    void lock() {
      while (held) this_fiber::yield();
      held = true;
    }
  };
  const auto result = explore({.max_steps = 500}, [](Simulation&) {
    Lock a;
    Lock b;
    const auto both = [](Lock& first, Lock& second) {
      first.lock();
      point();
      second.lock();
      second.held = first.held = false;
    };
    Nursery nursery;
    nursery.spawn([&] { both(a, b); });
    nursery.spawn([&] { both(b, a); });
    (void)nursery.join();
  });
  EXPECT_EQ(result.verdict, Verdict::step_limit);  // they spin
}

TEST(Explore, TellsALostWakeFromADeadlock) {
  const auto result = explore([](Simulation&) {
    test::DeafGate gate;
    Nursery nursery;
    nursery.spawn([&gate] { (void)gate.pass(); });
    nursery.spawn([&gate] { gate.open(); });
    (void)nursery.join();
  });
  EXPECT_EQ(result.verdict, Verdict::lost_wake);
  expect_in(result.report, "fiber 2 waits for what is there: nobody woke it");
  expect_in(result.report, "which is ready");
}

TEST(Explore, FindsNoLostWakeIfPublishLooksAgain) {
  const auto result =
      explore({.search = Search::exhaustive}, [](Simulation& sim) {
        Gate gate;
        Nursery nursery;
        nursery.spawn([&] { sim.check(bool(gate.pass()), "it opens"); });
        nursery.spawn([&] { gate.open(); });
        (void)nursery.join();
      });
  EXPECT_TRUE(result);
  EXPECT_TRUE(result.complete);
}

TEST(Explore, NoticesARawParkThatNobodyEnded) {
  const auto result = explore([](Simulation&) {
    weft::Atomic<std::uint32_t> flag{0};
    Nursery nursery;
    nursery.spawn([&flag] { (void)waiting::park_if(flag, 0); });
    nursery.spawn([&flag] { flag.store(1, release); });  // and no unpark
    (void)nursery.join();
  });
  EXPECT_EQ(result.verdict, Verdict::lost_wake);
  expect_in(result.report, "fiber 2 parks on #");
}

TEST(Explore, FindsNoLostWakeOfARawParkWithAnUnpark) {
  const auto result = explore({.search = Search::exhaustive}, [](Simulation&) {
    weft::Atomic<std::uint32_t> flag{0};
    waiting::ParkHandle parker = waiting::park_handle();
    Nursery nursery;
    nursery.spawn([&] {
      flag.store(1, release);
      waiting::unpark(parker);
    });
    while (flag.load(acquire) == 0) (void)waiting::park_if(flag, 0);
    (void)nursery.join();
  });
  EXPECT_TRUE(result);
  EXPECT_TRUE(result.complete);
}

TEST(Explore, NoticesAFiberThatOutlivesTheBody) {
  const auto result = explore([](Simulation& sim) {
    struct Left {  // behind, and kept: somebody waits there for good
      explicit Left(RuntimeRef runtime) : nursery(runtime) {}
      Gate never;
      Nursery nursery;
    };
    static auto* const kept = new std::vector<Left*>();
    auto* const left = kept->emplace_back(new Left(sim.runtime()));
    left->nursery.spawn({.name = "lost"}, [left] { (void)left->never.pass(); });
    sim.wait_until_all_parked();
  });
  EXPECT_EQ(result.verdict, Verdict::leaked_fiber);
  expect_in(result.report, "1 fibers outlive the body");
  expect_in(result.report, "fiber 2 \"lost\" waits on #1");
}

TEST(Explore, NoticesFibersThatNeverEnd) {
  const auto result = explore({.max_steps = 200}, [](Simulation&) {
    for (;;) this_fiber::yield();
  });
  EXPECT_EQ(result.verdict, Verdict::step_limit);
  expect_in(result.report, "not ended after 200 steps");
}

TEST(Explore, NoticesABodyThatKeepsState) {
  int runs = 0;
  const auto result = explore([&runs](Simulation&) {
    Nursery nursery;
    for (int i = 0; i <= runs % 2; ++i) nursery.spawn([] {});
    ++runs;
    (void)nursery.join();
  });
  EXPECT_EQ(result.verdict, Verdict::nondeterministic);
  expect_in(result.report, "the body keeps state between runs");
}

TEST(Explore, NoticesAFailureThatDoesNotComeBack) {
  int runs = 0;
  const auto result = explore(
      [&runs](Simulation& sim) { sim.check(++runs != 10, "not the tenth"); });
  EXPECT_EQ(result.verdict, Verdict::nondeterministic);
}

TEST(Explore, NoticesABodyThatKeepsStateInAnExhaustiveSearch) {
  int runs = 0;
  const auto result =
      explore({.search = Search::exhaustive}, [&runs](Simulation&) {
        Nursery nursery;
        const int extra = ++runs > 5 ? 1 : 0;
        for (int i = 0; i < 2 + extra; ++i) nursery.spawn([] {});
        (void)nursery.join();
      });
  EXPECT_EQ(result.verdict, Verdict::nondeterministic);
}

TEST(Explore, GoesOnAfterAFailedSchedule) {
  EXPECT_FALSE(explore(test::lose_update));
  EXPECT_TRUE(explore({.schedules = 20}, test::keep_update));
  EXPECT_FALSE(explore(test::lose_update));
}

TEST(Explore, TracesAHandleThatIsEmpty) {
  const auto result = explore([](Simulation& sim) {
    Task<> none;
    sim.check(!none.done(), "an empty handle has not ended");
  });
  EXPECT_EQ(result.verdict, Verdict::assertion);
  expect_in(result.report, "looks at nobody");
}

TEST(ExploreDeathTest, DiesWhereTimeIsVirtualAlready) {
  test::die_in_a_fresh_process();
  EXPECT_DEATH((void)explore([](Simulation&) { (void)explore([](auto&) {}); }),
               "could not start its runtime .invalid.");
  EXPECT_DEATH(
      {
        auto runtime = Runtime::start({.workers = 1, .deterministic_seed = 1});
        (void)explore([](Simulation&) {});
      },
      "could not start its runtime .invalid.");
}

TEST(Explore, NamesEveryVerdict) {
  EXPECT_STREQ(to_string(Verdict::passed), "passed");
  EXPECT_STREQ(to_string(Verdict::assertion), "assertion failed");
  EXPECT_STREQ(to_string(Verdict::exception), "exception");
  EXPECT_STREQ(to_string(Verdict::deadlock), "deadlock");
  EXPECT_STREQ(to_string(Verdict::lost_wake), "lost wake");
  EXPECT_STREQ(to_string(Verdict::leaked_fiber), "leaked fiber");
  EXPECT_STREQ(to_string(Verdict::step_limit), "step limit");
  EXPECT_STREQ(to_string(Verdict::nondeterministic), "nondeterministic");
}

TEST(Explore, LetsTheSearchChooseNumbers) {
  std::set<std::uint64_t> seen;
  const auto result =
      explore({.search = Search::exhaustive}, [&seen](Simulation& sim) {
        seen.insert(sim.choose(4) * 3 + sim.choose(3));
        sim.check(sim.choose(1) == 0, "nothing to choose");
      });
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.schedules, 12u);
  EXPECT_EQ(seen.size(), 12u);
}

TEST(Explore, RunsFibersOfItsRuntimeFromTheBody) {
  EXPECT_TRUE(explore({.schedules = 10}, [](Simulation& sim) {
    const auto answer = sim.run([] { return 42; });
    sim.check(answer && *answer == 42, "the answer");
  }));
}

}  // namespace
}  // namespace weft::testing
