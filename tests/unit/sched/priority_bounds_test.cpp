// priority_bounds_test.cpp: nobody starves for the priority of others, and no
// worker holds or loses whom the others could run.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "sched/worker.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include "unit/sched/priorities.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using sched::Worker;
using test::Gate;
using test::hold_worker_until;
using test::kHigh;
using test::kLow;
using test::kNormal;

// On one worker: fibers count without atomics.
class PriorityBoundsTest : public test::RuntimeTest {
 protected:
  void SetUp() override { undisturbed(); }
};

// ---- Bounds, counted in dispatches of others

// Starts its successor, until told to stop.
struct PriorityStream {
  Nursery& nursery;
  const SpawnOptions& options;
  bool stop = false;
  unsigned runs = 0;
  Gate ended = {};

  void start() {
    nursery.spawn(options, [this] {
      ++runs;
      if (stop || runs == kTooMany) {
        ended.open();
      } else {
        start();
      }
    });
  }
  static constexpr unsigned kTooMany = 1'000'000;
};

TEST_F(PriorityBoundsTest, EndlessHighOnesLetANormalOneRun) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([] {
    for (int i = 0; i < 20; ++i) {
      Nursery inner;
      PriorityStream stream{inner, kHigh};
      inner.spawn([&] { stream.stop = true; });
      stream.start();
      EXPECT_TRUE(stream.ended.pass());
      EXPECT_TRUE(inner.join());
      EXPECT_LE(stream.runs, Worker::kHighInARow + 1);
    }
  }));
}

// The turn that is given away is nobody's there.
TEST_F(PriorityBoundsTest, AHighOneRunsBesidesOneThatNeverWaits) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([] {
    auto channel = make_channel<int>(1);
    bool ran = false;
    Nursery nursery;
    for (unsigned i = 1; i < Worker::kHighInARow; ++i) {
      nursery.spawn(kHigh, [] {});
    }
    nursery.spawn(kHigh, [&] {
      while (!ran) {
        channel.sender.send(1).value();
        channel.receiver.receive().value();
      }
    });
    nursery.spawn(kHigh, [&ran] { ran = true; });
    EXPECT_TRUE(nursery.join());
  }));
}

// In queues that only the loop looks at, which comes when the turn was given
// away already.
TEST_F(PriorityBoundsTest, EndlessHighOnesLetOneFromOutsideRun) {
  for (const auto policy : {SpawnPolicy::local, SpawnPolicy::global}) {
    Runtime runtime = start(Config{.workers = 1, .spawn = policy});
    for (int i = 0; i < 20; ++i) {
      Nursery all(runtime);
      PriorityStream stream{all, kHigh};
      Gate ready;
      std::atomic<bool> spawned{false};
      all.spawn(kHigh, [&] {
        ready.open();
        hold_worker_until([&] { return spawned.load(); });
        stream.start();
      });
      EXPECT_TRUE(ready.pass());
      all.spawn([&] { stream.stop = true; });
      spawned = true;
      EXPECT_TRUE(stream.ended.pass());
      EXPECT_TRUE(all.join());
      EXPECT_LE(stream.runs, Worker::kHighInARow + 1);
    }
  }
}

TEST_F(PriorityBoundsTest, EndlessHighOnesLetAPinnedOneRun) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([](Nursery& nursery) {
    PriorityStream stream{nursery, kHigh};
    stream.start();
    nursery.spawn([&] {
      const this_fiber::Pin pin;
      for (int i = 0; i < 20; ++i) {
        const auto before = stream.runs;
        this_fiber::yield();
        EXPECT_LE(stream.runs - before, Worker::kHighInARow + 1);
      }
      stream.stop = true;
    });
    EXPECT_TRUE(stream.ended.pass());
  }));
}

// R-TASK-03: at every look, if nobody else waits for one.
TEST_F(PriorityBoundsTest, EndlessOthersLetALowOneRun) {
  Runtime runtime = start(1);
  for (const auto& options : {kNormal, kHigh}) {
    EXPECT_TRUE(runtime.run([&] {
      for (int i = 0; i < 20; ++i) {
        Nursery inner;
        PriorityStream stream{inner, options};
        inner.spawn(kLow, [&] { stream.stop = true; });
        stream.start();
        EXPECT_TRUE(stream.ended.pass());
        EXPECT_TRUE(inner.join());
        EXPECT_LE(stream.runs, Worker::kFairInterval + 1);
      }
    }));
  }
}

