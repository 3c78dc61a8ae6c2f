// B-13: the nursery of a fiber was kept by its thread. After a migration the
// fiber was in another's, or in none, and took itself for cancelled.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "stress/keepers.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::Keepers;
using test::thread_now;

class NurseryContextTest : public test::RuntimeTest {};

constexpr auto kFarAway = 24h * 365;

// R-CABI-03 R-NURS-11
TEST_F(NurseryContextTest, GoesWithTheFiberOverEveryMigration) {
  Runtime runtime = start(2);
  Keepers keepers(runtime);
  const int rounds = test::scaled(500);
  const auto outer = Deadline::after(2 * kFarAway);
  const auto inner = Deadline::after(kFarAway);
  Nursery nursery(runtime, {.deadline = outer});
  auto wanderer = nursery.spawn([&] {
    for (int i = 0; i < rounds; ++i) {
      const auto thread = thread_now();
      {
        Nursery own({.deadline = inner});
        keepers.move_on();
        ASSERT_NE(thread_now(), thread);
        ASSERT_EQ(this_fiber::deadline(), inner);
        ASSERT_FALSE(this_fiber::cancelled());
        ASSERT_TRUE(this_fiber::checkpoint());
        auto child = own.spawn([] { return this_fiber::deadline(); });
        ASSERT_EQ(child.join().value(), inner);
        ASSERT_TRUE(own.join());
      }
      ASSERT_EQ(this_fiber::deadline(), outer);
    }
  });
  ASSERT_TRUE(wanderer.join());
  EXPECT_TRUE(nursery.join());
}

// The stop as well: of a nursery that was opened on one worker it is seen on
// the other.
TEST_F(NurseryContextTest, IsStoppedWhereverTheFiberIs) {
  Runtime runtime = start(2);
  Keepers keepers(runtime);
  for (int i = 0; i < test::scaled(100); ++i) {
    Nursery nursery(runtime);
    auto wanderer = nursery.spawn([&] {
      Nursery own;
      auto child = own.spawn([] { return Event().wait(); });
      keepers.move_on();
      nursery.cancel();
      EXPECT_TRUE(this_fiber::cancelled());
      {
        const Shield shield;  // to move is to wait
        keepers.move_on();
        EXPECT_FALSE(this_fiber::cancelled());
      }
      EXPECT_TRUE(this_fiber::cancelled());
      EXPECT_EQ(child.join().error(), Errc::cancelled);
      EXPECT_EQ(own.join().error(), Errc::cancelled);
    });
    ASSERT_TRUE(wanderer.wait());
    EXPECT_TRUE(nursery.join());
  }
}

// On each worker sits a fiber that must stop. Who comes there need not.
TEST_F(NurseryContextTest, IsNotThatOfWhoRanThereBefore) {
  constexpr unsigned kWorkers = 2;
  Runtime runtime = start(kWorkers);
  const int rounds = test::scaled(500);
  Event done;
  std::atomic<unsigned> up{0};
  Nursery stopped(runtime);
  for (unsigned i = 0; i < kWorkers; ++i) {
    stopped.spawn([&] {
      const this_fiber::Pin pin;
      ++up;  // held until all are up: each has a worker of its own
      while (up != kWorkers) std::this_thread::yield();
      const Shield shield;
      EXPECT_TRUE(done.wait());
    });
  }
  while (up != kWorkers) std::this_thread::yield();
  stopped.cancel();
  {
    Keepers keepers(runtime);
    Nursery nursery(runtime);
    auto wanderer = nursery.spawn([&] {
      for (int i = 0; i < rounds; ++i) {
        keepers.move_on();
        ASSERT_FALSE(this_fiber::cancelled());
        ASSERT_TRUE(this_fiber::checkpoint());
      }
    });
    EXPECT_TRUE(wanderer.join());
    EXPECT_TRUE(nursery.join());
  }
  done.set();
  EXPECT_TRUE(stopped.join());
}

}  // namespace
}  // namespace weft
