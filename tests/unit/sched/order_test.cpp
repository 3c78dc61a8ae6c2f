// order_test.cpp: what runs before what, on one worker and on several.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sched/worker.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;
using test::hold_worker_until;
using test::RuntimeTest;

class OrderTest : public RuntimeTest {};

// What happened, in order.
class Trace {
 public:
  void add(std::string what) {
    std::lock_guard hold(mutex_);
    all_.push_back(std::move(what));
  }
  std::vector<std::string> all() {
    std::lock_guard hold(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> all_;
};

// R-RUNQ-09 R-RUNQ-10 R-RUNQ-11 R-RUNQ-21
TEST_F(OrderTest, IsLocalThenTurnsThenInboxThenGlobal) {
  constexpr std::size_t kBacklog = 64;  // from here on outsiders go global
  Runtime runtime = start(1);
  Trace trace;
  Gate spawned;
  Nursery all(runtime);
  all.spawn([&] {
    all.spawn([&] {
      this_fiber::yield();
      trace.add("turn");
    });
    this_fiber::yield();
    all.spawn([&] { trace.add("local 1"); });
    all.spawn([&] { trace.add("local 2"); });
    std::thread outsider([&] {  // while this worker is busy with us
      for (std::size_t i = 0; i < kBacklog; ++i) {
        all.spawn([&] { trace.add("inbox"); });
      }
      all.spawn([&] { trace.add("global"); });
    });
    outsider.join();
    spawned.open();
  });
  EXPECT_TRUE(spawned.pass());
  EXPECT_TRUE(all.join());
  const auto order = trace.all();
  ASSERT_EQ(order.size(), kBacklog + 4);
  EXPECT_EQ(order[0], "local 2");  // the newest
  EXPECT_EQ(order[1], "local 1");
  EXPECT_EQ(order[2], "turn");
  EXPECT_EQ(order[3], "inbox");  // and global last, but for the fair look
  expect_empty(runtime);
}

// R-RUNQ-22
TEST_F(OrderTest, IsFirstInFirstOutFromTheOutside) {
  constexpr int kTasks = 50;
  for (const auto policy : {SpawnPolicy::local, SpawnPolicy::global}) {
    Runtime runtime = start(Config{.workers = 1, .spawn = policy});
    std::vector<int> order;
    Nursery all(runtime);
    Gate ready;
    std::atomic<bool> go{false};
    all.spawn([&] {
      ready.open();
      hold_worker_until([&] { return go.load(); });
    });
    EXPECT_TRUE(ready.pass());
    for (int i = 0; i < kTasks; ++i) {
      all.spawn([&order, i] { order.push_back(i); });
    }
    go = true;
    EXPECT_TRUE(all.join());
    ASSERT_EQ(order.size(), std::size_t{kTasks});
    for (int i = 0; i < kTasks; ++i) {
      EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    }
  }
}

// Starts its successor, so that its worker always has local work.
struct Respawning {
  explicit Respawning(Nursery& where) : nursery(where) {}
  Nursery& nursery;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> runs{0};
  Gate ended;

  void start() {
    nursery.spawn([this] {
      ++runs;
      if (stop) {
        ended.open();
      } else {
        start();
      }
    });
  }
};

// R-RUNQ-07
TEST_F(OrderTest, LetsAnOutsiderInBesidesEndlessLocalWork) {
  for (const auto policy : {SpawnPolicy::local, SpawnPolicy::global}) {
    Runtime runtime = start(Config{.workers = 1, .spawn = policy});
    Nursery all(runtime);
    Respawning load(all);
    load.start();
    while (load.runs < 100) std::this_thread::yield();
    all.spawn([&] { load.stop = true; });
    EXPECT_TRUE(load.ended.pass());
    EXPECT_TRUE(all.join());
    expect_empty(runtime);
  }
}

// R-RUNQ-07
TEST_F(OrderTest, TakesAtMostSixtyOneDispatchesUntilAFairLook) {
  Runtime runtime = start(1);
  Nursery all(runtime);
  Respawning load(all);
  std::uint64_t runs = 0;
  all.spawn([&] {
    load.start();
    std::thread outsider([&] {
      all.spawn([&] {
        runs = load.runs;
        load.stop = true;
      });
    });
    outsider.join();  // both are queued before either runs
  });
  EXPECT_TRUE(load.ended.pass());
  EXPECT_TRUE(all.join());
  EXPECT_LE(runs, sched::Worker::kFairInterval);
  expect_empty(runtime);
}

// R-RUNQ-07 R-TIMER-02
TEST_F(OrderTest, LetsADeadlinePassBesidesEndlessLocalWork) {
  Runtime runtime = start(1);
  Nursery all(runtime);
  Respawning load(all);
  all.spawn([&] {
    EXPECT_TRUE(this_fiber::sleep_for(std::chrono::microseconds(1)));
    load.stop = true;
  });
  load.start();
  EXPECT_TRUE(load.ended.pass());
  EXPECT_TRUE(all.join());
  expect_empty(runtime);
}

TEST_F(OrderTest, YieldsBehindTheReadyFibers) {
  Runtime runtime = start(1);
  std::vector<int> order;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 5; ++i) {
      nursery.spawn([&order, i] { order.push_back(i); });
    }
    this_fiber::yield();
    order.push_back(99);
  }));
  EXPECT_EQ(order, (std::vector<int>{4, 3, 2, 1, 0, 99}));
}

TEST_F(OrderTest, YieldsInTurn) {
  Runtime runtime = start(1);
  std::vector<int> order;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&order, i] {
        for (int round = 0; round < 3; ++round) {
          order.push_back(i);
          this_fiber::yield();
        }
      });
    }
    for (int round = 0; round < 3; ++round) this_fiber::yield();
  }));
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0, 2, 1, 0, 2, 1, 0}));
}

TEST_F(OrderTest, ReturnsAtOnceFromAYieldWithNobodyElse) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&] {
    for (int i = 0; i < 10; ++i) this_fiber::yield();
  }));
  EXPECT_EQ(runtime.ref().stats().workers[0].yielded, 0u);
}

TEST_F(OrderTest, WakesInTheOrderOfTheWaits) {
  undisturbed();  // who is woken for nothing comes later
  Runtime runtime = start(1);
  std::vector<int> order;
  Gate gate;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 10; ++i) {
      nursery.spawn([&, i] {
        EXPECT_TRUE(gate.pass());
        order.push_back(i);
      });
      while (gate.waiting() != static_cast<std::size_t>(i) + 1) {
        this_fiber::yield();
      }
    }
    gate.open();
  }));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

}  // namespace
}  // namespace weft
