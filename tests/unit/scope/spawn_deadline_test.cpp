// spawn_deadline_test.cpp: children with a deadline of their own.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "support/gate.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include "support/spending.hpp"
#include "unit/sync/searches.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::Gate;
using test::WorkersTest;
using namespace std::chrono_literals;

class SpawnDeadlineTest : public WorkersTest {
 protected:
  static SpawnOptions within(Clock::duration time,
                             OnFailure on_failure = OnFailure::inherit) {
    return {.deadline = Deadline::after(time), .on_failure = on_failure};
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, SpawnDeadlineTest,
                         ::testing::Values(1u, 2u, 4u));

TEST_P(SpawnDeadlineTest, EndsEveryWaitOfTheChild) {
  in_fiber([] {
    Gate never;
    Nursery nursery;
    auto task = nursery.spawn(within(2ms, OnFailure::keep), [&]() -> Status {
      const Status end = never.pass();
      EXPECT_EQ(end.error(), Errc::timed_out);
      EXPECT_EQ(this_fiber::checkpoint().error(), Errc::timed_out);
      EXPECT_TRUE(this_fiber::cancelled());
      return end;
    });
    EXPECT_EQ(task.join().error(), Errc::timed_out);
    EXPECT_TRUE(nursery.join());
  });
}

// An error as any other that a body returns.
TEST_P(SpawnDeadlineTest, IsAFailureOfTheNurseryIfTheBodyReturnsIt) {
  in_fiber([] {
    Gate never;
    Status sibling;
    Nursery nursery;
    auto other = nursery.spawn([&] { sibling = never.pass(); });
    await_parked(other);
    nursery.spawn(within(1ms), [&] { return never.pass(); });
    EXPECT_EQ(nursery.join().error(), Errc::timed_out);
    EXPECT_EQ(sibling.error(), Errc::cancelled);
    ASSERT_EQ(nursery.failures().size(), 1u);
    EXPECT_EQ(nursery.failures()[0].error, Errc::timed_out);
  });
}

TEST_P(SpawnDeadlineTest, IsNoneIfTheBodyPutsUpWithIt) {
  in_fiber([] {
    bool started = false;
    for (auto time = 1ms; !started; time *= 2) {  // until it comes in time
      Gate never;
      Nursery nursery;
      auto task = nursery.spawn(within(time), [&] {
        started = true;
        return never.pass().error() == Errc::timed_out;
      });
      const auto end = task.join();
      EXPECT_EQ(nursery.join().has_value(), started);
      EXPECT_EQ(end.has_value(), started);
      EXPECT_TRUE(!end || *end);
    }
  });
}

TEST_P(SpawnDeadlineTest, IsToldAndInheritedByWhatIsInside) {
  in_fiber([] {
    Gate never;
    const auto when = Deadline::after(5ms);
    EXPECT_EQ(this_fiber::deadline(), Deadline::never());
    Nursery nursery;
    auto task = nursery.spawn(
        {.deadline = when, .on_failure = OnFailure::keep},
        [&](Nursery& own) -> Status {
          EXPECT_EQ(this_fiber::deadline(), when);
          auto inner = own.spawn([&] {
            EXPECT_EQ(this_fiber::deadline(), when);
            return never.pass();
          });
          EXPECT_EQ(inner.join().error(), Errc::timed_out);
          {
            const Shield shield;  // defers it, as it would any other
            EXPECT_EQ(this_fiber::deadline(), Deadline::never());
            EXPECT_TRUE(this_fiber::sleep_for(1us));
          }
          return own.join();
        });
    EXPECT_EQ(task.join().error(), Errc::timed_out);
    EXPECT_EQ(this_fiber::deadline(), Deadline::never());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SpawnDeadlineTest, TheEarliestOfAllCounts) {
  in_fiber([] {
    Gate never;
    Nursery nursery({.deadline = Deadline::after(1ms)});
    auto late = nursery.spawn(within(1h), [&] { return never.pass(); });
    EXPECT_EQ(nursery.join().error(), Errc::timed_out);
    EXPECT_TRUE(nursery.failures().empty());  // only its answer to the stop
    EXPECT_EQ(late.join().error(), Errc::timed_out);
  });
}

TEST_P(SpawnDeadlineTest, KeepsABodyFromStartingTooLate) {
  in_fiber([] {
    auto alive = std::make_shared<int>(1);
    Nursery nursery;
    auto task =
        nursery.spawn(within(-1s, OnFailure::keep), [kept = alive]() -> int {
          ADD_FAILURE() << "it started";
          return *kept;
        });
    EXPECT_EQ(task.join().error(), Errc::timed_out);
    EXPECT_EQ(alive.use_count(), 1);  // its closure is gone
    auto second = nursery.spawn(within(-1s, OnFailure::keep), [] {});
    ASSERT_EQ(second.wait().has_value(), true);
    EXPECT_EQ(second.state(), FiberState::cancelled);
    EXPECT_TRUE(nursery.join());

    Nursery failing;
    failing.spawn(within(-1s), [] {});
    EXPECT_EQ(failing.join().error(), Errc::timed_out);
  });
}

TEST_P(SpawnDeadlineTest, LeavesAChildAloneThatIsQuicker) {
  in_fiber([] {
    for (int round = 0; round < 200; ++round) {
      Nursery nursery;
      auto value = nursery.spawn(
          {.name = "quick", .deadline = Deadline::after(1h)},
          [] { return std::make_unique<std::string>(this_fiber::name()); });
      auto dropped = nursery.spawn(within(1h), [] { return std::string("x"); });
      auto thrown = nursery.spawn(within(1h, OnFailure::keep),
                                  [] { throw std::runtime_error("x"); });
      ASSERT_EQ(*value.join().value(), "quick");
      ASSERT_THROW((void)thrown.join(), std::runtime_error);
      ASSERT_TRUE(dropped.join());
      ASSERT_TRUE(nursery.join());
    }
  });
}

TEST_P(SpawnDeadlineTest, OfATrySpawnOrACancelledNursery) {
  in_fiber([] {
    auto alive = std::make_shared<int>(1);
    Nursery nursery;
    auto tried = nursery.try_spawn(within(-1s, OnFailure::keep), [] {});
    EXPECT_EQ(tried.value().join().error(), Errc::timed_out);
    nursery.cancel();
    auto never = nursery.spawn(within(1h), [kept = alive] { return *kept; });
    EXPECT_EQ(never.join().error(), Errc::cancelled);
    EXPECT_EQ(alive.use_count(), 1);
    EXPECT_TRUE(nursery.join());
  });
}

TEST(ExploredSpawnDeadline, RacesWithTheEndOfItsChild) {
  test::search_all(
      {test::Fault::time_passes, test::Fault::spurious_wake}, 1,
      [](test::Simulation&) {
        Event set;
        Nursery nursery({.on_failure = OnFailure::wait_for_all});
        auto task = nursery.spawn({.deadline = Deadline::after(1ms)},
                                  [&] { return set.wait(); });
        nursery.spawn([&] { set.set(); });
        const Status end = task.join();
        EXPECT_TRUE(end || end.error() == Errc::timed_out) << end.error();
        EXPECT_EQ(nursery.join().has_value(), end.has_value());
      });
}

// It is out of ops in a check, where it cannot be told. One that has not begun
// by then says so.
TEST_P(SpawnDeadlineTest, EndsAChildThatWaitsInACheck) {
  in_fiber([] {
    bool began = false;
    for (auto delay = 1ms; !began; delay *= 2) {
      Nursery nursery({.budget = Budget::service()});
      auto how = within(delay, OnFailure::keep);
      how.budget = Budget{.ops = 5};
      auto task = nursery.spawn(how, [&began] {
        began = true;
        test::compute_for_ever();
      });
      const auto end = task.join().error();
      EXPECT_EQ(end,
                began ? Error::out_of(Resource::ops) : Error(Errc::timed_out));
      EXPECT_TRUE(nursery.join());
    }
  });
}

TEST_P(SpawnDeadlineTest, IsToldToAChildThatWaitsInACheckAndThenAsks) {
  in_fiber([] {
    Nursery nursery({.budget = Budget::service()});
    auto how = within(1ms, OnFailure::keep);
    how.budget = Budget{.ops = 5};
    auto task = nursery.spawn(how, []() -> Status {
      while (!this_fiber::cancelled()) yield_check();
      return this_fiber::checkpoint();
    });
    EXPECT_EQ(task.join().error(), Errc::timed_out);
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
