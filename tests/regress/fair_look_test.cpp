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
