#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;
using test::RuntimeTest;
using test::WorkersTest;
using namespace std::chrono_literals;

class NurseryTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, NurseryTest, ::testing::Values(1u, 2u, 4u));
class NurseryLimitsTest : public RuntimeTest {};

// R-SPAWN-05
TEST_P(NurseryTest, WaitsForAllItsChildren) {
  in_fiber([&] {
    std::atomic<int> ended{0};
    Nursery nursery;
    for (int i = 0; i < 100; ++i) {
      nursery.spawn([&] {
        this_fiber::yield();
        ++ended;
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(ended, 100);
    EXPECT_EQ(nursery.live(), 0u);
    EXPECT_TRUE(nursery.join());  // idempotent
  });
}

TEST_P(NurseryTest, WaitsInItsDestructorForThoseThatBegan) {
  in_fiber([&] {
    std::atomic<int> began{0};
    std::atomic<int> ended{0};
    {
      Nursery nursery;
      for (int i = 0; i < 100; ++i) {
        nursery.spawn([&] {
          ++began;
          for (int turn = 0; turn < 10; ++turn) this_fiber::yield();
          ++ended;
        });
      }
      while (began == 0) this_fiber::yield();
    }
    EXPECT_EQ(ended, began);
  });
}

TEST_P(NurseryTest, IsSettledWithoutChildren) {
  in_fiber([&] {
    Nursery nursery;
    EXPECT_EQ(nursery.live(), 0u);
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(nursery.join(Deadline(Clock::now())));
  });
}

TEST_P(NurseryTest, ReportsTheFirstFailure) {
  in_fiber([&] {
    Nursery nursery;
    EXPECT_EQ(nursery.spawn([]() -> Status { return Error::user(11); })
                  .join()
                  .error(),
              Error::user(11));
    nursery.spawn([]() -> Status { return Error::user(12); });
    EXPECT_EQ(nursery.join().error(), Error::user(11));
    EXPECT_EQ(nursery.join().error(), Error::user(11));
  });
}

TEST_P(NurseryTest, RethrowsTheExceptionOfAChild) {
  in_fiber([&] {
    Nursery nursery;
    nursery.spawn([] { throw std::out_of_range("child"); });
    try {
      (void)nursery.join();
      ADD_FAILURE() << "does not throw";
    } catch (const std::out_of_range& error) {
      EXPECT_STREQ(error.what(), "child");
    }
  });
}

TEST_P(NurseryTest, MakesAnUnreportedFailureItsFibersOwn) {
  const auto error = runtime().run([]() -> Result<int> {
    Nursery nursery;
    (void)nursery.spawn([]() -> Status { return Error::user(5); }).wait();
    return 1;
  });
  EXPECT_EQ(error.error(), Error::user(5));
  EXPECT_THROW((void)runtime().run([] {
    Nursery nursery;
    (void)nursery.spawn([] { throw std::out_of_range("child"); }).wait();
  }),
               std::out_of_range);
}

TEST_P(NurseryTest, LeavesAnOwnFailureOfTheBodyAlone) {
  const auto end = runtime().run([]() -> Result<int> {
    Nursery nursery;
    (void)nursery.spawn([]() -> Status { return Error::user(5); }).wait();
    return Error::user(6);
  });
  EXPECT_EQ(end.error(), Error::user(6));
}

TEST_P(NurseryTest, TimesOutAndIsJoinedAgain) {
  in_fiber([&] {
    Gate gate;
    Nursery nursery;
    nursery.spawn([&] { EXPECT_TRUE(gate.pass()); });
    nursery.spawn([&] { EXPECT_TRUE(gate.pass()); });
    EXPECT_EQ(nursery.join(Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_EQ(nursery.join(Deadline::after(-1s)).error(), Errc::timed_out);
    EXPECT_EQ(nursery.live(), 2u);
    gate.open();
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(NurseryTest, EndsOneWayWhenItsDeadlineRacesWithItsLastChild) {
  in_fiber([&] {
    for (int i = 0; i < 500; ++i) {
      std::atomic<int> ended{0};
      Nursery nursery;
      for (int k = 0; k < 3; ++k) {
        nursery.spawn([&] {
          this_fiber::yield();
          ++ended;
        });
      }
      const Status end =
          nursery.join(Deadline::after(std::chrono::nanoseconds(100 * i)));
      ASSERT_TRUE(end || end.error() == Errc::timed_out);
      if (!end) {
        ASSERT_TRUE(nursery.join());
      }
      ASSERT_EQ(ended, 3);
    }
  });
}

TEST_P(NurseryTest, RefusesChildrenOnceJoined) {
  in_fiber([&] {
    Nursery nursery;
    EXPECT_TRUE(nursery.join());
    auto late = nursery.spawn([] { return 1; });
    EXPECT_FALSE(late);
    EXPECT_TRUE(late.done());
    EXPECT_EQ(late.join().error(), Errc::closed);
    EXPECT_EQ(nursery.try_spawn({}, [] {}).error(), Errc::closed);
    EXPECT_EQ(nursery.join().error(), Errc::closed);
  });
}

// R-SPAWN-08
TEST_P(NurseryTest, IsFilledByItsChildrenWhileItIsOpen) {
  in_fiber([&] {
    constexpr int kChildren = 200;
    std::atomic<int> ended{0};
    std::atomic<int> spawned{0};
    Nursery nursery;
    for (int i = 0; i < kChildren; ++i) {
      nursery.spawn([&] {
        nursery.spawn([&] { ++ended; });
        ++spawned;
      });
    }
    while (spawned != kChildren) this_fiber::yield();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(ended, kChildren);
  });
}

TEST_P(NurseryTest, AcceptsOrRefusesAChildOfAChildWhenItIsJoined) {
  in_fiber([&] {
    for (int i = 0; i < 200; ++i) {
      std::atomic<int> ended{0};
      std::atomic<int> accepted{0};
      Nursery nursery;
      for (int k = 0; k < 4; ++k) {
        nursery.spawn([&] {
          if (nursery.try_spawn({}, [&] { ++ended; })) ++accepted;
        });
      }
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(ended, accepted);
    }
  });
}

TEST_P(NurseryTest, ServesPlainThreadsAsARootScope) {
  std::atomic<int> ended{0};
  Nursery nursery(runtime(), {.name = "root"});
  EXPECT_EQ(nursery.name(), "root");
  EXPECT_EQ(nursery.runtime().worker_count(), GetParam());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 250; ++k) nursery.spawn([&] { ++ended; });
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(ended, 1000);
}

// Which constructor that is must be no question.
TEST_P(NurseryTest, TakesNoOptionsAsThoseOfEveryNursery) {
  std::atomic<int> ended{0};
  Nursery nursery(runtime(), {});
  nursery.spawn([&] { ++ended; });
  EXPECT_TRUE(nursery.join());
  in_fiber([&] {
    Nursery outer;
    Nursery inner(outer, {});
    inner.spawn([&] { ++ended; });
    EXPECT_TRUE(inner.join());
    EXPECT_TRUE(outer.join());
  });
  EXPECT_EQ(ended, 2);
}

TEST_P(NurseryTest, GivesABodyANurseryOfItsOwn) {
  in_fiber([&] {
    std::atomic<int> ended{0};
    Nursery nursery;
    auto parent = nursery.spawn(
        [&](Nursery& inner, int children) {
          for (int i = 0; i < children; ++i) inner.spawn([&] { ++ended; });
          return children;
        },
        7);
    EXPECT_EQ(parent.join().value(), 7);
    EXPECT_EQ(ended, 7);  // a body ends with its children
    EXPECT_TRUE(nursery.join());
  });
}

// R-SPAWN-08
TEST_P(NurseryTest, CountsAChildBeforeItRuns) {
  in_fiber([&] {
    Gate gate;
    Nursery nursery;
    for (std::size_t i = 1; i <= 10; ++i) {
      nursery.spawn([&] { EXPECT_TRUE(gate.pass()); });
      EXPECT_EQ(nursery.live(), i);
    }
    gate.open();
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(NurseryTest, JoinsTheBodyOfWithNursery) {
  in_fiber([&] {
    std::atomic<int> ended{0};
    const auto sum = with_nursery([&](Nursery& nursery) {
      for (int i = 0; i < 10; ++i) nursery.spawn([&] { ++ended; });
      return 3;
    });
    EXPECT_EQ(sum.value(), 3);
    EXPECT_EQ(ended, 10);
    EXPECT_TRUE(with_nursery([](Nursery&) {}));
    const auto failed = with_nursery([](Nursery& nursery) {
      nursery.spawn([]() -> Status { return Error::user(1); });
      return 3;
    });
    EXPECT_EQ(failed.error(), Error::user(1));
    const auto child_first = with_nursery([](Nursery& nursery) -> Result<int> {
      auto child = nursery.spawn([]() -> Status { return Error::user(1); });
      EXPECT_EQ(child.join().error(), Error::user(1));
      return Error::user(2);
    });
    EXPECT_EQ(child_first.error(), Error::user(1));
    const auto body_first = with_nursery([](Nursery& nursery) -> Result<int> {
      nursery.spawn([]() -> Status {
        EXPECT_EQ(this_fiber::sleep_until(Deadline::never()).error(),
                  Errc::cancelled);
        return Error::user(1);
      });
      return Error::user(2);
    });
    EXPECT_EQ(body_first.error(), Error::user(2));
  });
}

// Each level has a nursery of its own around the next.
void nest(int depth, int& deepest) {
  if (depth == 0) return;
  Nursery nursery;
  nursery.spawn([depth, &deepest] {
    ++deepest;
    nest(depth - 1, deepest);
  });
  EXPECT_TRUE(nursery.join());
}

TEST_P(NurseryTest, NestsAsDeepAsMemoryAllows) {
  int deepest = 0;
  in_fiber([&] { nest(10'000, deepest); });
  EXPECT_EQ(deepest, 10'000);
}

// R-FIBER-02
TEST_F(NurseryLimitsTest, RefusesMoreFibersThanAllowed) {
  Runtime runtime = start(Config{.workers = 2, .max_fibers = 10});
  Gate gate;
  Nursery all(runtime, {.on_failure = OnFailure::wait_for_all});
  for (int i = 0; i < 10; ++i) {
    all.spawn([&] { EXPECT_TRUE(gate.pass()); });
  }
  const auto refused = all.try_spawn({}, [] {});
  EXPECT_EQ(refused.error(), Errc::exhausted);
  EXPECT_EQ(refused.error().resource(), Resource::tasks);
  auto counted = all.spawn([] {});
  EXPECT_FALSE(counted);
  EXPECT_EQ(counted.join().error(), Errc::exhausted);
  gate.open();
  EXPECT_EQ(all.join().error(), Errc::exhausted);
  EXPECT_TRUE(runtime.run([] {}));  // there is room again
  expect_empty(runtime);
}

TEST_F(NurseryLimitsTest, RefusesStackSizesOutOfRange) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (const auto size :
         {std::size_t{1}, (std::size_t{8} << 10) - 1, std::size_t{1} << 40,
          (std::size_t{1} << 30) + 1, ~std::size_t{0}}) {
      const SpawnOptions options{.stack_size = StackSize(size)};
      EXPECT_EQ(nursery.try_spawn(options, [] {}).error(), Errc::invalid);
    }
    for (const auto size :
         {StackSize::automatic, StackSize::small, StackSize::large,
          StackSize(8192), StackSize(12345)}) {
      auto child =
          nursery.spawn(SpawnOptions{.stack_size = size}, [] { return 1; });
      EXPECT_EQ(child.join().value(), 1);
    }
  }));
}

TEST_F(NurseryLimitsTest, TriesToSpawnWithoutOptions) {
  Runtime runtime = start(Config{.workers = 1, .max_fibers = 2});
  ASSERT_TRUE(runtime.run([](Nursery& nursery) {
    auto first = nursery.try_spawn([](int x) { return x; }, 7);
    ASSERT_TRUE(first);
    EXPECT_EQ(nursery.try_spawn([] {}).error(), Errc::exhausted);
    EXPECT_EQ(first->join().value(), 7);
  }));
}

// R-SHUT-02
TEST_F(NurseryLimitsTest, RefusesChildrenOfAStoppedRuntime) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.shutdown(Deadline::never()));
  EXPECT_FALSE(runtime.ref().running());
  Nursery nursery(runtime);
  auto refused = nursery.spawn([] { return 1; });
  EXPECT_EQ(refused.join().error(), Errc::closed);
  EXPECT_EQ(nursery.join().error(), Errc::closed);
  EXPECT_EQ(runtime.run([] {}).error(), Errc::closed);
}

}  // namespace
}  // namespace weft
