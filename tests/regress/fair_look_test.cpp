// The fair look was due, a joiner ran first, and it was forgotten for four
// thousand million dispatches: timers and outsiders waited as long.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

class FairLookTest : public test::RuntimeTest {
 protected:
  // Repeats `step` until a sleeper has woken and an outsider has run.
  template <typename Step>
  static void expect_others_run_besides(Step&& step) {
    Runtime runtime = start(1);
    std::atomic<bool> running{false};
    std::atomic<bool> slept{false};
    std::atomic<bool> came{false};
    std::thread outsider([&] {
      while (!running) std::this_thread::yield();
      EXPECT_TRUE(runtime.run([&] { came = true; }));
    });
    EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
      nursery.spawn([&] {
        EXPECT_TRUE(this_fiber::sleep_for(1ms));
        slept = true;
      });
      while (!slept || !came) {
        step(nursery);
        running = true;
      }
    }));
    outsider.join();
    expect_empty(runtime);
  }
};

// R-RUNQ-17
TEST_F(FairLookTest, JoinsThatParkStarveNobody) {
  expect_others_run_besides([](Nursery& nursery) {
    EXPECT_TRUE(nursery.spawn([] {}).join(Deadline::after(1h)));
  });
}

TEST_F(FairLookTest, NurseriesWhoseJoinParksStarveNobody) {
  expect_others_run_besides([](Nursery&) {
    Nursery inner;
    inner.spawn([] {});
    EXPECT_TRUE(inner.join(Deadline::after(1h)));
  });
}

TEST_F(FairLookTest, JoinsInPlaceStarveNobody) {
  expect_others_run_besides(
      [](Nursery& nursery) { EXPECT_TRUE(nursery.spawn([] {}).join()); });
}

// Fibers that wake each other and a deadline at every look: those who yielded
// and those from outside come as well.
TEST_F(FairLookTest, ADeadlineAtEveryLookStarvesNobody) {
  std::atomic<bool> stop{false};
  std::atomic<bool> yielded{false};
  std::atomic<bool> came{false};
  Runtime runtime = start(1);
  const auto spin = [] {
    const auto until = Clock::now() + 10us;
    while (Clock::now() < until) {
    }
  };
  std::thread outsider;
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&] {
      while (!stop) EXPECT_TRUE(this_fiber::sleep_for(100us));
    });
    for (int i = 0; i < 2; ++i) {
      nursery.spawn([&](Nursery& own) {
        while (!stop) {  // parks, and is woken by the child's end
          EXPECT_TRUE(own.spawn(spin).join(Deadline::after(1h)));
        }
      });
    }
    nursery.spawn([&] {
      this_fiber::yield();
      yielded = true;
    });
    outsider = std::thread([&] {
      EXPECT_TRUE(runtime.run([&] { came = true; }));
      while (!yielded) std::this_thread::yield();
      stop = true;
    });
  }));
  outsider.join();
  EXPECT_TRUE(came);
}

// What can be done in a loop without leaving the stack: beside it a fiber that
// has yielded comes again.
template <typename Step>
void expect_a_yielded_fiber_comes_again(Runtime runtime, Step&& step) {
  bool came = false;  // one worker: no two fibers at once
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&](Nursery& own) {
      Task<int> former;
      while (!came) step(own, former);
    });
    nursery.spawn([&] {
      this_fiber::yield();
      came = true;
    });
  }));
}

TEST_F(FairLookTest, SleepsOfNoTimeLetAYieldedFiberCome) {
  expect_a_yielded_fiber_comes_again(start(1), [](Nursery&, Task<int>&) {
    EXPECT_TRUE(this_fiber::sleep_for(0ns));
  });
}

// Two frames in turn: the oldest of the queue is another each time.
TEST_F(FairLookTest, JoinsInPlaceLetAYieldedFiberCome) {
  expect_a_yielded_fiber_comes_again(start(1),
                                     [](Nursery& own, Task<int>& former) {
                                       auto task = own.spawn([] { return 1; });
                                       EXPECT_TRUE(task.wait());
                                       former = std::move(task);
                                     });
}

