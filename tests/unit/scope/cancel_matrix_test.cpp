// cancel_matrix_test.cpp: every call that waits can be stopped, in every way.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include "unit/scope/cancel_cases.hpp"
#include "unit/scope/cancel_cases_of_channels.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::Case;
using test::OneRuntimeTest;
using test::status_of;
using test::wait_long;
using namespace std::chrono_literals;

std::vector<Case> structure() {
  return {
      {"Sleep", [] { return this_fiber::sleep_for(1h); }},
      {"Checkpoint",
       [] {
         for (;;) {
           if (Status end = this_fiber::checkpoint(); !end) return end;
           (void)this_fiber::sleep_for(1h);
         }
       }},
      {"TaskJoin",
       [] {
         Nursery nursery;
         auto child = nursery.spawn([] { return this_fiber::sleep_for(1h); });
         return child.join();
       }},
      {"TaskWait",
       [] {
         Nursery nursery;
         auto child = nursery.spawn([] { return this_fiber::sleep_for(1h); });
         (void)child.wait();
         return child.join();
       }},
      {"NurseryJoin",
       [] {
         Nursery nursery;
         nursery.spawn([] { return this_fiber::sleep_for(1h); });
         return nursery.join();
       }},
      {"NurseryDeep",
       [] {
         Nursery outer;
         outer.spawn([](Nursery& inner) {
           inner.spawn([] { return this_fiber::sleep_for(1h); });
         });
         return outer.join();
       }},
  };
}

// Of handles that are somebody else's, and of functions.
std::vector<Case> combinators() {
  const auto of_two = [](auto join) {
    return [join] {
      Nursery nursery;
      std::vector<Task<int>> tasks;
      for (int i = 0; i < 2; ++i) tasks.push_back(nursery.spawn(wait_long));
      return status_of(join(tasks));
    };
  };
  return {
      {"JoinAll", of_two([](auto& tasks) { return join_all(tasks); })},
      // The stop ends the children as well: one of them may be first.
      {"JoinRace", of_two([](auto& tasks) -> Result<int> {
         return tasks[WEFT_TRY(join_race(tasks))].join();
       })},
      {"JoinAny", of_two([](auto& tasks) { return join_any(tasks); })},
      {"All", [] { return status_of(all(wait_long, wait_long)); }},
      {"Race", [] { return status_of(race(wait_long, wait_long)); }},
      {"Any", [] { return status_of(any(wait_long, wait_long)); }},
      {"Exhausted",
       [] {
         Nursery nursery;
         auto child = nursery.spawn({.budget = Budget::child()}, wait_long);
         return status_of(nursery.wait_exhausted());
       }},
      {"SupervisorJoin",
       [] {
         // Which is not stopped with its owner.
         NurseryIn<profile::Cluster> nursery(this_fiber::runtime());
         Supervisor supervisor(nursery);
         struct Idle {
           static Status handle(int&) { return {}; }
         };
         const auto actor = supervisor.start<int>({}, [] { return Idle(); });
         return supervisor.join();
       }},
      {"NurseryInside",
       [] {
         Nursery outer;
         Nursery inner(outer);
         inner.spawn([] { return this_fiber::sleep_for(1h); });
         return outer.join();
       }},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto part :
       {test::locks(), test::counts(), test::own_waits(), test::recharges(),
        test::channels(), test::selects(), structure(), combinators()}) {
    for (auto& one : part) all.push_back(std::move(one));
  }
  return all;
}

class CancelMatrixTest
    : public OneRuntimeTest,
      public ::testing::WithParamInterface<std::tuple<unsigned, Case>> {
 protected:
  void SetUp() override { start_on(std::get<0>(GetParam())); }
  static Status block() { return std::get<1>(GetParam()).block(); }
  void in_fiber(const std::function<void()>& body) {
    ASSERT_TRUE(runtime().run(body));
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, CancelMatrixTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::ValuesIn(all_cases())),
                         [](const auto& test) {
                           return std::get<1>(test.param).name + "_" +
                                  std::to_string(std::get<0>(test.param));
                         });

// R-NURS-06, B-30
TEST_P(CancelMatrixTest, EndsWhenTheNurseryIsCancelled) {
  in_fiber([] {
    Status end;
    Nursery nursery;
    auto child = nursery.spawn([&] { end = block(); });
    await_parked(child);
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(nursery.cancelled());
    EXPECT_EQ(end.error(), Errc::cancelled);
  });
}

TEST_P(CancelMatrixTest, EndsWhenTheTaskIsCancelled) {
  in_fiber([] {
    Status end;
    Nursery nursery;
    auto child = nursery.spawn([&] { end = block(); });
    await_parked(child);
    child.cancel();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(end.error(), Errc::cancelled);
  });
}

// R-NURS-11
TEST_P(CancelMatrixTest, EndsAtTheDeadlineOfTheNursery) {
  in_fiber([] {
    Status end;
    Nursery nursery({.deadline = Deadline::after(1h)});
    auto child = nursery.spawn([&] { end = block(); });
    await_parked(child);
    nursery.set_deadline(Deadline::after(1us));
    EXPECT_EQ(nursery.join().error(), Errc::timed_out);
    EXPECT_EQ(end.error(), Errc::timed_out);
  });
}

// R-NURS-12: the first failure stops the others.
TEST_P(CancelMatrixTest, EndsWhenASiblingFails) {
  in_fiber([] {
    Status end;
    Nursery nursery;
    auto child = nursery.spawn([&] { end = block(); });
    await_parked(child);
    nursery.spawn([]() -> Status { return Error::user(7); });
    EXPECT_EQ(nursery.join().error(), Error::user(7));
    EXPECT_EQ(end.error(), Errc::cancelled);
  });
}

TEST_P(CancelMatrixTest, EndsAtTheDeadlineOfItsScope) {
  in_fiber([] {
    CancelScope scope(Deadline::after(1ms));
    EXPECT_EQ(block().error(), Errc::timed_out);
    EXPECT_TRUE(scope.timed_out());
    EXPECT_EQ(block().error(), Errc::timed_out);  // and stays so
  });
  in_fiber([] {  // what was stopped is over
    EXPECT_TRUE(this_fiber::checkpoint());
  });
}

TEST_P(CancelMatrixTest, DoesNotBeginInACancelledScope) {
  in_fiber([] {
    {
      CancelScope scope;
      scope.cancel();
      EXPECT_EQ(block().error(), Errc::cancelled);
    }
    EXPECT_TRUE(this_fiber::checkpoint());
  });
}

TEST_P(CancelMatrixTest, GoesOnInAShieldUntilItsDeadline) {
  in_fiber([] {
    CancelScope scope;
    scope.cancel();
    {
      Shield shield(Deadline::after(1ms));
      EXPECT_EQ(block().error(), Errc::timed_out);
      EXPECT_TRUE(shield.timed_out());
    }
    EXPECT_EQ(this_fiber::checkpoint().error(), Errc::cancelled);
  });
}

}  // namespace
}  // namespace weft
