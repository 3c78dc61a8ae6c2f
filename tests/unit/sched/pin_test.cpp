// pin_test.cpp: fibers that stay where they are.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;
using test::RuntimeTest;
using this_fiber::Pin;

class PinTest : public RuntimeTest {};

TEST_F(PinTest, KeepsAFiberOnItsWorkerOverYields) {
  Runtime runtime = start(4);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 50; ++i) {
      nursery.spawn([] {
        const Pin pin;
        const auto home = ::gettid();
        for (int round = 0; round < 50; ++round) {
          this_fiber::yield();
          ASSERT_EQ(::gettid(), home);
        }
      });
    }
  }));
  expect_empty(runtime);
}

TEST_F(PinTest, KeepsAFiberOnItsWorkerOverWaitsAndSleeps) {
  Runtime runtime = start(4);
  constexpr std::size_t kFibers = 50;
  Gate gate;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (std::size_t i = 0; i < kFibers; ++i) {
      nursery.spawn([&] {
        const Pin pin;
        const auto home = ::gettid();
        EXPECT_TRUE(gate.pass());
        EXPECT_EQ(::gettid(), home);
        EXPECT_TRUE(this_fiber::sleep_for(std::chrono::microseconds(10)));
        EXPECT_EQ(::gettid(), home);
        EXPECT_TRUE(gate.pass(Deadline(Clock::now())));
        EXPECT_EQ(::gettid(), home);
      });
    }
    while (gate.waiting() != kFibers) this_fiber::yield();
    gate.open();
  }));
  expect_empty(runtime);
}

TEST_F(PinTest, KeepsAFiberOnItsWorkerOverJoins) {
  Runtime runtime = start(4);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    const Pin pin;
    const auto home = ::gettid();
    for (int i = 0; i < 100; ++i) {
      auto child = nursery.spawn([i] {
        this_fiber::yield();
        return i;
      });
      EXPECT_EQ(child.join().value(), i);
      ASSERT_EQ(::gettid(), home);
    }
  }));
  expect_empty(runtime);
}

TEST_F(PinTest, EndsWithTheOutermostScope) {
  Runtime runtime = start(2);
  ASSERT_TRUE(runtime.run([&] {
    const auto home = ::gettid();
    {
      const Pin outer;
      { const Pin inner; }
      this_fiber::yield();
      EXPECT_EQ(::gettid(), home);
    }
    this_fiber::yield();  // may move again
  }));
  expect_empty(runtime);
}

TEST_F(PinTest, WakesItsOwnWorkerFromTheOutside) {
  Runtime runtime = start(4);
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    Gate gate;
    Nursery all(runtime);
    all.spawn([&] {
      const Pin pin;
      const auto home = ::gettid();
      EXPECT_TRUE(gate.pass());
      EXPECT_EQ(::gettid(), home);
    });
    while (gate.waiting() == 0) std::this_thread::yield();
    gate.open();
    ASSERT_TRUE(all.join());
  }
  expect_empty(runtime);
}

TEST_F(PinTest, LetsAPinnedFiberRunBesidesEndlessYields) {
  Runtime runtime = start(1);
  std::atomic<bool> stop{false};
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&] {
        while (!stop) this_fiber::yield();
      });
    }
    nursery.spawn([&] {
      const Pin pin;
      for (int i = 0; i < 10; ++i) this_fiber::yield();
      stop = true;
    });
  }));
  expect_empty(runtime);
}

TEST_F(PinTest, DoesNothingOnAPlainThread) {
  const Pin pin;
  this_fiber::yield();
  EXPECT_FALSE(this_fiber::is_fiber());
}

TEST_F(PinTest, CountsTwoHundredFiftyFiveAtOnce) {
  Runtime runtime = start(1);
  struct Nest {
    static void pin(int depth) {
      const Pin one;
      if (depth > 1) pin(depth - 1);
    }
  };
  ASSERT_TRUE(runtime.run([] { Nest::pin(255); }));
}

}  // namespace
}  // namespace weft
