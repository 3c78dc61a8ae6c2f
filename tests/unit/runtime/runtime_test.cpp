#include "support/runtime_test.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stress/scale.hpp"
#include "support/gate.hpp"
#include "support/process.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;
using test::RuntimeTest;
using namespace std::chrono_literals;

class RuntimeLifeTest : public RuntimeTest {};

TEST_F(RuntimeLifeTest, RunsABodyAndGivesItsResult) {
  Runtime runtime = start(2);
  EXPECT_EQ(runtime.run([] { return 7; }).value(), 7);
  EXPECT_EQ(runtime
                .run([](Nursery& nursery) {
                  return nursery.spawn([] { return 8; }).join();
                })
                .value(),
            8);
  EXPECT_TRUE(runtime.run([] {}));
  EXPECT_EQ(runtime.run([]() -> Status { return Errc::denied; }).error(),
            Errc::denied);
  EXPECT_THROW((void)runtime.run([] { throw std::logic_error("x"); }),
               std::logic_error);
  expect_empty(runtime);
}

TEST_F(RuntimeLifeTest, WaitsForAllThatTheBodyStarted) {
  std::atomic<int> ended{0};
  Runtime runtime = start(2);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 100; ++i) {
      nursery.spawn([&](Nursery& inner) {
        inner.spawn([&] {
          this_fiber::yield();
          ++ended;
        });
      });
    }
  }));
  EXPECT_EQ(ended, 100);
}

// R-RUNQ-17
TEST_F(RuntimeLifeTest, HasTheWorkersItWasAskedFor) {
  EXPECT_GE(start(Config{}).ref().worker_count(), 1u);
  for (const unsigned workers : {1u, 3u, 16u}) {
    EXPECT_EQ(start(workers).ref().worker_count(), workers);
  }
}

// R-FIBER-05
TEST_F(RuntimeLifeTest, RunsFibersOfEveryStackSize) {
  for (const auto size :
       {StackSize::small, StackSize(64 << 10), StackSize::large}) {
    Runtime runtime = start(Config{.workers = 1, .stack_size = size});
    EXPECT_EQ(runtime.ref().config().stack_size, size);
    ASSERT_TRUE(runtime.run([](Nursery& nursery) {
      for (int i = 0; i < 20; ++i) nursery.spawn([] { this_fiber::yield(); });
    }));
    EXPECT_GE(runtime.ref().stats().stack_bytes,
              static_cast<std::size_t>(size));
  }
}

TEST_F(RuntimeLifeTest, MovesWithItsFibers) {
  Runtime first = start(1);
  Gate gate;
  Nursery nursery(first);
  nursery.spawn([&] { EXPECT_TRUE(gate.pass()); });
  Runtime second = std::move(first);
  EXPECT_EQ(second.run([] { return 1; }).value(), 1);
  gate.open();
  EXPECT_TRUE(nursery.join());
  second = start(2);  // ends the old one
  EXPECT_EQ(second.ref().worker_count(), 2u);
}

// R-RUNQ-10 R-SHUT-02
TEST_F(RuntimeLifeTest, ShutsDownGracefully) {
  Runtime runtime = start(2);
  std::atomic<int> ended{0};
  Nursery nursery(runtime);
  for (int i = 0; i < 100; ++i) {
    nursery.spawn([&] {
      EXPECT_TRUE(this_fiber::sleep_for(1ms));
      ++ended;
    });
  }
  EXPECT_TRUE(runtime.shutdown(Deadline::never()));
  EXPECT_EQ(ended, 100);
  EXPECT_FALSE(runtime.ref().running());
  EXPECT_TRUE(nursery.join());
  EXPECT_TRUE(runtime.shutdown(Deadline::never()));  // again: at once
  EXPECT_TRUE(runtime.shutdown_now());
}

// R-SHUT-02
TEST_F(RuntimeLifeTest, CancelsWhatIsLeftAfterTheGrace) {
  Runtime runtime = start(2);
  std::atomic<int> cancelled{0};
  Nursery nursery(runtime);
  for (int i = 0; i < 100; ++i) {
    nursery.spawn([&] {
      cancelled +=
          this_fiber::sleep_until(Deadline::never()).error() == Errc::cancelled;
    });
  }
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(runtime.shutdown(Deadline::after(1ms)));
  const auto text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("fibers still run at shutdown"), std::string::npos);
  EXPECT_TRUE(nursery.join());
  EXPECT_LE(cancelled, 100);  // the rest never started
}

