// What an exploration says of a body that fails in unusual ways.

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include <weft/testing.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using testing::explore;
using testing::ExploreOptions;
using testing::ExploreResult;
using testing::Fault;
using testing::Simulation;
using testing::Verdict;

const ExploreOptions kQuiet{.schedules = 50, .print = false};

// A failure that was seen is never reported as passed, however rare.
TEST(Failure, IsAFailureEvenIfItComesBackOnlySomeTimes) {
  for (int times = 1; times <= 20; ++times) {
    int runs = 0;
    const auto result = explore(kQuiet, [&](Simulation& sim) {
      Nursery nursery;
      nursery.spawn([] {});
      nursery.spawn([] {});
      EXPECT_TRUE(nursery.join());
      ++runs;
      sim.check(runs < 3 || runs >= 3 + times, "rarely");
    });
    EXPECT_FALSE(result) << times;
    EXPECT_FALSE(result.report.empty());
  }
}

TEST(Failure, OfANurseryThatWasNotJoinedIsTheBodys) {
  const auto thrown = explore(kQuiet, [](Simulation&) {
    Nursery nursery;
    (void)nursery.spawn([] { throw std::runtime_error("thrown by a child"); })
        .wait();
  });
  EXPECT_EQ(thrown.verdict, Verdict::exception);
  EXPECT_NE(thrown.report.find("thrown by a child"), std::string::npos);
  const auto returned = explore(kQuiet, [](Simulation&) {
    Nursery nursery;
    (void)nursery.spawn([]() -> Status { return Errc::denied; }).wait();
  });
  EXPECT_EQ(returned.verdict, Verdict::exception);
  EXPECT_NE(returned.report.find("denied"), std::string::npos);
}

TEST(Failure, IsATaskThatOutlivesTheBody) {
  std::unique_ptr<Task<int>> kept;
  const auto result = explore(kQuiet, [&](Simulation&) {
    Nursery nursery;
    auto* const task = new Task<int>(nursery.spawn([] { return 1; }));
    EXPECT_TRUE(nursery.join());
    if (kept == nullptr) {
      kept.reset(task);
    } else {
      delete task;
    }
  });
  EXPECT_EQ(result.verdict, Verdict::nondeterministic);  // once only
}

// There is no fiber to leave behind, so the schedule ends a little later.
TEST(Failure, OfACheckInADestructorWithoutAStackIsReported) {
  struct Checks {
    explicit Checks(Simulation& its) : sim(&its) {}
    Checks(Checks&& other) noexcept : sim(std::exchange(other.sim, nullptr)) {}
    ~Checks() {
      if (sim != nullptr) sim->check(ran, "its fiber ran");
    }
    Simulation* sim;
    bool ran = false;
  };
  const auto result = explore(
      {.search = testing::Search::exhaustive,
       .faults = {Fault::allocation_failure},
       .print = false},
      [](Simulation& sim) {
        Nursery nursery;
        nursery.spawn([checks = Checks(sim)]() mutable { checks.ran = true; });
        (void)nursery.join();
      });
  EXPECT_EQ(result.verdict, Verdict::assertion);
  EXPECT_NE(result.report.find("its fiber ran"), std::string::npos);
}

TEST(Failure, KeepsItsExceptionWhileItIsMinimized) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const auto body = [](Simulation&) {
      testing::Atomic<int> first{0};
      Nursery nursery;
      for (int i = 1; i <= 3; ++i) {
        nursery.spawn([&first, i] {
          int nobody = 0;
          first.compare_exchange_strong(nobody, i);
        });
      }
      EXPECT_TRUE(nursery.join());
      throw std::runtime_error("first was " + std::to_string(first.load()));
    };
    const auto found =
        explore({.seed = seed, .minimize = false, .print = false}, body);
    const auto least = explore({.seed = seed, .print = false}, body);
    EXPECT_EQ(found.report.substr(0, found.report.find('\n')),
              least.report.substr(0, least.report.find('\n')));
  }
}

TEST(Explored, NumbersAndSchedulesHaveLimits) {
  EXPECT_DEATH((void)explore(kQuiet,
                             [](Simulation& sim) {
                               (void)sim.choose(std::uint64_t{1} << 32);
                             }),
               "a choice of more than");
  EXPECT_DEATH((void)explore({.schedules = 0}, [](Simulation&) {}),
               "no schedules");
}

TEST(Explored, TheLastScheduleIsKnownToBeTheLast) {
  const auto result =
      explore({.search = testing::Search::exhaustive, .schedules = 1},
              [](Simulation&) {});
  EXPECT_TRUE(result);
  EXPECT_TRUE(result.complete);
}

TEST(Explored, MorePriorityChangesThanChoicesDoNoHarm) {
  EXPECT_TRUE(explore({.search = testing::Search::pct,
                       .schedules = 10,
                       .depth = testing::kNoBound},
                      [](Simulation&) {
                        Nursery nursery;
                        for (int i = 0; i < 3; ++i) nursery.spawn([] {});
                        EXPECT_TRUE(nursery.join());
                      }));
}

// Nobody knows how many there are to be: the string must say how many there
// were.
TEST(Explored, ItsStringNamesTheWorkersThatThereWere) {
  const auto body = [](Simulation& sim) { sim.check(false, "never"); };
  const auto result = explore(kQuiet, body);
  EXPECT_EQ(result.replay, "w2:");
  const auto unbounded = explore({.search = testing::Search::exhaustive,
                                  .depth = testing::kNoBound,
                                  .print = false},
                                 body);
  EXPECT_EQ(unbounded.replay, "w16:");
}

}  // namespace
}  // namespace weft
