#include "sched/simulator.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sched/worker.hpp"
#include "support/death_test.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;
using sched::Simulator;
using test::Gate;

class SimulatorTest : public test::RuntimeTest {
 protected:
  static Runtime start_seeded(std::uint64_t seed, unsigned workers = 3) {
    return start(Config{.workers = workers, .deterministic_seed = seed});
  }
};

using SimulatorDeathTest = test::FreshProcessTest;

unsigned here() { return sched::this_worker().index(); }

// ---- The same program as on real workers

// Fibers that spawn, join, wait, sleep and yield; answers how many ran.
int busy(Nursery& nursery) {
  int ran = 0;
  Gate gate;
  std::vector<Task<int>> tasks;
  for (int i = 0; i < 20; ++i) {
    tasks.push_back(nursery.spawn([&gate, i] {
      if (i % 3 == 0) this_fiber::yield();
      if (i % 3 == 1) (void)this_fiber::sleep_for(1ms * i);
      if (i % 3 == 2) (void)gate.pass();
      Nursery own;
      auto child = own.spawn([] { return 1; });
      return *child.join();
    }));
  }
  nursery.spawn([&gate] { gate.open(); });
  for (auto& task : tasks) ran += *task.join();
  return ran;
}

TEST_F(SimulatorTest, RunsAProgramAsWorkersDo) {
  for (const bool simulated : {false, true}) {
    Config config{.workers = 2};
    if (simulated) config.deterministic_seed = 1;
    Runtime runtime = start(config);
    const auto ran = runtime.run(busy);
    ASSERT_TRUE(ran);
    EXPECT_EQ(*ran, 20);
    expect_empty(runtime);
  }
}

TEST_F(SimulatorTest, HasNoThreads) {
  const auto thread = std::this_thread::get_id();
  Runtime runtime = start_seeded(1);
  EXPECT_EQ(runtime.ref().worker_count(), 3u);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 10; ++i) {
      nursery.spawn([&] { EXPECT_EQ(std::this_thread::get_id(), thread); });
    }
  }));
}

TEST_F(SimulatorTest, PassesExceptionsAndErrorsOn) {
  Runtime runtime = start_seeded(1);
  EXPECT_THROW((void)runtime.run([] { throw 42; }), int);
  const auto end = runtime.run([]() -> Status { return Errc::denied; });
  EXPECT_EQ(end.error(), Errc::denied);
}

TEST_F(SimulatorTest, InterruptsFibersInTheMiddle) {
  Runtime runtime = start_seeded(1);
  std::set<std::vector<int>> orders;
  for (int round = 0; round < 20; ++round) {
    std::vector<int> order;
    ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
      for (int i = 0; i < 2; ++i) {
        nursery.spawn([&order, i] {
          for (int step = 0; step < 3; ++step) {
            order.push_back(i);
            Nursery own;
            own.spawn([] {});
            EXPECT_TRUE(own.join());
          }
        });
      }
    }));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 3u);
}

// ---- The same seed, the same order

std::vector<std::string> order_of(std::uint64_t seed) {
  std::vector<std::string> order;
  auto runtime = Runtime::start({.workers = 2, .deterministic_seed = seed});
  EXPECT_TRUE(runtime);
  EXPECT_TRUE(runtime->run([&](Nursery& nursery) {
    for (int i = 0; i < 5; ++i) {
      nursery.spawn([&order, i] {
        for (int turn = 0; turn < 3; ++turn) {
          order.push_back(std::to_string(i) + "@" + std::to_string(here()));
          this_fiber::yield();
        }
      });
    }
  }));
  return order;
}

TEST_F(SimulatorTest, RepeatsTheOrderBySeed) {
  const auto first = order_of(1);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(order_of(1), first);
  std::set<std::vector<std::string>> others;
  for (std::uint64_t seed = 2; seed < 12; ++seed) others.insert(order_of(seed));
  EXPECT_GT(others.size(), 8u);
  EXPECT_FALSE(others.contains(first));
}

TEST_F(SimulatorTest, BeginsAtTheSameTimeEachTime) {
  std::set<Clock::time_point> times;
  for (int i = 0; i < 3; ++i) {
    Runtime runtime = start_seeded(1);
    times.insert(Clock::now());
    (void)this_fiber::sleep_for(1s);
  }
  EXPECT_EQ(times.size(), 1u);
}

// ---- Its thread

TEST_F(SimulatorTest, RunsFibersWhileItsThreadYields) {
  Runtime runtime = start_seeded(1);
  bool ran = false;
  Nursery nursery(runtime);
  nursery.spawn([&ran] { ran = true; });
  EXPECT_FALSE(ran);
  for (int i = 0; i < 10 && !ran; ++i) this_fiber::yield();
  EXPECT_TRUE(ran);
  for (int i = 0; i < 10; ++i) this_fiber::yield();  // with nobody to run
  EXPECT_TRUE(nursery.join());
}

