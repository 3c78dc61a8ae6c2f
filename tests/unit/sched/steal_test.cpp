// steal_test.cpp: how work spreads over the workers, and where it may not.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "sched/worker.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using sched::Worker;
using test::Gate;
using test::hold_worker_until;
using test::RuntimeTest;

class StealTest : public RuntimeTest {};

std::uint64_t total(const Stats& stats, std::uint64_t WorkerStats::*field) {
  std::uint64_t sum = 0;
  for (const auto& worker : stats.workers) sum += worker.*field;
  return sum;
}

// R-RUNQ-01 R-RUNQ-24 R-AFF-02
TEST_F(StealTest, RunsTheTasksOfAWorkerThatIsStuck) {
  Runtime runtime = start(2);
  constexpr int kTasks = 200;
  std::atomic<int> ran{0};
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < kTasks; ++i) nursery.spawn([&] { ++ran; });
    hold_worker_until([&] { return ran == kTasks; });
  }));
  EXPECT_GE(total(runtime.ref().stats(), &WorkerStats::stolen), 1u);
  expect_empty(runtime);
}

// R-RUNQ-24
TEST_F(StealTest, RunsTheTasksThatAStuckWorkerGotWhileAllWereBusy) {
  Runtime runtime = start(2);
  constexpr int kTasks = 50;
  std::atomic<bool> busy{false};
  std::atomic<bool> spawned{false};
  std::atomic<int> ran{0};
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&] {
      busy = true;
      hold_worker_until([&] { return spawned.load(); });
    });
    hold_worker_until([&] { return busy.load(); });
    for (int i = 0; i < kTasks; ++i) nursery.spawn([&] { ++ran; });
    spawned = true;
    hold_worker_until([&] { return ran == kTasks; });
  }));
  expect_empty(runtime);
}

// R-AFF-02
TEST_F(StealTest, RunsTheYieldedFibersOfAWorkerThatIsStuck) {
  Runtime runtime = start(2);
  constexpr int kFibers = 20;
  std::atomic<int> ran{0};
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < kFibers; ++i) {
      nursery.spawn([&] {
        for (int round = 0; round < 10; ++round) this_fiber::yield();
        ++ran;
      });
    }
    this_fiber::yield();
    hold_worker_until([&] { return ran == kFibers; });
  }));
  expect_empty(runtime);
}

// R-AFF-01 R-AFF-02
TEST_F(StealTest, RunsWhatOutsidersGaveToAWorkerThatIsStuck) {
  Runtime runtime = start(2);
  constexpr int kTasks = 200;
  std::atomic<int> ran{0};
  Nursery outside(runtime);
  ASSERT_TRUE(runtime.run([&] {
    std::thread outsider([&] {
      for (int i = 0; i < kTasks; ++i) outside.spawn([&] { ++ran; });
    });
    hold_worker_until([&] { return ran == kTasks; });
    outsider.join();
  }));
  EXPECT_TRUE(outside.join());
  expect_empty(runtime);
}

// R-AFF-02
TEST_F(StealTest, ResumesAWokenFiberWhileItsWorkerIsStuck) {
  Runtime runtime = start(2);
  Gate gate;
  std::atomic<bool> resumed{false};
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&] {
      EXPECT_TRUE(gate.pass());
      resumed = true;
    });
    while (gate.waiting() == 0) this_fiber::yield();
    gate.open();
    hold_worker_until([&] { return resumed.load(); });
  }));
  expect_empty(runtime);
}

// R-RUNQ-13
TEST_F(StealTest, StealsNothingIfToldSo) {
  constexpr int kFibers = std::min<int>(1000, Worker::kRecentSlots);
  Runtime runtime = start(Config{.workers = 4, .steal = false});
  std::atomic<int> ran{0};
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    const auto here = ::gettid();
    for (int i = 0; i < kFibers; ++i) {
      nursery.spawn([&, here] {
        EXPECT_EQ(::gettid(), here);
        ++ran;
      });
    }
  }));
  EXPECT_EQ(ran, kFibers);
  const auto stats = runtime.ref().stats();
  EXPECT_EQ(total(stats, &WorkerStats::stolen), 0u);
  EXPECT_EQ(total(stats, &WorkerStats::steal_failures), 0u);
}

