// bounds_test.cpp: who waits comes within a bound, counted in what others do
// meanwhile, never in time.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include "sched/worker.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using sched::Worker;
using test::hold_worker_until;

// On one worker: fibers count without atomics.
class BoundsTest : public test::RuntimeTest {
 protected:
  void SetUp() override { undisturbed(); }

  // What the current fiber does until `came`, none of which has to wait: so
  // many sends and receives.
  static std::uint64_t exchange_until(const bool& came) {
    auto channel = make_channel<int>(4);
    std::uint64_t operations = 0;
    while (!came && operations < kTooMany) {
      EXPECT_TRUE(channel.sender.send(1));
      EXPECT_TRUE(channel.receiver.receive());
      operations += 2;
    }
    return operations;
  }

  static constexpr std::uint64_t kTooMany = 1'000'000;
  static constexpr std::uint64_t kCredit = 64;  // Current::renew_credit()
  static constexpr std::uint64_t kLook = kCredit + 2;
};

// At every second look it is the fiber that yielded which comes again.
TEST_F(BoundsTest, ChannelsLetAFiberOfTheGlobalQueueRun) {
  Runtime runtime = start(Config{.workers = 1, .spawn = SpawnPolicy::global});
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 20; ++i) {
      bool came = false;
      auto child = nursery.spawn([&] { came = true; });
      EXPECT_LE(exchange_until(came), 2 * kLook);
      EXPECT_TRUE(child.join());
    }
  }));
}

// Overdue at the second look, and then every other time.
TEST_F(BoundsTest, ChannelsLetAFiberRunThatTheyWoke) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 20; ++i) {
      bool came = false;
      auto wake = make_channel<int>(1);
      auto child = nursery.spawn([&] {
        EXPECT_TRUE(wake.receiver.receive());
        came = true;
      });
      this_fiber::yield();  // it waits
      EXPECT_TRUE(wake.sender.send(1));
      EXPECT_LE(exchange_until(came), 4 * kLook);
      EXPECT_TRUE(child.join());
    }
  }));
}

// Seven of eight looks are skipped if only those wait that yielded.
TEST_F(BoundsTest, ChannelsLetAFiberRunThatYielded) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 20; ++i) {
      bool came = false;
      auto child = nursery.spawn([&] {
        this_fiber::yield();
        came = true;
      });
      this_fiber::yield();  // it has yielded
      EXPECT_LE(exchange_until(came), (Worker::kSkippedLooks + 1) * kLook);
      EXPECT_TRUE(child.join());
    }
  }));
}

// One that has not begun may wait for so many looks (look_at_oldest()).
TEST_F(BoundsTest, ChannelsLetAFiberBegin) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    bool came = false;
    auto child = nursery.spawn([&] { came = true; });
    EXPECT_LE(exchange_until(came), (Worker::kLooksUntilOverdue + 2) * kLook);
    EXPECT_TRUE(child.join());
  }));
}

// Two fibers wake each other for ever. A fiber of the global queue runs all the
// same; on the only worker after two fair looks: at one of them the oldest of
// its own may be overdue.
void expect_global_runs_besides(Runtime runtime) {
  constexpr int kBound = 2 * static_cast<int>(Worker::kFairInterval) + 2;
  constexpr int kWarm = 1000;  // judge() has seen how short they are
  const bool is_only = runtime.ref().worker_count() == 1;
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    auto there = make_channel<int>(0);
    auto back = make_channel<int>(0);
    auto partner = nursery.spawn([&] {
      while (there.receiver.receive()) EXPECT_TRUE(back.sender.send(1));
    });
    for (int i = 0; i < kWarm; ++i) {
      EXPECT_TRUE(there.sender.send(1));
      EXPECT_TRUE(back.receiver.receive());
    }
    for (int i = 0; i < 20; ++i) {
      std::atomic<bool> came{false};
      auto other = nursery.spawn([&] { came = true; });
      int rounds = 0;
      while (!came) {  // two dispatches each
        EXPECT_TRUE(there.sender.send(1));
        EXPECT_TRUE(back.receiver.receive());
        ++rounds;
      }
      EXPECT_TRUE(other.join());
      // One that another worker took runs when that thread has the time.
      if (is_only) {
        EXPECT_LE(rounds, kBound);
      }
    }
    there.sender.close();
    EXPECT_TRUE(partner.join());
  }));
}

TEST_F(BoundsTest, FibersThatWakeEachOtherLetOneOfTheGlobalQueueRun) {
  expect_global_runs_besides(
      start(Config{.workers = 1, .spawn = SpawnPolicy::global}));
}

// A worker keeps the two to itself while the other is hungry.
TEST_F(BoundsTest, KeptFibersLetOneOfTheGlobalQueueRun) {
  expect_global_runs_besides(
      start(Config{.workers = 2, .spawn = SpawnPolicy::global}));
}

// What a worker took back from its deque is for others all the same: here it
// sits in the first of these until another has run elsewhere.
TEST_F(BoundsTest, WhatIsTakenBackIsForTheHungry) {
  constexpr std::size_t kTasks = 2 * Worker::kRecentSlots;
  Runtime runtime = start(2);
  std::atomic<bool> held{false};
  std::atomic<bool> hungry{false};
  std::atomic<std::size_t> ran{0};
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    auto last = make_channel<int>(1);
    nursery.spawn([&] {
      held = true;
      hold_worker_until([&] { return hungry.load(); });
    });
    while (!held) this_fiber::yield();
    for (std::size_t i = 0; i < kTasks; ++i) {
      nursery.spawn([&] {
        const auto before = ran++;
        if (before == kTasks / 2 + 1) {  // so this one was taken back
          hungry = true;
          hold_worker_until([&] { return ran > before + 1; });
        }
        if (before + 1 == kTasks) (void)last.sender.send(1);
      });
    }
    EXPECT_TRUE(last.receiver.receive());  // so none is run in place
  }));
  EXPECT_EQ(ran, kTasks);
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