TEST_F(SimulatorTest, RunsFibersWhileItsThreadWaits) {
  Runtime runtime = start_seeded(1);
  Gate gate;
  Nursery nursery(runtime);
  nursery.spawn([&gate] { gate.open(); });
  EXPECT_TRUE(gate.pass());
  auto task = nursery.spawn([] { return 7; });
  EXPECT_EQ(task.join().value(), 7);
}

TEST_F(SimulatorTest, LetsTimePassWhileItsThreadWaits) {
  Runtime runtime = start_seeded(1);
  const auto begin = Clock::now();
  EXPECT_TRUE(this_fiber::sleep_for(1h));
  EXPECT_EQ(Clock::now() - begin, 1h);
  Gate never;
  EXPECT_EQ(never.pass(Deadline::after(2h)).error(), Errc::timed_out);
  EXPECT_EQ(Clock::now() - begin, 3h);
  Nursery nursery(runtime);
  auto task = nursery.spawn([] { return this_fiber::sleep_for(5h); });
  EXPECT_EQ(task.wait(Deadline::after(1h)).error(), Errc::timed_out);
  EXPECT_EQ(Clock::now() - begin, 4h);
  EXPECT_TRUE(task.join());
  EXPECT_EQ(Clock::now() - begin, 8h);
  EXPECT_TRUE(nursery.join());
}

TEST_F(SimulatorTest, TakesTimeFromTheSystemAgainAfterwards) {
  const auto before = Clock::now();
  { Runtime runtime = start_seeded(1); }
  EXPECT_GE(Clock::now(), before);
}

TEST_F(SimulatorTest, MayBeMoved) {
  Runtime runtime = start_seeded(1);
  Nursery nursery(runtime);
  nursery.spawn([] { return this_fiber::sleep_for(1s); }).join().value();
  Runtime moved = std::move(runtime);
  EXPECT_TRUE(nursery.spawn([] { this_fiber::yield(); }).join());
  EXPECT_TRUE(nursery.join());
  EXPECT_TRUE(moved.run([] {}));
  Runtime last = start(1);
  last = std::move(moved);
  EXPECT_TRUE(last.run([] {}));
}

TEST_F(SimulatorTest, MayFollowAnother) {
  for (int i = 0; i < 3; ++i) {
    Runtime runtime = start_seeded(1);
    EXPECT_TRUE(runtime.run([] {}));
  }
}

// Real workers go on beside it; only its own thread is virtual.
TEST_F(SimulatorTest, LivesBesideAnotherRuntime) {
  Runtime real = start(2);
  Runtime runtime = start_seeded(1);
  EXPECT_TRUE(runtime.run([] { this_fiber::yield(); }));
  std::thread other([&real] {
    EXPECT_TRUE(real.run([](Nursery& nursery) {
      nursery.spawn([] { return this_fiber::sleep_for(1ms); }).join().value();
    }));
  });
  other.join();
}

// ---- Its end, in virtual time

TEST_F(SimulatorTest, WaitsForFibersAtItsEnd) {
  bool ended = false;
  {
    Runtime runtime = start_seeded(1);
    Nursery nursery(runtime);
    nursery.spawn([&ended] {
      EXPECT_TRUE(this_fiber::sleep_for(4s));
      ended = true;
    });
    EXPECT_TRUE(runtime.shutdown(Deadline::after(5s)));
    EXPECT_TRUE(ended);
    EXPECT_TRUE(nursery.join());
  }
  EXPECT_TRUE(ended);
}

TEST_F(SimulatorTest, CancelsFibersThatAreNotThroughAtTheDeadline) {
  Runtime runtime = start_seeded(1);
  const auto begin = Clock::now();
  Nursery nursery(runtime);
  auto task = nursery.spawn([] { return this_fiber::sleep_for(1h); });
  EXPECT_TRUE(runtime.shutdown(Deadline::after(5s)));
  EXPECT_EQ(task.join().error(), Errc::cancelled);
  EXPECT_LE(Clock::now() - begin, 6s);
  EXPECT_FALSE(runtime.ref().running());
  EXPECT_TRUE(nursery.join());
}

TEST_F(SimulatorTest, CancelsFibersAtOnceIfAsked) {
  Runtime runtime = start_seeded(1);
  const auto begin = Clock::now();
  Nursery nursery(runtime);
  auto task = nursery.spawn([] { return this_fiber::sleep_for(1h); });
  for (int i = 0; i < 10; ++i) this_fiber::yield();  // it sleeps
  EXPECT_TRUE(runtime.shutdown_now());
  EXPECT_EQ(task.join().error(), Errc::cancelled);
  EXPECT_LE(Clock::now() - begin, 1s);
  EXPECT_TRUE(runtime.shutdown_now());
  EXPECT_TRUE(nursery.join());
}

