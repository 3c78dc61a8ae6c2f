// stopped_throw_test.cpp: what a stop makes of a wait is no failure, whether
// the body returns it or lets value() throw it.

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

// Both styles of a body that passes on how its wait ended.
Status end_in_style(bool throws, Status end) {
  if (throws) end.value();
  return end;
}
Status sleep_in_style(bool throws) {
  return end_in_style(throws, this_fiber::sleep_for(1h));
}

class StoppedThrowTest : public WorkersTest {
 protected:
  // use(throws): in one style, then in the other.
  template <typename Use>
  void in_both(Use use) {
    for (const bool throws : {false, true}) {
      SCOPED_TRACE(throws ? "value() throws" : "an error is returned");
      in_fiber([&] { use(throws); });
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, StoppedThrowTest,
                         ::testing::Values(1u, 2u, 4u));

TEST_P(StoppedThrowTest, ACancelOfTheNurseryIsNoFailure) {
  in_both([](bool throws) {
    Nursery nursery;
    auto task = nursery.spawn(sleep_in_style, throws);
    await_parked(task);
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(nursery.failures().empty());
    EXPECT_EQ(task.join().error(), Errc::cancelled);
  });
}

TEST_P(StoppedThrowTest, ACancelOfATaskStopsNobodyElse) {
  in_both([](bool throws) {
    Event go;
    Nursery nursery;
    auto task = nursery.spawn(sleep_in_style, throws);
    auto sibling = nursery.spawn([&go] { return go.wait(); });
    await_parked(task);
    task.cancel();
    EXPECT_EQ(task.join().error(), Errc::cancelled);
    go.set();
    EXPECT_TRUE(sibling.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(StoppedThrowTest, ANurseryThatIsLeftEarlyLeavesNoFailure) {
  in_both([](bool throws) {
    Nursery nursery;
    auto task = nursery.spawn([throws] {
      Nursery inner;  // not joined
      auto child = inner.spawn(sleep_in_style, throws);
      await_parked(child);
      return 5;
    });
    EXPECT_EQ(task.join().value(), 5);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(StoppedThrowTest, ADeadlineOfItsOwnIsTimedOut) {
  in_both([](bool throws) {
    Nursery nursery;
    nursery.spawn({.deadline = Deadline::after(1ms)}, sleep_in_style, throws);
    EXPECT_EQ(nursery.join().error(), Errc::timed_out);
    ASSERT_EQ(nursery.failures().size(), 1u);
    EXPECT_EQ(nursery.failures()[0].error, Errc::timed_out);
  });
}

TEST_P(StoppedThrowTest, OnlyWhatFailedIsAFailure) {
  in_both([](bool throws) {
    Nursery nursery;
    for (int i = 0; i < 10; ++i) {
      auto task = nursery.spawn(sleep_in_style, throws);
      await_parked(task);
    }
    nursery.spawn([] { throw std::runtime_error("the one"); });
    EXPECT_THROW((void)nursery.join(), std::runtime_error);
    EXPECT_EQ(nursery.failures().size(), 1u);
  });
}

// It hears of the failure by the end of its own wait.
TEST_P(StoppedThrowTest, AnOwnerWhomAChildsFailureStopsFailsWithThat) {
  in_both([](bool throws) {
    Nursery nursery;
    auto owner =
        nursery.spawn({.on_failure = OnFailure::keep}, [throws]() -> Status {
          Nursery inner;
          inner.spawn([] { throw std::runtime_error("disk full"); });
          return sleep_in_style(throws);
        });
    EXPECT_THROW((void)owner.join(), std::runtime_error);
    auto scoped = nursery.spawn(
        {.on_failure = OnFailure::keep}, [throws](Nursery& inner) -> Status {
          inner.spawn([] { throw std::runtime_error("disk full"); });
          return sleep_in_style(throws);
        });
    EXPECT_THROW((void)scoped.join(), std::runtime_error);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(StoppedThrowTest, WithNurseryGivesTheFirstFailure) {
  in_both([](bool throws) {
    EXPECT_THROW((void)with_nursery([throws](Nursery& nursery) {
                   nursery.spawn([] { throw std::runtime_error("disk full"); });
                   return sleep_in_style(throws);
                 }),
                 std::runtime_error);
    EXPECT_EQ(with_nursery([throws](Nursery& nursery) {
                nursery.set_deadline(Deadline::after(1ms));
                return sleep_in_style(throws);
              }).error(),
              Errc::timed_out);
  });
}

TEST_P(StoppedThrowTest, WhatElseValueThrowsIsAnException) {
  in_fiber([] {
    Nursery nursery;
    auto task = nursery.spawn({.on_failure = OnFailure::keep},
                              [] { Status(Errc::closed).value(); });
    EXPECT_THROW((void)task.join(), BadResult);
    EXPECT_TRUE(nursery.join());
    EXPECT_THROW((void)with_nursery([](Nursery&) -> Status {
                   Status(Errc::closed).value();
                   return {};
                 }),
                 BadResult);
  });
}

class StoppedThrowOnAThreadTest : public test::RuntimeTest {};

TEST_F(StoppedThrowOnAThreadTest, ARootMayEndWithoutAJoin) {
  Runtime runtime = start(1);
  {
    Nursery root(runtime);
    await_parked(root.spawn(sleep_in_style, true));
  }
  expect_empty(runtime);
}

TEST_F(StoppedThrowOnAThreadTest, AShutdownFailsNobody) {
  Runtime runtime = start(1);
  Nursery root(runtime);
  auto task = root.spawn(sleep_in_style, true);
  await_parked(task);
  EXPECT_TRUE(runtime.shutdown_now());
  EXPECT_EQ(task.join().error(), Errc::cancelled);
  EXPECT_TRUE(root.failures().empty());
}

}  // namespace
}  // namespace weft