// So many looks at most, whoever else waits: see docs/design/sched.md.
constexpr unsigned kLooksUntilLow = 24;

// R-TASK-03: high ones, fresh ones, woken ones, yields, deadlines, pinned ones
// and the global queue, none of which ever is empty.
TEST_F(PriorityBoundsTest, AllOthersLetALowOneRun) {
  Runtime runtime = start(Config{.workers = 1, .spawn = SpawnPolicy::global});
  const auto dispatched = [&] {
    return runtime.ref().stats().workers[0].dispatched;
  };
  EXPECT_TRUE(runtime.run([&] {
    bool stop = false;
    Nursery nursery;
    PriorityStream high{nursery, kHigh};
    PriorityStream global{nursery, kNormal};
    high.start();
    global.start();
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&] {
        while (!stop) this_fiber::yield();
      });
      nursery.spawn([&] {
        const this_fiber::Pin pin;
        while (!stop) this_fiber::yield();
      });
      nursery.spawn([&] {
        while (!stop) {
          EXPECT_TRUE(this_fiber::sleep_for(std::chrono::nanoseconds(1)));
        }
      });
      auto there = make_channel<int>(0);
      auto back = make_channel<int>(0);
      nursery.spawn([&stop, to = there.sender, from = back.receiver]() mutable {
        while (!stop && to.send(1)) EXPECT_TRUE(from.receive());
        to.close();
      });
      nursery.spawn([to = back.sender, from = there.receiver]() mutable {
        while (from.receive()) EXPECT_TRUE(to.send(1));
      });
    }
    for (int i = 0; i < 20; ++i) {
      std::uint64_t came = 0;
      Nursery inner;
      const auto before = dispatched();
      auto low = inner.spawn(kLow, [&] { came = dispatched(); });
      EXPECT_TRUE(low.join());
      EXPECT_LE(came - before, kLooksUntilLow * Worker::kFairInterval);
    }
    stop = high.stop = global.stop = true;
    EXPECT_TRUE(high.ended.pass());
    EXPECT_TRUE(global.ended.pass());
    EXPECT_TRUE(nursery.join());
  }));
  expect_empty(runtime);
}

// What a fiber does without leaving its stack: seven of eight looks are skipped
// if only low ones wait, and at every second it is itself that comes.
TEST_F(PriorityBoundsTest, ChildrenInPlaceLetOthersRun) {
  constexpr unsigned kTooMany = 1'000'000;
  Runtime runtime = start(1);
  for (const auto& [options, looks] :
       {std::pair{kLow, 2 * Worker::kSkippedLooks}, std::pair{kHigh, 1u}}) {
    Nursery all(runtime);
    std::atomic<bool> came{false};
    Gate ready;
    unsigned after = 0;
    std::atomic<bool> spawned{false};
    auto busy = all.spawn([&](Nursery& nursery) {
      ready.open();
      hold_worker_until([&] { return spawned.load(); });
      for (; !came && after < kTooMany; ++after) {
        EXPECT_TRUE(nursery.spawn([] {}).join());
      }
    });
    EXPECT_TRUE(ready.pass());
    all.spawn(options, [&] { came = true; });
    spawned = true;
    EXPECT_TRUE(busy.join());
    EXPECT_TRUE(all.join());
    EXPECT_LE(after, looks * (Worker::kFairInterval + 1));
  }
}

// What need not wait, and is counted by 64.
TEST_F(PriorityBoundsTest, ChannelsLetAHighOneRun) {
  constexpr unsigned kCredit = 64;  // Current::renew_credit()
  constexpr unsigned kTooMany = 1'000'000;
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([](Nursery& nursery) {
    auto channel = make_channel<int>(4);
    for (int i = 0; i < 20; ++i) {
      bool came = false;
      auto high = nursery.spawn(kHigh, [&] { came = true; });
      unsigned operations = 0;
      for (; !came && operations < kTooMany; operations += 2) {
        EXPECT_TRUE(channel.sender.send(1));
        EXPECT_TRUE(channel.receiver.receive());
      }
      EXPECT_LE(operations, kCredit + 2);
      EXPECT_TRUE(high.join());
    }
  }));
}

