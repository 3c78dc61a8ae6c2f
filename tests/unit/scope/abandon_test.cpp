// abandon_test.cpp: fibers that have run out, must stop, and come to no cancel
// point are given up.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include "support/spending.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::compute_for_ever;
using test::WorkersTest;

class AbandonTest : public WorkersTest {
 protected:
  // Spawns the body with a few ops, waits until it has run out, cancels, and
  // joins. Answers how its task ended.
  template <typename F>
  Error ends_with(F&& body, Budget budget = {.ops = 100, .spawn_count = 10}) {
    Error end{Errc{}};
    in_fiber([&] {
      const auto pool = budget + Budget{.ops = 1000, .spawn_count = 1};
      Nursery sandbox({.budget = pool});
      auto task = sandbox.spawn({.budget = budget}, std::forward<F>(body));
      const auto found = sandbox.wait_exhausted();
      EXPECT_TRUE(found);
      EXPECT_EQ(found.value_or(Exhausted()).fiber, task.id());
      sandbox.cancel();
      end = task.join().error();
      EXPECT_LE(sandbox.budget().ops, pool.ops);  // a grace is not kept
      (void)sandbox.join();
    });
    return end;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, AbandonTest, ::testing::Values(1u, 4u));

TEST_P(AbandonTest, EndsALoopThatHasNoCancelPoint) {
  in_fiber([&] {
    Nursery sandbox({.budget = Budget{.ops = 100, .spawn_count = 1}});
    auto task = sandbox.spawn({.budget = Budget{.ops = 100}}, compute_for_ever);
    const auto found = sandbox.wait_exhausted();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->fiber, task.id());
    EXPECT_EQ(found->resource, Resource::ops);
    sandbox.cancel();
    const Error end = task.join().error();
    EXPECT_EQ(end, Errc::exhausted);
    EXPECT_EQ(end.resource(), Resource::ops);
    EXPECT_EQ(sandbox.budget().ops, 0u);
    EXPECT_EQ(sandbox.join().error(), Errc::exhausted);
    EXPECT_EQ(sandbox.failures().size(), 1u);
  });
}