TEST_F(SimulatorTest, GivesUpOnFibersThatIgnoreTheCancel) {
  Runtime runtime = start_seeded(1);
  Nursery nursery(runtime);
  bool stubborn = true;
  nursery.spawn([&stubborn] {
    while (stubborn) this_fiber::yield();
  });
  // It never waits, so time stands still: only a deadline of now passes.
  EXPECT_EQ(runtime.shutdown_now(Deadline(Clock::now())).error(),
            Errc::timed_out);
  stubborn = false;
  EXPECT_TRUE(runtime.shutdown_now());
  EXPECT_TRUE(nursery.join());
}

// ---- Pins

TEST_F(SimulatorTest, KeepsAPinnedFiberOnItsWorker) {
  Runtime runtime = start_seeded(1, 4);
  std::set<unsigned> pinned_to;
  std::set<unsigned> moved_to;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 8; ++i) {
      nursery.spawn([&] {
        {
          const this_fiber::Pin pin;
          const auto home = here();
          pinned_to.insert(home);
          for (int turn = 0; turn < 10; ++turn) {
            this_fiber::yield();
            ASSERT_EQ(here(), home);
            ASSERT_TRUE(this_fiber::sleep_for(1ms));
            ASSERT_EQ(here(), home);
            Nursery own;
            own.spawn([] { this_fiber::yield(); });
            ASSERT_TRUE(own.join());
            ASSERT_EQ(here(), home);
          }
        }
        for (int turn = 0; turn < 10; ++turn) {
          this_fiber::yield();
          moved_to.insert(here());
        }
      });
    }
  }));
  EXPECT_GT(pinned_to.size(), 1u);
  EXPECT_GT(moved_to.size(), 1u);
}

// ---- Misuse

TEST_F(SimulatorTest, IsTheOnlyOneOfItsThread) {
  Runtime runtime = start_seeded(1);
  const auto second = Runtime::start({.workers = 1, .deterministic_seed = 2});
  EXPECT_EQ(second.error(), Errc::invalid);
  EXPECT_TRUE(runtime.run([] {}));  // which goes on
  std::thread other([] {            // another thread may have its own
    Runtime own = start_seeded(1);
    EXPECT_TRUE(own.run([] {}));
  });
  other.join();
}

TEST_F(SimulatorTest, IsNotStartedInsideAFiber) {
  const auto start_one = [] {
    return Runtime::start({.workers = 1, .deterministic_seed = 2}).error();
  };
  Runtime real = start(1);
  EXPECT_TRUE(real.run([&] { EXPECT_EQ(start_one(), Errc::invalid); }));
  Runtime runtime = start_seeded(1);
  EXPECT_TRUE(runtime.run([&] { EXPECT_EQ(start_one(), Errc::invalid); }));
}

TEST_F(SimulatorDeathTest, DiesIfAnotherThreadSpawns) {
  EXPECT_DEATH(
      {
        auto runtime = Runtime::start({.workers = 1, .deterministic_seed = 1});
        std::thread([&] { (void)runtime->run([] {}); }).join();
      },
      "used by another thread than the one that started it");
}

TEST_F(SimulatorDeathTest, DiesIfAnotherThreadWakesAFiber) {
  EXPECT_DEATH(
      {
        auto runtime = Runtime::start({.workers = 1, .deterministic_seed = 1});
        Gate gate;
        Nursery nursery(*runtime);
        nursery.spawn([&gate] { (void)gate.pass(); });
        while (gate.waiting() == 0) this_fiber::yield();
        this_fiber::yield();
        std::thread([&] { gate.open(); }).join();
      },
      "used by another thread than the one that started it");
}

TEST_F(SimulatorDeathTest, DiesIfAnotherThreadEndsIt) {
  EXPECT_DEATH(
      {
        auto runtime = Runtime::start({.workers = 1, .deterministic_seed = 1});
        std::thread([&] { Runtime gone = *std::move(runtime); }).join();
      },
      "deterministic runtime");
}

TEST_F(SimulatorDeathTest, DiesIfAnotherThreadWaitsForItsFibers) {
  EXPECT_DEATH(
      {
        auto runtime = Runtime::start({.workers = 1, .deterministic_seed = 1});
        Nursery nursery(*runtime);
        nursery.spawn([] { std::fputs("ran elsewhere\n", stderr); });
        std::thread([&] { (void)runtime->shutdown_now(); }).join();
      },
      "^weft: .*used by another thread than the one that started it");
}

TEST_F(SimulatorDeathTest, DiesOfADeadlock) {
  EXPECT_DEATH(
      {
        auto runtime = Runtime::start({.workers = 1, .deterministic_seed = 1});
        Gate never;
        (void)runtime->run([&never] { (void)never.pass(); });
      },
      "fiber 1 waits on #1.*deadlock: every fiber of the deterministic runtime "
      "of seed 1 waits");
}

}  // namespace
}  // namespace weft
