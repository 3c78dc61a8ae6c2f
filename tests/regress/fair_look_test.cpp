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