// R-SHUT-02
TEST_F(RuntimeLifeTest, ShutsDownNow) {
  Runtime runtime = start(2);
  Gate gate;
  std::atomic<int> cancelled{0};
  Nursery nursery(runtime);
  for (int i = 0; i < 100; ++i) {
    nursery.spawn([&] { cancelled += gate.pass().error() == Errc::cancelled; });
  }
  while (gate.waiting() != 100) std::this_thread::yield();
  EXPECT_TRUE(runtime.shutdown_now());
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(cancelled, 100);
}

TEST_F(RuntimeLifeTest, SaysWhenFibersIgnoreTheCancel) {
  Runtime runtime = start(1);
  std::atomic<bool> stop{false};
  std::atomic<bool> started{false};
  Nursery nursery(runtime);
  nursery.spawn([&] {
    started = true;
    while (!stop) this_fiber::yield();
  });
  while (!started) std::this_thread::yield();
  EXPECT_EQ(runtime.shutdown_now(Deadline::after(1ms)).error(),
            Errc::timed_out);
  stop = true;
  EXPECT_TRUE(runtime.shutdown_now());
  EXPECT_TRUE(nursery.join());
}

struct CannotBeCopied {
  CannotBeCopied() = default;
  CannotBeCopied(const CannotBeCopied&) { throw std::runtime_error("copied"); }
  void operator()() const {}
};

// R-SHUT-01: whatever becomes of it.
TEST_F(RuntimeLifeTest, CountsAFiberOnceFromItsSpawnToItsEnd) {
  constexpr std::size_t kFibers = 100;
  Runtime runtime = start(2);
  const auto live = [&] { return runtime.ref().stats().fibers_live; };
  EXPECT_EQ(live(), 0u);
  Gate gate;
  ASSERT_TRUE(runtime.run([&] {
    EXPECT_EQ(live(), 1u);
    Nursery nursery;
    for (std::size_t i = 1; i <= kFibers; ++i) {
      nursery.spawn([&] { EXPECT_TRUE(gate.pass()); });
      EXPECT_EQ(live(), 1 + i);
    }
    const CannotBeCopied never_spawned;
    EXPECT_THROW(nursery.spawn(never_spawned), std::runtime_error);
    EXPECT_EQ(live(), 1 + kFibers);
    EXPECT_TRUE(nursery.spawn([] {}).join());  // in place, or elsewhere
    EXPECT_EQ(live(), 1 + kFibers);
    auto cancelled = nursery.spawn([&] { (void)gate.pass(); });
    cancelled.cancel();
    (void)cancelled.join(Deadline::after(1h));
    EXPECT_EQ(live(), 1 + kFibers);
    while (gate.waiting() != kFibers) this_fiber::yield();
    EXPECT_EQ(live(), 1 + kFibers);  // a parked fiber is alive
    gate.open();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(live(), 1u);
  }));
  EXPECT_EQ(live(), 0u);
}

// R-SHUT-02
TEST_F(RuntimeLifeTest, EndsAllThatItAdmittedAndRefusesTheRest) {
  for (int round = 0; round < test::scaled(50); ++round) {
    Runtime runtime = start(2);
    std::atomic<int> admitted{0};
    std::atomic<int> ran{0};
    std::atomic<int> ended{0};
    std::atomic<int> cancelled{0};
    const auto spawn_until_refused = [&] {
      for (;;) {
        Nursery nursery(runtime);
        auto task = nursery.try_spawn({}, [&] { ++ran; });
        if (!task) {
          EXPECT_EQ(task.error(), Errc::closed);
          return;
        }
        ++admitted;
        const Status end = task->join();
        ended += end.has_value();
        cancelled += !end && end.error() == Errc::cancelled;
        EXPECT_TRUE(nursery.join());
      }
    };
    std::thread first(spawn_until_refused);
    std::thread second(spawn_until_refused);
    while (admitted < 100) std::this_thread::yield();
    EXPECT_TRUE(runtime.shutdown_now());
    first.join();
    second.join();
    expect_empty(runtime);
    EXPECT_EQ(ended, ran);
    EXPECT_EQ(ended + cancelled, admitted);
    EXPECT_LE(cancelled, 2);  // the last of each, if it had not started
  }
}

// Its copy takes until the runtime has swept over its fibers.
struct CopiedLate {
  CopiedLate(std::atomic<bool>& when, Gate& waits_at)
      : go(when), gate(waits_at) {}
  CopiedLate(const CopiedLate& other) : go(other.go), gate(other.gate) {
    while (!go) std::this_thread::yield();
  }
  void operator()() const { EXPECT_EQ(gate.pass().error(), Errc::cancelled); }
  std::atomic<bool>& go;
  Gate& gate;
};