TEST_P(AbandonTest, IsNotNeededByWhoComesToACancelPointInTime) {
  std::atomic<int> destroyed{0};
  struct Counts {
    explicit Counts(std::atomic<int>& to) : count(to) {}
    Counts(const Counts&) = delete;
    Counts& operator=(const Counts&) = delete;
    ~Counts() { ++count; }
    std::atomic<int>& count;
  };
  const auto end = ends_with([&]() -> Status {
    const Counts counts(destroyed);
    for (int i = 0; i < 5'000; ++i) yield_check();
    if (Status stop = this_fiber::checkpoint(); !stop) return stop;
    compute_for_ever();
  });
  EXPECT_EQ(end, Errc::cancelled);
  EXPECT_EQ(destroyed, 1);
}

TEST_P(AbandonTest, DestroysNothingOnTheStack) {
  auto held = std::make_shared<int>(7);
  EXPECT_EQ(ends_with([held] { compute_for_ever(); }), Errc::exhausted);
  EXPECT_EQ(held.use_count(), 2);
}

TEST_P(AbandonTest, LosesTheStackAndNothingElse) {
  constexpr int kRounds = 20;
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_EQ(ends_with(compute_for_ever), Errc::exhausted);
  }
  const auto stats = runtime().ref().stats();
  EXPECT_EQ(stats.fibers_live, 0u);
  EXPECT_GE(stats.stacks_mapped, stats.stacks_in_use + kRounds);
  in_fiber([] {  // others run as ever
    Nursery nursery;
    for (int i = 0; i < 200; ++i) nursery.spawn([] { this_fiber::yield(); });
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(AbandonTest, EndsTheChildrenFirst) {
  std::atomic<int> ended{0};
  const auto end = ends_with([&] {
    Nursery outer;
    auto sleeper = outer.spawn({.budget = Budget{.ops = 10}}, [&] {
      EXPECT_EQ(this_fiber::sleep_for(std::chrono::hours(1)).error(),
                Errc::cancelled);
      ++ended;
    });
    await_parked(sleeper);
    Nursery inner;
    inner.spawn({.budget = Budget{}}, [&] { compute_for_ever(); });
    inner.spawn({.budget = Budget{}}, [&] {
      this_fiber::yield();
      ++ended;
    });
    compute_for_ever();
  });
  EXPECT_EQ(end, Errc::exhausted);
  EXPECT_GE(ended, 1);  // the others may never have begun
}

TEST_P(AbandonTest, GivesBackWhatChildrenHadLeft) {
  in_fiber([&] {
    Nursery sandbox(
        {.budget = Budget{.ops = 1000, .spawn_count = 2, .channel_ops = 9}});
    auto task = sandbox.spawn(
        {.budget = Budget{.ops = 500, .spawn_count = 1, .channel_ops = 9}}, [] {
          Nursery pool({.budget = Budget{
                            .ops = 300, .spawn_count = 1, .channel_ops = 9}});
          pool.spawn({.budget = Budget{.ops = 100, .channel_ops = 5}},
                     [] { (void)this_fiber::sleep_until(Deadline::never()); });
          compute_for_ever();
        });
    ASSERT_TRUE(sandbox.wait_exhausted());
    sandbox.cancel();
    EXPECT_EQ(task.join().error(), Errc::exhausted);
    // It spent 1 for the spawn and all else but what it had put into the pool.
    EXPECT_EQ(sandbox.budget().ops, 800u);
    EXPECT_EQ(sandbox.budget().channel_ops, 9u);
    (void)sandbox.join();
  });
}

TEST_P(AbandonTest, ClosesWhatItsNurseriesClose) {
  auto ends = make_channel<int>(1);
  Sender<int> sender = std::move(ends.sender);
  Receiver<int> receiver = std::move(ends.receiver);
  const auto end = ends_with([&] {
    Nursery nursery;
    nursery.close_on(sender);
    compute_for_ever();
  });
  EXPECT_EQ(end, Errc::exhausted);
  EXPECT_EQ(receiver.try_receive().error(), Errc::closed);
}

TEST_P(AbandonTest, LeavesNurseriesInsideOfOthersBehind) {
  in_fiber([] {
    Nursery sandbox({.budget = Budget{.ops = 1'000, .spawn_count = 4}});
    auto task = sandbox.spawn(
        {.budget = Budget{.ops = 100, .spawn_count = 2}}, [&sandbox] {
          const auto sleep = [] {
            return this_fiber::sleep_until(Deadline::never());
          };
          Nursery own;
          Nursery inside_of_own(own);
          Nursery inside_of_its_base(sandbox);
          inside_of_own.spawn({.budget = Budget{}}, sleep);
          inside_of_its_base.spawn({.budget = Budget{}}, sleep);
          compute_for_ever();
        });
    ASSERT_TRUE(sandbox.wait_exhausted());
    sandbox.cancel();
    EXPECT_EQ(task.join().error(), Errc::exhausted);
    (void)sandbox.join();
  });
}

// ---- Scopes around the loop.

TEST_P(AbandonTest, ADeadlineOfItsOwnDoesNotEndIt) {
  in_fiber([&] {
    std::atomic<bool> left{false};
    Nursery sandbox({.budget = Budget{.ops = 1'000, .spawn_count = 1}});
    auto task = sandbox.spawn({.budget = Budget{.ops = 10}}, [&] {
      CancelScope scope(Deadline::after(std::chrono::milliseconds(1)));
      for (int i = 0; i < 20; ++i) yield_check();
      EXPECT_EQ(this_fiber::checkpoint().error(), Errc::timed_out);
      left = true;
    });
    ASSERT_TRUE(sandbox.wait_exhausted());
    EXPECT_TRUE(this_fiber::sleep_for(std::chrono::milliseconds(2)));
    EXPECT_FALSE(left);
    EXPECT_TRUE(sandbox.recharge(task.id(), {.ops = 20}));
    EXPECT_TRUE(task.join());
    EXPECT_TRUE(left);
    EXPECT_TRUE(sandbox.join());
  });
}

TEST_P(AbandonTest, EndsItInScopesWithDeadlines) {
  // One that passes before it ends, one that would pass when it is gone.
  for (const auto wait :
       {std::chrono::nanoseconds(1), std::chrono::nanoseconds(5'000'000)}) {
    const auto end = ends_with([&] {
      CancelScope scope(Deadline::after(wait));
      Nursery nursery({.deadline = Deadline::after(wait)});
      compute_for_ever();
    });
    EXPECT_EQ(end, Errc::exhausted);
  }
  in_fiber(
      [] { EXPECT_TRUE(this_fiber::sleep_for(std::chrono::milliseconds(6))); });
}

TEST_P(AbandonTest, EndsItInAShield) {
  const auto end = ends_with([] {
    Shield shield;
    CancelScope scope;
    Shield another(Deadline::after(std::chrono::hours(1)));
    compute_for_ever();
  });
  EXPECT_EQ(end, Errc::exhausted);
}

TEST_P(AbandonTest, ACheckpointInAShieldSaysThatItIsExhausted) {
  const auto end = ends_with([]() -> Status {
    {
      Shield shield;
      for (int i = 0; i < 100; ++i) yield_check();
      const Error in_shield = this_fiber::checkpoint().error();
      EXPECT_EQ(in_shield, Errc::exhausted);
      EXPECT_EQ(in_shield.resource(), Resource::ops);
    }
    return this_fiber::checkpoint();
  });
  EXPECT_EQ(end, Errc::cancelled);
}

TEST_P(AbandonTest, WhatItMayStillSpendIsNotForItsNurseries) {
  const auto end = ends_with([]() -> Status {
    for (int i = 0; i < 100; ++i) yield_check();
    Nursery nursery({.budget = Budget{.ops = 5}});
    EXPECT_EQ(nursery.budget().ops, 0u);
    (void)nursery.join();
    return this_fiber::checkpoint();
  });
  EXPECT_EQ(end, Errc::cancelled);
}

TEST_P(AbandonTest, AShieldThatTimesOutEndsAWaitForARecharge) {
  in_fiber([] {
    Nursery sandbox({.budget = Budget{.ops = 1, .spawn_count = 1}});
    auto task = sandbox.spawn({.budget = Budget{}}, [] {
      Shield shield(Deadline::after(std::chrono::milliseconds(1)));
      EXPECT_EQ(this_fiber::checkpoint().error(), Errc::timed_out);
    });
    // It may be over before anybody looks.
    if (auto found = sandbox.wait_exhausted(); !found) {
      EXPECT_EQ(found.error(), Errc::closed);
    }
    EXPECT_TRUE(task.join());
    EXPECT_TRUE(sandbox.join());
  });
}

// ---- Odd places.

TEST_P(AbandonTest, EndsItInACatchBlock) {
  EXPECT_EQ(ends_with([] {
              try {
                throw std::string("caught, and never let go");
              } catch (const std::string&) {
                compute_for_ever();
              }
            }),
            Errc::exhausted);
  in_fiber([] { EXPECT_EQ(std::current_exception(), nullptr); });
}

TEST_P(AbandonTest, EndsItWhileItUnwinds) {
  struct Destroyed {
    ~Destroyed() { compute_for_ever(); }
  };
  EXPECT_EQ(ends_with([] {
              const Destroyed destroyed;
              throw 1;
            }),
            Errc::exhausted);
  in_fiber([] { EXPECT_EQ(std::uncaught_exceptions(), 0); });
}

TEST_P(AbandonTest, EndsAPinnedFiber) {
  EXPECT_EQ(ends_with([] {
              const this_fiber::Pin pin;
              compute_for_ever();
            }),
            Errc::exhausted);
  in_fiber([] {  // whoever has its frame next is not pinned
    Nursery nursery;
    for (int i = 0; i < 100; ++i) nursery.spawn([] { this_fiber::yield(); });
    EXPECT_TRUE(nursery.join());
  });
}

std::atomic<int> abandoned_locals{0};
struct SlowLocal {
  SlowLocal() = default;
  SlowLocal(const SlowLocal&) = default;
  SlowLocal& operator=(const SlowLocal&) = default;
  ~SlowLocal() {
    if (!used) return;
    ++abandoned_locals;
    yield_check(1'000'000);
    ++abandoned_locals;  // does not come here
  }
  bool used = false;
};
const FiberLocal<SlowLocal> slow_locals[3];

TEST_P(AbandonTest, DestroysItsLocalsAsFarAsTheyGo) {
  abandoned_locals = 0;
  EXPECT_EQ(ends_with([] {
              for (const auto& local : slow_locals) local->used = true;
              compute_for_ever();
            }),
            Errc::exhausted);
  EXPECT_EQ(abandoned_locals, 3);
}

TEST_P(AbandonTest, EndsOneThatIsCancelledAlone) {
  in_fiber([] {
    Nursery nursery;
    auto task = nursery.spawn(
        {.budget = Budget{.ops = 10}, .on_failure = OnFailure::keep},
        compute_for_ever);
    ASSERT_TRUE(nursery.wait_exhausted());
    task.cancel();
    EXPECT_EQ(task.join().error(), Errc::exhausted);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(AbandonTest, EndsOneThatAllocates) {
  EXPECT_EQ(ends_with(
                [] {
                  for (;;) charge_allocation(100);
                },
                Budget{.ops = 1'000'000, .memory = 1'000}),
            Errc::exhausted);
}

TEST_P(AbandonTest, EndsManyAtOnce) {
  in_fiber([] {
    constexpr std::uint16_t kFibers = 100;
    Nursery sandbox(
        {.budget = Budget{.ops = kFibers * 10u, .spawn_count = kFibers},
         .on_failure = OnFailure::wait_for_all});
    for (int i = 0; i < kFibers; ++i) {
      sandbox.spawn({.budget = Budget{.ops = 10}}, compute_for_ever);
    }
    EXPECT_EQ(sandbox.join().error(), Errc::exhausted);
    sandbox.cancel();
    EXPECT_EQ(sandbox.join().error(), Errc::exhausted);
    EXPECT_EQ(sandbox.failures().size(), kFibers);
  });
}

}  // namespace
}  // namespace weft