TEST_F(FairLookTest, ACancelledFiberThatTakesNoNoticeLetsOthersCome) {
  Runtime runtime = start(1);
  bool came = false;
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    auto deaf = nursery.spawn([&] {
      while (!came) (void)this_fiber::sleep_for(1h);
    });
    this_fiber::yield();
    deaf.cancel();
    this_fiber::yield();
    came = true;
  }));
}

// The other worker sits in one fiber: this one, which never leaves its stack,
// watches its deadlines and its inbox. The sleeper may have been woken before
// it was parked: then it lies among the turns there.
TEST_F(FairLookTest, SleepsOfNoTimeWatchAWorkerThatSitsInOneFiber) {
  Runtime runtime = start(2);
  std::atomic<bool> sits{false};
  std::atomic<bool> slept{false};
  std::atomic<int> came{0};
  constexpr int kOutsiders = 4;  // some are placed in either inbox
  std::thread outsider([&] {
    while (!sits) std::this_thread::yield();
    Nursery root(runtime.ref());
    for (int i = 0; i < kOutsiders; ++i) root.spawn([&] { ++came; });
    EXPECT_TRUE(root.join());
  });
  const auto all_came = [&] { return slept && came == kOutsiders; };
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&](Nursery& own) {
      own.spawn([&] {
        EXPECT_TRUE(this_fiber::sleep_for(1ms));
        slept = true;
      });
      const this_fiber::Pin here;
      this_fiber::yield();
      sits = true;
      while (!all_came()) std::this_thread::yield();
    });
    while (!sits) this_fiber::yield();
    while (!all_came()) EXPECT_TRUE(this_fiber::sleep_for(0ns));
  }));
  outsider.join();
}

// As above, for what lies in the queues of the worker that sits: a child that
// has yielded, and one that has not begun.
TEST_F(FairLookTest, AWorkerThatIsNeverIdleTakesOverFromOneThatSits) {
  Runtime runtime = start(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> sits{false};
    std::atomic<int> came{0};
    EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
      nursery.spawn([&](Nursery& own) {
        own.spawn([&] {
          this_fiber::yield();
          ++came;
        });
        this_fiber::yield();
        sits = true;
        own.spawn([&] { ++came; });
        while (came != 2) std::this_thread::yield();
      });
      while (!sits) EXPECT_TRUE(this_fiber::sleep_for(0ns));
      while (came != 2) EXPECT_TRUE(this_fiber::sleep_for(0ns));
    }));
  }
}

// The same while others fill the inbox of the one that sits without end.
TEST_F(FairLookTest, AnInboxThatNeverEndsStarvesNoTurn) {
  Runtime runtime = start(2);
  std::atomic<bool> sits{false};
  std::atomic<bool> came{false};
  std::thread outsider([&] {
    while (!sits) std::this_thread::yield();
    Nursery root(runtime.ref());
    while (!came) root.spawn([] {});
    EXPECT_TRUE(root.join());
  });
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&](Nursery& own) {
      own.spawn([&] {
        this_fiber::yield();
        came = true;
      });
      this_fiber::yield();
      sits = true;
      while (!came) std::this_thread::yield();
    });
    while (!came) EXPECT_TRUE(this_fiber::sleep_for(0ns));
  }));
  outsider.join();
}

TEST_F(FairLookTest, SleepsOfNoTimeStarveNobody) {
  expect_others_run_besides(
      [](Nursery&) { EXPECT_TRUE(this_fiber::sleep_for(0ns)); });
}

TEST_F(FairLookTest, WaitsOfNoTimeStarveNobody) {
  expect_others_run_besides([](Nursery& nursery) {
    static const Deadline past = Deadline::after(0ns);
    auto task = nursery.spawn([] {});
    while (!task.wait(past)) {
    }
  });
}

}  // namespace
}  // namespace weft
