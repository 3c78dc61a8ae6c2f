// explored_combine_test.cpp: join_all(), join_any(), all(), race(), any(), over
// schedules.

#include <gtest/gtest.h>

#include <chrono>
#include <tuple>
#include <vector>

#include "unit/sync/searches.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Fault;
using test::search_all;
using test::Simulation;
using namespace std::chrono_literals;

TEST(ExploredCombine, AnyTakesASuccessHoweverTheOthersEnd) {
  const auto body = [](Simulation&) {
    int plain = 0;
    const auto winner = any([]() -> Result<int> { return Errc::denied; },
                            [&]() -> Result<int> {
                              testing::point();
                              plain = 1;
                              return 2;
                            });
    ASSERT_TRUE(winner);
    EXPECT_EQ(winner->index, 1u);
    EXPECT_EQ(winner->value, 2);
    EXPECT_EQ(plain, 1);
  };
  search_all({}, 2, body);
  search_all({Fault::spurious_wake}, 1, body);
}

TEST(ExploredCombine, RaceEndsTheLosers) {
  const auto body = [](Simulation&) {
    int ended = 0;
    Event never;
    const auto loses = [&]() -> Result<int> {
      const Status end = never.wait();
      ++ended;  // not started: 0
      return end ? Result<int>(0) : end.error();
    };
    const auto winner = race(loses, [] { return 1; });
    EXPECT_EQ(winner.value().index, 1u);
    EXPECT_LE(ended, 1);
    EXPECT_TRUE(this_fiber::checkpoint());
  };
  search_all({}, 2, body);
  search_all({Fault::spurious_wake}, 1, body);
}

// A caller that is stopped anywhere leaves nobody behind, and says why.
TEST(ExploredCombine, EndWholeWhereverTheirCallerIsStopped) {
  search_all({Fault::cancel_at_checkpoint, Fault::time_passes}, 0,
             [](Simulation&) {
               Event set;
               int running = 0;
               const auto waits = [&]() -> Result<int> {
                 ++running;
                 const Status end = set.wait();
                 --running;
                 if (!end) return end.error();
                 return 1;
               };
               Nursery nursery;
               auto caller = nursery.spawn([&]() -> Status {
                 CancelScope scope(Deadline::after(1ms));
                 const auto first = race(waits, waits);
                 EXPECT_EQ(running, 0);
                 if (!first) return first.error();
                 EXPECT_EQ(first->value, 1);
                 return {};
               });
               nursery.spawn([&] { set.set(); });
               const Status end = caller.join();
               EXPECT_TRUE(end || end.error() == Errc::cancelled ||
                           end.error() == Errc::timed_out)
                   << end.error();
               (void)nursery.join();
             });
}

TEST(ExploredCombine, AllGivesTheFailureOrTheValues) {
  const auto body = [](Simulation&) {
    Event ready;
    const auto good = all([&] { ready.set(); },
                          [&]() -> Result<int> {
                            WEFT_TRY(ready.wait());
                            return 1;
                          });
    EXPECT_EQ(std::get<1>(good.value()), 1);
    Event never;
    const auto bad = all([&] { return never.wait(); },
                         []() -> Status { return Error::user(3); });
    EXPECT_EQ(bad.error(), Error::user(3));
  };
  search_all({}, 2, body);
  search_all({Fault::spurious_wake}, 1, body);
}

// The handles' own nursery is not the caller's: what the caller gives up can be
// waited for again.
TEST(ExploredCombine, HandlesAreAsTheyWereWhenTheirWaiterGivesUp) {
  search_all({Fault::cancel_at_checkpoint, Fault::time_passes}, 1,
             [](Simulation&) {
               Nursery nursery({.on_failure = OnFailure::wait_for_all});
               std::vector<Task<int>> tasks;
               for (int i = 0; i < 2; ++i) {
                 tasks.push_back(nursery.spawn([i] { return i; }));
               }
               auto hasty = nursery.spawn([&] {
                 const auto end = join_race(tasks, Deadline::after(1ms));
                 EXPECT_TRUE(!end || tasks[*end].done());
               });
               (void)hasty.join();
               const Shield shield;
               const auto winner = join_any(tasks);
               EXPECT_TRUE(!winner ||
                           winner->value == static_cast<int>(winner->index));
               (void)nursery.join();
             });
}

}  // namespace
}  // namespace weft
