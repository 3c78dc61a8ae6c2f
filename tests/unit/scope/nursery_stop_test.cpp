// nursery_stop_test.cpp: a nursery that fails, is cancelled, runs out of time.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "stress/scale.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

Status sleep_long() { return this_fiber::sleep_for(1h); }
Status fail_with_seven() { return Error::user(7); }

class NurseryStopTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, NurseryStopTest, ::testing::Values(1u, 2u));

// ---- The first failure.

TEST_P(NurseryStopTest, GivesTheSiblingsTheFailureThatStoppedThem) {
  in_fiber([] {
    Nursery nursery;
    auto sibling = nursery.spawn(sleep_long);
    await_parked(sibling);
    auto failing = nursery.spawn(fail_with_seven);
    EXPECT_EQ(sibling.join().error(), Error::user(7));
    EXPECT_EQ(failing.join().error(), Error::user(7));
    EXPECT_EQ(nursery.join().error(), Error::user(7));
    EXPECT_TRUE(this_fiber::checkpoint());  // joined: over
  });
}

TEST_P(NurseryStopTest, RethrowsToTheSiblingsWhatOneThrew) {
  in_fiber([] {
    Nursery nursery;
    auto sibling = nursery.spawn(sleep_long);
    await_parked(sibling);
    nursery.spawn([] { throw std::runtime_error("seven"); });
    EXPECT_THROW((void)sibling.join(), std::runtime_error);
    EXPECT_THROW((void)nursery.join(), std::runtime_error);
  });
}

TEST_P(NurseryStopTest, EndsTheWaitsOfTheParentToo) {
  in_fiber([] {
    auto [sender, receiver] = make_channel<int>(0);
    Nursery nursery;
    nursery.spawn([sender = std::move(sender)]() -> Status {
      this_fiber::yield();
      return Error::user(7);  // and never sends
    });
    auto kept = make_channel<int>(0);
    EXPECT_EQ(kept.receiver.receive().error(), Errc::cancelled);
    EXPECT_EQ(nursery.join().error(), Error::user(7));
  });
}

TEST_P(NurseryStopTest, LetsTheOthersFinishIfAsked) {
  in_fiber([] {
    std::atomic<int> finished{0};
    Nursery nursery({.on_failure = OnFailure::wait_for_all});
    nursery.spawn(fail_with_seven);
    for (int i = 0; i < 10; ++i) {
      nursery.spawn([&] {
        this_fiber::yield();
        finished += this_fiber::checkpoint().has_value();
      });
    }
    EXPECT_EQ(nursery.join().error(), Error::user(7));
    EXPECT_EQ(finished, 10);
  });
}