// ---- Several workers

class PrioritiesOnWorkersTest : public test::RuntimeTest {};

// Any worker takes them, stealing or not.
TEST_F(PrioritiesOnWorkersTest, AreNotHeldByAStuckWorker) {
  for (const bool steal : {true, false}) {
    Runtime runtime = start(Config{.workers = 2, .steal = steal});
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(runtime.run([](Nursery& nursery) {
        std::atomic<int> ran{0};
        nursery.spawn(kLow, [&] { ++ran; });
        nursery.spawn(kHigh, [&] { ++ran; });
        hold_worker_until([&] { return ran == 2; });
        EXPECT_TRUE(nursery.join());
      }));
    }
    expect_empty(runtime);
  }
}

TEST_F(PrioritiesOnWorkersTest, RouseWhoSleeps) {
  constexpr int kRounds = 500;
  for (const unsigned workers : {1u, 2u, 4u}) {
    Runtime runtime = start(workers);
    Nursery all(runtime);
    for (int i = 0; i < kRounds; ++i) {
      auto task = all.spawn(i % 2 == 0 ? kLow : kHigh, [] { return 1; });
      EXPECT_EQ(task.join().value(), 1);  // they may all sleep by then
    }
    EXPECT_TRUE(all.join());
    expect_empty(runtime);
  }
}

TEST_F(PrioritiesOnWorkersTest, LeaveAPinnedFiberWhereItIs) {
  Runtime runtime = start(2);
  EXPECT_TRUE(runtime.run([](Nursery& nursery) {
    for (const auto& options : {kLow, kHigh}) {
      for (int i = 0; i < 20; ++i) {
        nursery.spawn(options, [] {
          const this_fiber::Pin pin;
          const auto home = ::gettid();
          for (int round = 0; round < 20; ++round) {
            this_fiber::yield();
            EXPECT_EQ(::gettid(), home);
            EXPECT_TRUE(this_fiber::sleep_for(std::chrono::microseconds(1)));
            EXPECT_EQ(::gettid(), home);
          }
        });
      }
    }
  }));
  expect_empty(runtime);
}

class PriorityStormTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, PriorityStormTest,
                         ::testing::Values(1u, 2u, 4u));

// Fibers of all priorities spawn, wake, join, cancel and yield to each other.
TEST_P(PriorityStormTest, LosesNobody) {
  constexpr std::size_t kFibers = 60;
  constexpr int kValues = 20;
  std::atomic<std::size_t> ended{0};
  std::atomic<int> received{0};
  const auto options_of = [](std::size_t i) {
    return SpawnOptions{.priority = static_cast<Priority>(i % 3)};
  };
  in_fiber([&] {
    auto channel = make_channel<int>(2);
    Nursery receivers;
    Nursery nursery;
    for (std::size_t i = 0; i < kFibers; ++i) {
      nursery.spawn(options_of(i), [&, i, to = channel.sender]() mutable {
        for (int value = 0; value < kValues; ++value) {
          EXPECT_TRUE(to.send(value));
        }
        Nursery inner;
        auto child = inner.spawn(options_of(i + 1), [] {
          this_fiber::yield();
          return this_fiber::priority();
        });
        auto stopped = inner.spawn(options_of(i + 2), [] {
          return this_fiber::sleep_until(Deadline::never());
        });
        EXPECT_EQ(child.join().value(), options_of(i + 1).priority);
        stopped.cancel();
        (void)stopped.join();
        EXPECT_TRUE(inner.join());
        ++ended;
      });
      receivers.spawn(options_of(i / 3),
                      [&, from = channel.receiver]() mutable {
                        while (from.receive()) {
                          ++received;
                          if (received % 7 == 0) this_fiber::yield();
                        }
                        ++ended;
                      });
    }
    EXPECT_TRUE(nursery.join());
    channel.sender.close();
    EXPECT_TRUE(receivers.join());
  });
  EXPECT_EQ(ended, 2 * kFibers);
  EXPECT_EQ(received, static_cast<int>(kFibers) * kValues);
}

}  // namespace
}  // namespace weft
