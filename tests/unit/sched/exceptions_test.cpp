// exceptions_test.cpp: what is thrown belongs to the fiber, not to the thread.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>

#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;
using test::hold_worker_until;
using test::RuntimeTest;

class FiberExceptionsTest : public RuntimeTest {};

std::string what_is_caught() {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST_F(FiberExceptionsTest, AreStillCaughtAfterAWaitInACatchBlock) {
  Runtime runtime = start(1);
  Gate gate;
  constexpr std::size_t kFibers = 10;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (std::size_t i = 0; i < kFibers; ++i) {
      nursery.spawn([&, i] {
        try {
          throw std::runtime_error(std::to_string(i));
        } catch (const std::exception&) {
          EXPECT_TRUE(gate.pass());
          EXPECT_EQ(what_is_caught(), std::to_string(i));
          this_fiber::yield();
          EXPECT_EQ(what_is_caught(), std::to_string(i));
        }
        EXPECT_EQ(std::current_exception(), nullptr);
      });
    }
    while (gate.waiting() != kFibers) this_fiber::yield();
    EXPECT_EQ(std::current_exception(), nullptr);
    gate.open();
  }));
}

TEST_F(FiberExceptionsTest, MoveToAnotherWorkerWithTheirFiber) {
  Runtime runtime = start(2);
  Gate gate;
  std::atomic<pid_t> first{0};
  std::atomic<bool> moved{false};
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&] {
      try {
        throw std::runtime_error("travels");
      } catch (const std::exception&) {
        first = ::gettid();
        EXPECT_TRUE(gate.pass());
        EXPECT_NE(::gettid(), first);
        EXPECT_EQ(what_is_caught(), "travels");
        try {
          throw;
        } catch (const std::runtime_error& again) {
          EXPECT_STREQ(again.what(), "travels");
        }
      }
      EXPECT_EQ(std::uncaught_exceptions(), 0);
      moved = true;
    });
    while (gate.waiting() == 0) this_fiber::yield();
    while (::gettid() != first) this_fiber::yield();
    gate.open();
    hold_worker_until([&] { return moved.load(); });
  }));
}

// Waits while it is destroyed, perhaps by an exception.
struct WaitsAtItsEnd {
  Gate* gate;
  int* uncaught;
  ~WaitsAtItsEnd() {
    EXPECT_EQ(std::uncaught_exceptions(), 1);
    EXPECT_TRUE(gate->pass());
    *uncaught = std::uncaught_exceptions();
  }
};

TEST_F(FiberExceptionsTest, StayUncaughtOverAWaitDuringUnwinding) {
  Runtime runtime = start(2);
  Gate gate;
  int uncaught = -1;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&] {
      try {
        const WaitsAtItsEnd waits{&gate, &uncaught};
        throw std::runtime_error("unwinding");
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "unwinding");
      }
      EXPECT_EQ(std::uncaught_exceptions(), 0);
    });
    while (gate.waiting() == 0) this_fiber::yield();
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    gate.open();
  }));
  EXPECT_EQ(uncaught, 1);
}

TEST_F(FiberExceptionsTest, AreNotSeenByAChildInPlace) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    try {
      throw std::runtime_error("outer");
    } catch (const std::exception&) {
      auto child = nursery.spawn([] {
        EXPECT_EQ(std::current_exception(), nullptr);
        this_fiber::yield();
        try {
          throw std::runtime_error("inner");
        } catch (const std::exception&) {
          this_fiber::yield();
          EXPECT_EQ(what_is_caught(), "inner");
        }
      });
      EXPECT_TRUE(child.join());
      EXPECT_EQ(what_is_caught(), "outer");
    }
  }));
}

TEST_F(FiberExceptionsTest, PassThroughANurseryThatWaits) {
  Runtime runtime = start(2);
  std::atomic<int> began{0};
  std::atomic<int> ended{0};
  EXPECT_THROW((void)runtime.run([&] {
    Nursery nursery;
    for (int i = 0; i < 10; ++i) {
      nursery.spawn([&] {
        ++began;
        while (!this_fiber::cancelled()) this_fiber::yield();
        ++ended;
      });
    }
    while (began == 0) this_fiber::yield();
    throw std::runtime_error("body");
  }),
               std::runtime_error);
  EXPECT_EQ(ended, began);
}

}  // namespace
}  // namespace weft
