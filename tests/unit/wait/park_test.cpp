#include "wait/park.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "sched/worker.hpp"
#include "support/runtime_test.hpp"

namespace weft {
namespace {

using test::WorkersTest;
using waiting::park_handle;
using waiting::park_if;
using waiting::ParkHandle;
using waiting::unpark;

class ParkTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ParkTest, ::testing::Values(1u, 2u));

// R-PARK-03
TEST_P(ParkTest, AChangedFlagReturnsWithoutLeavingTheStack) {
  in_fiber([&] {
    const auto before = runtime().ref().stats();
    Atomic<std::uint32_t> flag{1};
    EXPECT_TRUE(park_if(flag, 0));
    const auto after = runtime().ref().stats();
    for (std::size_t i = 0; i < after.workers.size(); ++i) {
      EXPECT_EQ(after.workers[i].parked, before.workers[i].parked);
    }
  });
}

// R-PARK-09, R-UNPARK-05
TEST_P(ParkTest, AnUnparkBeforeTheParkIsTakenExactlyOnce) {
  in_fiber([&] {
    Atomic<std::uint32_t> flag{0};
    const auto self = park_handle();
    unpark(self);
    unpark(self);                   // idempotent: one token
    EXPECT_TRUE(park_if(flag, 0));  // the token
    Nursery nursery;
    std::atomic<bool> woken = false;
    nursery.spawn([&] {
      woken = true;
      unpark(self);
    });
    EXPECT_TRUE(park_if(flag, 0));  // no token is left: somebody must come
    EXPECT_TRUE(woken);
    EXPECT_TRUE(nursery.join());
  });
}

// R-PARK-01: whatever the timing, a fiber whose flag changed before the unpark
// sees it.
TEST_P(ParkTest, NoWakeIsLostBetweenTwoFibers) {
  constexpr std::uint32_t kRounds = 100'000;
  in_fiber([&] {
    Atomic<std::uint32_t> ball{0};
    ParkHandle handles[2];
    std::atomic<int> ready = 0;
    Nursery nursery;
    for (std::uint32_t side = 0; side < 2; ++side) {
      nursery.spawn([&, side] {
        handles[side] = park_handle();
        ++ready;
        while (ready != 2) this_fiber::yield();
        for (std::uint32_t i = side; i < kRounds; i += 2) {
          for (auto seen = ball.load(acquire); seen != i;
               seen = ball.load(acquire)) {
            ASSERT_TRUE(park_if(ball, seen));
          }
          ball.store(i + 1, release);
          unpark(handles[1 - side]);
        }
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(ball.load(relaxed), kRounds);
  });
}

// The same between a plain thread and a fiber.
TEST_P(ParkTest, NoWakeIsLostBetweenAThreadAndAFiber) {
  constexpr std::uint32_t kRounds = 5'000;
  Atomic<std::uint32_t> ball{0};
  std::atomic<ParkHandle*> ends[2] = {nullptr, nullptr};
  const auto play = [&](std::uint32_t side) {
    ParkHandle mine = park_handle();
    ends[side] = &mine;
    while (ends[1 - side] == nullptr) this_fiber::yield();
    const ParkHandle other = *ends[1 - side].load();
    for (std::uint32_t i = side; i < kRounds; i += 2) {
      for (auto seen = ball.load(acquire); seen != i;
           seen = ball.load(acquire)) {
        ASSERT_TRUE(park_if(ball, seen));
      }
      ball.store(i + 1, release);
      unpark(other);
    }
    // Both have read the other's handle once the last ball was played.
    while (ball.load(acquire) != kRounds) this_fiber::yield();
  };
  std::thread thread([&] { play(0); });
  in_fiber([&] { play(1); });
  thread.join();
  EXPECT_EQ(ball.load(relaxed), kRounds);
}

// R-UNPARK-02
TEST_P(ParkTest, ManyUnparksOfOneFiberLeaveAtMostOneToken) {
  in_fiber([&] {
    Atomic<std::uint32_t> flag{0};
    const auto self = park_handle();
    Nursery nursery;
    for (int i = 0; i < 1000; ++i) {
      nursery.spawn([self] { unpark(self); });
    }
    EXPECT_TRUE(nursery.join());
    // Some of them woke the join for nothing, the last may have left a token.
    unpark(self);
    EXPECT_TRUE(park_if(flag, 0));
    std::atomic<bool> woken = false;
    Nursery second;
    second.spawn([&] {
      woken = true;
      unpark(self);
    });
    EXPECT_TRUE(park_if(flag, 0));
    EXPECT_TRUE(woken);
    EXPECT_TRUE(second.join());
  });
}

TEST_P(ParkTest, AnUnparkOfAnEndedFiberDoesNothing) {
  in_fiber([&] {
    ParkHandle gone;
    Nursery nursery;
    EXPECT_TRUE(nursery.spawn([&] { gone = park_handle(); }).join());
    unpark(gone);
    EXPECT_TRUE(nursery.join());
  });
}

// R-CTRL-12
TEST_P(ParkTest, AParkedFiberRunsNothingUntilItIsUnparked) {
  constexpr std::uint32_t kRounds = 1000;
  in_fiber([&] {
    Atomic<std::uint32_t> flag{0};
    std::atomic<std::uint32_t> steps = 0;
    std::atomic<bool> ready = false;
    ParkHandle handle;
    Nursery nursery;
    auto task = nursery.spawn([&] {
      handle = park_handle();
      ready = true;
      for (std::uint32_t i = 0; i < kRounds; ++i) {
        while (flag.load(acquire) == i) {
          ASSERT_TRUE(park_if(flag, i));
          // Back only by a resume: its word is this worker's.
          ASSERT_EQ(handle.frame->word.spec_value(), sched::this_worker().id());
        }
        ++steps;
      }
    });
    while (!ready) this_fiber::yield();
    for (std::uint32_t i = 0; i < kRounds; ++i) {
      while (task.state() != FiberState::parked) this_fiber::yield();
      for (int look = 0; look < 3; ++look) {
        ASSERT_EQ(steps, i);
        this_fiber::yield();
        ASSERT_EQ(task.state(), FiberState::parked);
      }
      flag.store(i + 1, release);
      unpark(handle);
    }
    EXPECT_TRUE(task.join());
    EXPECT_EQ(steps, kRounds);
    EXPECT_TRUE(nursery.join());
  });
}

// R-UNPARK-07
TEST_P(ParkTest, ACancelEndsAPark) {
  in_fiber([&] {
    Atomic<std::uint32_t> flag{0};
    std::atomic<bool> started = false;
    Nursery nursery;
    auto task = nursery.spawn([&]() -> Status {
      started = true;
      for (;;) {
        if (Status end = park_if(flag, 0); !end) return end;
      }
    });
    while (!started) this_fiber::yield();
    task.cancel();
    EXPECT_EQ(task.join().error(), Errc::cancelled);
    EXPECT_TRUE(nursery.join());
  });
}

// A stop is no wake that is answered first.
TEST_P(ParkTest, AStopIsAnsweredByTheParkThatItEnds) {
  undisturbed();
  in_fiber([&] {
    Atomic<std::uint32_t> flag{0};
    Nursery nursery;
    auto parked = nursery.spawn([&] { return park_if(flag, 0); });
    while (parked.state() != FiberState::parked) this_fiber::yield();
    parked.cancel();
    EXPECT_EQ(parked.join().error(), Errc::cancelled);

    std::atomic<int> step = 0;
    auto running = nursery.spawn([&] {
      step = 1;
      while (step != 2) this_fiber::yield();
      const Status end = park_if(flag, 0);
      EXPECT_EQ(park_if(flag, 0).error(), Errc::cancelled);  // and stays so
      EXPECT_TRUE(park_if(flag, 1));  // there is nothing to wait for
      return end;
    });
    while (step != 1) this_fiber::yield();
    running.cancel();
    step = 2;
    EXPECT_EQ(running.join().error(), Errc::cancelled);

    auto late = nursery.spawn([&] {
      const CancelScope scope(Deadline::after(std::chrono::milliseconds(1)));
      return park_if(flag, 0).error() == Errc::timed_out;
    });
    EXPECT_TRUE(late.join().value());
    EXPECT_TRUE(nursery.join());
  });
}

// What it was woken for counts more than the stop.
TEST_P(ParkTest, AChangedFlagIsAnsweredBeforeAStop) {
  in_fiber([&] {
    Atomic<std::uint32_t> flag{0};
    ParkHandle handle;
    Nursery nursery;
    auto task = nursery.spawn([&] {
      handle = park_handle();
      Status end;
      while (flag.load(acquire) == 0) end = park_if(flag, 0);
      return end;
    });
    while (task.state() != FiberState::parked) this_fiber::yield();
    flag.store(1, release);
    task.cancel();
    unpark(handle);
    EXPECT_TRUE(task.join());
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