// What overflows into the queue of all is anybody's, and whoever sleeps hears
// of it while the spawner sits in its fiber.
TEST_F(StealTest, SharesAnOverflowEvenIfNothingIsStolen) {
  constexpr auto kMany = Worker::kRecentSlots + Worker::kDequeSlots + 100;
  Runtime runtime = start(Config{.workers = 2, .steal = false});
  std::atomic<std::size_t> ran{0};
  const auto sleeps = [&](std::size_t worker) {
    return runtime.ref().stats().workers[worker].sleeps;
  };
  while (sleeps(0) == 0 || sleeps(1) == 0) std::this_thread::yield();
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (std::size_t i = 0; i < kMany; ++i) nursery.spawn([&] { ++ran; });
    hold_worker_until([&] { return ran != 0; });
  }));
  EXPECT_EQ(ran, kMany);
  expect_empty(runtime);
}

// R-RUNQ-14
TEST_F(StealTest, WorksWithEveryChoiceOfVictims) {
  for (const auto victim :
       {Victim::random, Victim::round_robin, Victim::least_loaded}) {
    Runtime runtime = start(Config{.workers = 4, .victim = victim});
    std::atomic<int> ran{0};
    ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
      for (int i = 0; i < 500; ++i) nursery.spawn([&] { ++ran; });
      hold_worker_until([&] { return ran == 500; });
    }));
    expect_empty(runtime);
  }
}

// The worker of each of n fibers that are alive at the same time.
std::map<pid_t, int> places_of(Runtime& runtime, int fibers) {
  std::mutex mutex;
  std::map<pid_t, int> places;
  std::atomic<int> started{0};
  Nursery all(runtime);
  for (int i = 0; i < fibers; ++i) {
    all.spawn([&] {
      {
        std::lock_guard hold(mutex);
        ++places[::gettid()];
      }
      ++started;
      hold_worker_until([&] { return started == fibers; });
    });
  }
  EXPECT_TRUE(all.join());
  return places;
}

// R-RUNQ-08 R-SPAWN-06
TEST_F(StealTest, GivesFourBusyTasksAWorkerEach) {
  for (const auto policy :
       {SpawnPolicy::local, SpawnPolicy::round_robin, SpawnPolicy::global}) {
    Runtime runtime = start(Config{.workers = 4, .spawn = policy});
    const auto places = places_of(runtime, 4);
    EXPECT_EQ(places.size(), 4u);
    expect_empty(runtime);
  }
}

// R-SPAWN-01
TEST_F(StealTest, SpreadsSpawnsEvenlyByRoundRobin) {
  constexpr unsigned kWorkers = 4;
  constexpr int kEach = 8;  // with the holders less than a backlog
  Runtime runtime = start(Config{
      .workers = kWorkers, .spawn = SpawnPolicy::round_robin, .steal = false});
  std::mutex mutex;
  std::map<pid_t, int> places;
  std::atomic<unsigned> busy{0};
  std::atomic<bool> go{false};
  Nursery all(runtime);
  while (busy != kWorkers) {  // a sleeping worker would be preferred
    all.spawn([&] {
      ++busy;
      hold_worker_until([&] { return go.load(); });
      --busy;
    });
    for (int i = 0; i < 10'000 && busy != kWorkers; ++i) {
      std::this_thread::yield();
    }
  }
  for (unsigned i = 0; i < kWorkers * kEach; ++i) {
    all.spawn([&] {
      std::lock_guard hold(mutex);
      ++places[::gettid()];
    });
  }
  go = true;
  EXPECT_TRUE(all.join());
  ASSERT_EQ(places.size(), kWorkers);
  for (const auto& [worker, count] : places) EXPECT_EQ(count, kEach) << worker;
}

// R-RUNQ-03 R-RUNQ-05 R-RUNQ-06 R-SPAWN-04
TEST_F(StealTest, RunsEveryTaskPastFullQueues) {
  constexpr int kTasks = 100'000;
  Runtime runtime = start(Config{.workers = 2, .global_queue = 16});
  std::atomic<std::int64_t> sum{0};
  std::atomic<bool> go{false};
  Nursery all(runtime);
  for (int i = 0; i < 2; ++i) {
    all.spawn([&] { hold_worker_until([&] { return go.load(); }); });
  }
  for (int i = 1; i <= kTasks; ++i) all.spawn([&sum, i] { sum += i; });
  go = true;
  EXPECT_TRUE(all.join());
  EXPECT_EQ(sum, std::int64_t{kTasks} * (kTasks + 1) / 2);
  expect_empty(runtime);
}

