// runtimes_test.cpp: several runtimes, and plain threads beside them.

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "sched/carrier.hpp"
#include "sched/worker.hpp"
#include "support/gate.hpp"
#include "support/rounding.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;
using test::RuntimeTest;

class RuntimesTest : public RuntimeTest {};

// R-RT-04
TEST_F(RuntimesTest, WaitForEachOthersTasks) {
  Runtime left = start(2);
  Runtime right = start(2);
  Nursery on_left(left);
  Nursery on_right(right);
  constexpr int kRounds = 200;
  std::atomic<int> sum{0};
  const auto cross = [&sum](Runtime& other) {
    for (int i = 0; i < kRounds; ++i) {
      Nursery abroad(other);
      auto task = abroad.spawn([i] {
        this_fiber::yield();
        return i;
      });
      sum += task.join().value();
      EXPECT_TRUE(abroad.join());
    }
  };
  on_left.spawn([&] { cross(right); });
  on_right.spawn([&] { cross(left); });
  EXPECT_TRUE(on_left.join());
  EXPECT_TRUE(on_right.join());
  EXPECT_EQ(sum, kRounds * (kRounds - 1));
  expect_empty(left);
  expect_empty(right);
}

// R-RT-04
TEST_F(RuntimesTest, RunOneInsideTheOther) {
  Runtime outer = start(1);
  Runtime inner = start(1);
  const auto answer = outer.run([&] {
    return inner.run([] { return 20; }).value() +
           inner
               .run([](Nursery& nursery) {
                 return nursery.spawn([] { return 22; }).join();
               })
               .value();
  });
  EXPECT_EQ(answer.value(), 42);
}

// R-RT-04
TEST_F(RuntimesTest, WakeEachOthersFibers) {
  Runtime left = start(1);
  Runtime right = start(1);
  std::vector<Gate> gates(200);
  Nursery on_left(left);
  Nursery on_right(right);
  const auto play = [&](std::size_t first) {
    for (std::size_t i = first; i < gates.size(); i += 2) {
      if (i != 0) {
        EXPECT_TRUE(gates[i - 1].pass());
      }
      gates[i].open();
    }
  };
  on_left.spawn(play, std::size_t{0});
  on_right.spawn(play, std::size_t{1});
  EXPECT_TRUE(on_left.join());
  EXPECT_TRUE(on_right.join());
}

// R-RT-07
TEST_F(RuntimesTest, AreMadeWithASeedAndANumberOfWorkers) {
  Runtime runtime = start(Config{.workers = 3, .steal_seed = 1234});
  EXPECT_EQ(runtime.ref().worker_count(), 3u);
  EXPECT_EQ(runtime.ref().config().steal_seed, 1234u);
}

// R-RT-08 R-DET-01
TEST_F(RuntimesTest, RunInTheSameOrderOnOneWorker) {
  const auto trace = [] {
    Runtime runtime = start(1);
    std::vector<int> order;
    (void)runtime.run([&](Nursery& nursery) {
      for (int i = 0; i < 100; ++i) {
        nursery.spawn([&order, i](Nursery& inner) {
          order.push_back(i);
          for (int k = 0; k < i % 5; ++k) this_fiber::yield();
          inner.spawn([&order, i] { order.push_back(1000 + i); });
          order.push_back(-i);
        });
      }
    });
    return order;
  };
  const auto first = trace();
  EXPECT_EQ(first.size(), 300u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(trace(), first);
}

// R-JOIN-04 R-SPAWN-05
TEST_F(RuntimesTest, ServeManyPlainThreads) {
  constexpr int kThreads = 8;
  constexpr int kEach = 500;
  Runtime runtime = start(2);
  std::atomic<std::int64_t> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      Nursery all(runtime);
      for (int i = 0; i < kEach; ++i) {
        auto task = all.spawn([i] { return i; });
        sum += task.join().value();
      }
      EXPECT_TRUE(all.join());
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sum, std::int64_t{kThreads} * kEach * (kEach - 1) / 2);
  expect_empty(runtime);
}