TEST_P(NurseryStopTest, LeavesAKeptFailureToItsTask) {
  in_fiber([] {
    Nursery nursery;
    auto failing =
        nursery.spawn({.on_failure = OnFailure::keep}, fail_with_seven);
    auto fine = nursery.spawn([] { return this_fiber::sleep_for(1us); });
    EXPECT_EQ(failing.join().error(), Error::user(7));
    EXPECT_TRUE(fine.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(NurseryStopTest, TellsOfAllThatFailed) {
  in_fiber([] {
    Nursery nursery({.on_failure = OnFailure::wait_for_all});
    (void)nursery.spawn({.name = "first"}, fail_with_seven).join();
    auto second = nursery.spawn({.name = "second"},
                                [] { throw std::runtime_error("eight"); });
    EXPECT_THROW((void)second.join(), std::runtime_error);
    EXPECT_EQ(nursery.join().error(), Error::user(7));
    const auto failures = nursery.failures();
    ASSERT_EQ(failures.size(), 2u);
    EXPECT_EQ(failures[0].name, "first");
    EXPECT_EQ(failures[0].error, Error::user(7));
    EXPECT_EQ(failures[0].exception, nullptr);
    EXPECT_NE(failures[0].fiber, FiberId{});
    EXPECT_EQ(failures[1].name, "second");
    EXPECT_EQ(failures[1].error, Errc::panicked);
    EXPECT_NE(failures[1].exception, nullptr);
  });
}

TEST_P(NurseryStopTest, StartsNoChildBehindAFailure) {
  in_fiber([] {
    Nursery nursery;
    (void)nursery.spawn(fail_with_seven).wait();
    bool began = false;
    auto late = nursery.spawn([&] { began = true; });
    EXPECT_EQ(late.join().error(), Error::user(7));
    EXPECT_EQ(nursery.join().error(), Error::user(7));
    EXPECT_FALSE(began);
  });
}

// ---- cancel().

// B-30, R-NURS-11: queued children of a cancelled nursery never start.
TEST_P(NurseryStopTest, NeverStartsWhatIsQueued) {
  in_fiber([] {
    std::atomic<int> began{0};
    Nursery nursery;
    nursery.cancel();
    std::vector<Task<>> tasks;
    for (int i = 0; i < 1000; ++i) {
      tasks.push_back(nursery.spawn([&] { ++began; }));
    }
    for (auto& task : tasks) EXPECT_EQ(task.join().error(), Errc::cancelled);
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(began, 0);
  });
}

TEST_P(NurseryStopTest, IsCancelledOnceAndByAnybody) {
  in_fiber([] {
    Nursery nursery;
    auto child = nursery.spawn([&] {
      nursery.cancel();
      nursery.cancel();
      EXPECT_TRUE(this_fiber::cancelled());
    });
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.cancelled());
    EXPECT_TRUE(this_fiber::cancelled());
    EXPECT_TRUE(nursery.join());
    EXPECT_FALSE(this_fiber::cancelled());
    nursery.cancel();  // too late for anybody
    EXPECT_FALSE(this_fiber::cancelled());
  });
}

TEST_P(NurseryStopTest, PrefersAFailureToACancel) {
  in_fiber([] {
    Nursery nursery;
    auto child = nursery.spawn([]() -> Status {
      (void)sleep_long();
      return Error::user(7);
    });
    await_parked(child);
    nursery.cancel();
    EXPECT_EQ(nursery.join().error(), Error::user(7));
    EXPECT_TRUE(nursery.cancelled());
  });
}

TEST_P(NurseryStopTest, TakesCancelledOfItsOwnAccordForAFailure) {
  in_fiber([] {
    Nursery nursery;
    nursery.spawn([]() -> Status { return Errc::cancelled; });
    EXPECT_EQ(nursery.join().error(), Errc::cancelled);
    EXPECT_FALSE(nursery.cancelled());
  });
}

TEST_P(NurseryStopTest, ReachesGrandchildrenInDepth) {
  in_fiber([] {
    std::atomic<int> stopped{0};
    Nursery nursery;
    struct Level {
      static Status down(std::atomic<int>& count, int depth) {
        if (depth == 0) {
          const Status end = sleep_long();
          ++count;
          return end;
        }
        Nursery inner;
        inner.spawn(down, std::ref(count), depth - 1);
        inner.spawn(down, std::ref(count), depth - 1);
        return inner.join();
      }
    };
    nursery.spawn(Level::down, std::ref(stopped), 6);
    while (nursery.runtime().stats().fibers_live < 64) this_fiber::yield();
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
    EXPECT_LE(stopped, 64);
  });
}

// ---- Deadlines, channels.

TEST_P(NurseryStopTest, TakesADeadlineLater) {
  in_fiber([] {
    Nursery nursery;
    nursery.spawn(sleep_long);
    nursery.set_deadline(Deadline::after(1ms));
    EXPECT_EQ(nursery.join().error(), Errc::timed_out);
  });
}

TEST_P(NurseryStopTest, GivesUpAJoinAndIsJoinedAgain) {
  in_fiber([] {
    Event go;
    Nursery nursery;
    nursery.spawn([&] { return go.wait(); });
    EXPECT_EQ(nursery.join(Deadline::after(1ms)).error(), Errc::timed_out);
    EXPECT_EQ(nursery.live(), 1u);
    go.set();
    EXPECT_TRUE(nursery.join());
  });
}

// R-NURS-11
TEST_P(NurseryStopTest, ClosesAChannelBehindItsLastChild) {
  in_fiber([] {
    auto [sender, receiver] = make_channel<int>(64);
    Nursery nursery;
    nursery.close_on(sender);
    for (int i = 0; i < 8; ++i) {
      nursery.spawn([sender = sender, i]() mutable { return sender.send(i); });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(sender.send(9).error(), Errc::closed);
    int sum = 0;
    for (int value : receiver) sum += value;
    EXPECT_EQ(sum, 28);
  });
}

TEST_P(NurseryStopTest, ClosesAChannelForWhoReceivesMeanwhile) {
  in_fiber([] {
    auto [sender, receiver] = make_channel<int>(2);
    Nursery nursery;
    auto stage = nursery.spawn([out = sender]() mutable {  // who keeps another
      Nursery senders;
      senders.close_on(out);
      for (int i = 0; i < 8; ++i) {
        senders.spawn([out, i]() mutable { return out.send(i); });
      }
      return senders.join();
    });
    int sum = 0;
    for (int value : receiver) sum += value;
    EXPECT_EQ(sum, 28);
    EXPECT_TRUE(stage.join());
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(sender.send(9).error(), Errc::closed);
  });
}

TEST_P(NurseryStopTest, HasAStopOfTheRootFromAPlainThread) {
  Nursery nursery(runtime(), {.deadline = Deadline::after(1ms)});
  nursery.spawn(sleep_long);
  EXPECT_EQ(nursery.join().error(), Errc::timed_out);
}

TEST_P(NurseryStopTest, FailsAtOnceAlsoIfItWaitsForAll) {
  in_fiber([] {
    Nursery nursery({.on_failure = OnFailure::wait_for_all});
    nursery.spawn(sleep_long);
    EXPECT_EQ(nursery.fail(Error::user(1)), Error::user(1));
  });
}

// The way out by an error that only tells of the stop does not hide its cause.
TEST_P(NurseryStopTest, PassesOnTheFailureThatEndedTheWait) {
  const auto end = runtime().run([]() -> Status {
    Nursery nursery;
    nursery.spawn(fail_with_seven);
    return sleep_long();
  });
  EXPECT_EQ(end.error(), Error::user(7));
}

TEST_P(NurseryStopTest, StopsChildrenWhoseOwnerIsShieldedInside) {
  in_fiber([] {
    CancelScope scope(Deadline::after(1ms));
    Nursery nursery;
    auto child = nursery.spawn(sleep_long);
    await_parked(child);
    {
      const Shield shield;
      EXPECT_TRUE(child.wait());
    }
    EXPECT_EQ(child.join().error(), Errc::timed_out);
    EXPECT_EQ(nursery.join().error(), Errc::timed_out);
  });
}

TEST_P(NurseryStopTest, StopsChildrenWhoseOwnerWaitsForALock) {
  in_fiber([] {
    Mutex mutex;
    CancelScope scope(Deadline::after(1ms));
    Nursery nursery;
    auto child = nursery.spawn([&] {
      const std::lock_guard hold(mutex);
      return sleep_long();
    });
    await_parked(child);
    mutex.lock();
    mutex.unlock();
    EXPECT_EQ(nursery.join().error(), Errc::timed_out);
  });
}

TEST_P(NurseryStopTest, TellsOfThousandsThatFailed) {
  in_fiber([] {
    constexpr std::size_t kMany = 20'000;
    Nursery nursery({.on_failure = OnFailure::wait_for_all});
    for (std::size_t i = 0; i < kMany; ++i) nursery.spawn(fail_with_seven);
    EXPECT_EQ(nursery.join().error(), Error::user(7));
    EXPECT_EQ(nursery.failures().size(), kMany);
  });
}

// R-NURS-09: nested to any depth, closed innermost first.
TEST_P(NurseryStopTest, NestsTenThousandDeep) {
  const int deepest = test::scaled(10'000);  // ThreadSanitizer bears 8,000
  in_fiber([deepest] {
    struct Levels {
      Status down(int depth) {
        opened.fetch_add(1);
        if (depth == last) {
          reached.set();
          return sleep_long();
        }
        Nursery inner;
        auto child = inner.spawn({.stack_size = StackSize::small},
                                 [this, depth] { return down(depth + 1); });
        (void)child.wait();
        const Status end = inner.join();
        EXPECT_EQ(closed.fetch_add(1), last - 1 - depth);
        return end;
      }
      const int last;
      Event reached{};
      std::atomic<int> opened{0};
      std::atomic<int> closed{0};
    } levels{.last = deepest};
    Nursery nursery;
    nursery.spawn([&] { return levels.down(0); });
    EXPECT_TRUE(levels.reached.wait());
    EXPECT_EQ(levels.opened, deepest + 1);
    EXPECT_EQ(levels.closed, 0);
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(levels.closed, deepest);
  });
}

}  // namespace
}  // namespace weft