// R-SPAWN-04 R-RUNQ-03
TEST_F(StealTest, RunsEveryTaskOfABurstFromOneFiber) {
  constexpr int kTasks = 100'000;
  for (const unsigned workers : {1u, 2u}) {
    Runtime runtime = start(workers);
    std::atomic<std::int64_t> sum{0};
    ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
      for (int i = 1; i <= kTasks; ++i) nursery.spawn([&sum, i] { sum += i; });
    }));
    EXPECT_EQ(sum, std::int64_t{kTasks} * (kTasks + 1) / 2);
    expect_empty(runtime);
  }
}

// R-RUNQ-17
TEST_F(StealTest, RunsOnManyMoreWorkersThanProcessors) {
  constexpr int kTasks = 5000;
  Runtime runtime = start(256);
  EXPECT_EQ(runtime.ref().worker_count(), 256u);
  std::atomic<std::int64_t> sum{0};
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 1; i <= kTasks; ++i) {
      nursery.spawn([&sum, i] {
        this_fiber::yield();
        sum += i;
      });
    }
  }));
  EXPECT_EQ(sum, std::int64_t{kTasks} * (kTasks + 1) / 2);
  expect_empty(runtime);
}

// R-RUNQ-16 R-MEMORD-05
TEST_F(StealTest, CountsWhatItsWorkersDid) {
  Runtime runtime = start(2);
  constexpr std::uint64_t kTasks = 1000;
  Gate gate;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (std::uint64_t i = 0; i < kTasks; ++i) {
      nursery.spawn([&] { EXPECT_TRUE(gate.pass()); });
    }
    while (gate.waiting() != kTasks) this_fiber::yield();
    gate.open();
  }));
  const auto stats = runtime.ref().stats();
  ASSERT_EQ(stats.workers.size(), 2u);
  EXPECT_EQ(total(stats, &WorkerStats::spawned), kTasks);  // the root: outside
  EXPECT_EQ(total(stats, &WorkerStats::finished), kTasks + 1);
  EXPECT_GE(total(stats, &WorkerStats::parked), kTasks);
  EXPECT_GE(total(stats, &WorkerStats::dispatched), 2 * kTasks);
  EXPECT_EQ(stats.fibers_live, 0u);
  EXPECT_GE(stats.stacks_mapped, kTasks);
  EXPECT_GE(stats.stack_bytes, kTasks * (256u << 10));
}

// R-RUNQ-23
TEST_F(StealTest, WakesASleepingWorkerForEverySpawn) {
  Runtime runtime = start(2);
  for (int i = 0; i < 2000; ++i) {
    Nursery all(runtime);
    std::atomic<bool> ran{false};
    all.spawn([&] { ran = true; });
    while (!ran) std::this_thread::yield();
    ASSERT_TRUE(all.join());
  }
  expect_empty(runtime);
}

// A worker that has run nothing but short fibers keeps those it wakes; but not
// when it sits in one of them.
TEST_F(StealTest, TakesOverWhatAWorkerKeptWhenItIsStuck) {
  Runtime runtime = start(2);
  EXPECT_TRUE(runtime.run([]() -> Status {
    auto ping = make_channel<int>(0);
    auto pong = make_channel<int>(0);
    Nursery nursery;
    nursery.spawn([&] {
      for (const int value : ping.receiver) {
        if (!pong.sender.send(value)) return;
      }
    });
    std::atomic<bool> ran = false;
    auto late = make_channel<int>(0);
    nursery.spawn([&] {
      (void)late.receiver.receive();
      ran = true;
    });
    constexpr int kShort = 2000;  // many fair looks
    for (int i = 0; i < kShort; ++i) {
      WEFT_TRY(ping.sender.send(i));
      WEFT_TRY(pong.receiver.receive());
    }
    WEFT_TRY(late.sender.send(1));
    hold_worker_until([&ran] { return ran.load(); });
    ping.sender.close();
    return nursery.join();
  }));
}

}  // namespace
}  // namespace weft