// R-JOIN-02
TEST_F(RuntimesTest, ServeFibersAndThreadsThatJoinAtTheSameTime) {
  Runtime runtime = start(2);
  Gate gate;
  Nursery all(runtime);
  auto for_thread = all.spawn([&] {
    EXPECT_TRUE(gate.pass());
    return 1;
  });
  auto for_fiber = all.spawn([&] {
    EXPECT_TRUE(gate.pass());
    return 2;
  });
  int by_thread = 0;
  int by_fiber = 0;
  std::thread thread([&] { by_thread = for_thread.join().value(); });
  all.spawn([&] { by_fiber = for_fiber.join().value(); });
  while (gate.waiting() != 2) std::this_thread::yield();
  gate.open();
  thread.join();
  EXPECT_TRUE(all.join());
  EXPECT_EQ(by_thread, 1);
  EXPECT_EQ(by_fiber, 2);
}

// R-FIBER-01 R-CTRL-04
TEST_F(RuntimesTest, UseFewStacksForManyFibers) {
  Runtime runtime = start(2);
  std::size_t most = 0;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 20'000; ++i) {
      auto child = nursery.spawn([] { this_fiber::yield(); });
      EXPECT_TRUE(child.join(Deadline::after(std::chrono::hours(1))));
    }
    most = runtime.ref().stats().stacks_mapped;
  }));
  EXPECT_LE(most, 300u);  // what the caches keep, not what the fibers used
  expect_empty(runtime);
}

// R-FIBER-03
TEST_F(RuntimesTest, ReserveWholeStacksForParkedFibers) {
  constexpr std::size_t kFibers = 1000;
  Runtime runtime = start(2);
  Gate gate;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (std::size_t i = 0; i < kFibers; ++i) {
      nursery.spawn([&] { EXPECT_TRUE(gate.pass()); });
    }
    while (gate.waiting() != kFibers) this_fiber::yield();
    const auto stats = runtime.ref().stats();
    EXPECT_GE(stats.stack_bytes, kFibers * (256u << 10));
    EXPECT_EQ(stats.fibers_live, kFibers + 1);
    gate.open();
  }));
  expect_empty(runtime);
}

using test::rounding;
using test::set_rounding;

// R-FIBER-13
TEST_F(RuntimesTest, StartEveryFiberWithTheSameRoundingMode) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    const auto usual = rounding();
    for (int i = 0; i < 20; ++i) {
      nursery.spawn([usual, i] {
        EXPECT_EQ(rounding(), usual) << i;
        set_rounding(rounding() ^ 3);
        if (i % 2 == 0) this_fiber::yield();
        EXPECT_NE(rounding(), usual) << i;  // its own to the end
      });
    }
    while (nursery.live() != 0) this_fiber::yield();
    EXPECT_EQ(rounding(), usual);
  }));
}

// R-FIBER-13
TEST_F(RuntimesTest, KeepRoundingModesApartWhereAChildRunsInPlace) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    const auto usual = rounding();
    const auto child = [usual] {
      EXPECT_EQ(rounding(), usual);  // not its parent's
      set_rounding(rounding() ^ 1);
    };
    set_rounding(rounding() ^ 3);
    const auto mine = rounding();
    EXPECT_TRUE(nursery.spawn(child).join());
    EXPECT_EQ(rounding(), mine);
    nursery.spawn(child);
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(rounding(), mine);
    set_rounding(rounding() ^ 3);
  }));
  EXPECT_EQ(runtime.ref().stats().workers[0].in_place, 2u);
}

// R-RUNQ-18
TEST(Carrier, HasNoWorkerOnAPlainThread) {
  EXPECT_EQ(sched::worker_or_null(), nullptr);
  std::thread thread([] {
    EXPECT_EQ(sched::carrier_or_null(), nullptr);  // weft has not met it
    EXPECT_FALSE(this_fiber::is_fiber());
    const auto& here = sched::carrier();
    EXPECT_EQ(&here, sched::carrier_or_null());
    EXPECT_EQ(here.worker, nullptr);
    EXPECT_TRUE(here.current->proxy);
  });
  thread.join();
}

// R-RUNQ-18
TEST_F(RuntimesTest, KnowTheirCurrentFiberAfterEachMove) {
  Runtime runtime = start(4);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 100; ++i) {
      nursery.spawn([] {
        const auto self = this_fiber::id();
        for (int round = 0; round < 50; ++round) {
          this_fiber::yield();
          ASSERT_EQ(this_fiber::id(), self);
          ASSERT_EQ(sched::carrier().current->id.load(), self.value);
          ASSERT_EQ(sched::carrier().current->word.spec_value(),
                    sched::worker_or_null()->index() + 1);
        }
      });
    }
  }));
}

}  // namespace
}  // namespace weft