TEST_F(RuntimeLifeTest, CancelsAFiberThatIsJustBeingSpawned) {
  Runtime runtime = start(2);
  Gate gate;
  std::atomic<bool> swept{false};
  std::atomic<bool> spawning{false};
  Nursery nursery(runtime);
  nursery.spawn([&](Nursery& inner) {
    for (int i = 0; i < 2; ++i) {
      inner.spawn([&] {
        EXPECT_EQ(gate.pass().error(), Errc::cancelled);
        swept = true;
      });
    }
    while (gate.waiting() != 2) this_fiber::yield();
    const CopiedLate late(swept, gate);
    spawning = true;
    inner.spawn(late);
  });
  while (!spawning) std::this_thread::yield();
  EXPECT_TRUE(runtime.shutdown_now(Deadline::after(5s)));
  gate.open();
  EXPECT_TRUE(nursery.join());
}

TEST_F(RuntimeLifeTest, LeavesNothingBehindAfterAHundredLives) {
  const auto others = test::threads();
  const auto live = [] {
    Runtime runtime = start(4);
    std::atomic<int> ended{0};
    ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
      for (int i = 0; i < 50; ++i) {
        nursery.spawn([&] {
          this_fiber::yield();
          ++ended;
        });
      }
    }));
    EXPECT_EQ(ended, 50);
  };
  for (int i = 0; i < 10; ++i) live();  // what is made once
  const auto maps = test::mappings();
  for (int i = 0; i < 100; ++i) live();
  if (!test::kSanitized) {  // their tools map memory of their own
    EXPECT_LE(test::mappings(), maps + 20);  // malloc's arenas may grow
  }
  test::await_threads(others);
}

TEST_F(RuntimeLifeTest, CancelsEvenIfThereIsNoTimeToWait) {
  Runtime runtime = start(1);
  Gate gate;
  std::atomic<bool> cancelled{false};
  Nursery nursery(runtime);
  nursery.spawn([&] { cancelled = gate.pass().error() == Errc::cancelled; });
  while (gate.waiting() == 0) std::this_thread::yield();
  (void)runtime.shutdown_now(Deadline::after(0s));
  EXPECT_TRUE(nursery.join());
  EXPECT_TRUE(cancelled);
}

TEST_F(RuntimeLifeTest, TakesTheLargestLimitForOne) {
  Runtime runtime = start(Config{.workers = 1, .max_fibers = SIZE_MAX});
  EXPECT_EQ(runtime.run([] { return 7; }).value(), 7);
}

TEST_F(RuntimeLifeTest, SurvivesAMoveToItself) {
  Runtime runtime = start(1);
  Runtime& same = runtime;
  runtime = std::move(same);
  EXPECT_EQ(runtime.run([] { return 7; }).value(), 7);
}

TEST_F(RuntimeLifeTest, CountsLiveChildrenForAnybody) {
  Runtime runtime = start(2);
  std::atomic<bool> done{false};
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&] {
      while (!done) {
        EXPECT_LE(nursery.live(), 101u);
        this_fiber::yield();
      }
    });
    for (int i = 0; i < 100; ++i) {
      nursery.spawn([] { this_fiber::yield(); });
      this_fiber::yield();
    }
    done = true;
  }));
}

TEST_F(RuntimeLifeTest, NamesItsThreads) {
  Runtime runtime = start(Config{.name = "spun", .workers = 1});
  const auto name = runtime.run([] {
    std::ifstream file("/proc/thread-self/comm");
    std::string line;
    std::getline(file, line);
    return line;
  });
  EXPECT_EQ(name.value(), "spun-0");
}

// R-FIBER-02
TEST_F(RuntimeLifeTest, HoldsManyFibersWithoutALimit) {
#if defined(__SANITIZE_THREAD__)
  constexpr std::size_t kFibers = 2000;
#else
  constexpr std::size_t kFibers = 20'000;
#endif
  Runtime runtime = start(2);
  Gate gate;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (std::size_t i = 0; i < kFibers; ++i) {
      nursery.spawn([&] { EXPECT_TRUE(gate.pass()); });
    }
    while (gate.waiting() != kFibers) this_fiber::yield();
    gate.open();
  }));
  expect_empty(runtime);
}

TEST_F(RuntimeLifeTest, RefusesAWrongConfig) {
  ::testing::internal::CaptureStderr();
  const auto refused = Runtime::start({.workers = 5000});
  const auto text = ::testing::internal::GetCapturedStderr();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), Errc::invalid);
  EXPECT_NE(text.find("workers = 5000"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft
