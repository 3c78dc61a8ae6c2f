// B-14: the compiler kept the address of a thread-local over a switch; after a
// migration the fiber took another for itself. Built at -O3.

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "stress/keepers.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Keepers;
using test::thread_now;

class ThreadLocalTest : public test::RuntimeTest {};

inline FiberLocal<std::uint64_t> local{0};

// All that is looked up through the thread.
struct Identity {
  FiberId id = this_fiber::id();
  std::uint64_t* place = &*local;
  std::string_view name = this_fiber::name();
  bool is_fiber = this_fiber::is_fiber();
  bool cancelled = this_fiber::cancelled();

  friend bool operator==(const Identity&, const Identity&) = default;
};

// R-RUNQ-18 R-SPAWN-07
TEST_F(ThreadLocalTest, AFiberKnowsItselfAfterEveryMigration) {
  Runtime runtime = start(2);
  Keepers keepers(runtime);
  const int rounds = test::scaled(5'000);
  int migrations = 0;
  Nursery nursery(runtime);
  nursery.spawn(SpawnOptions{.name = "wanderer"}, [&] {
    *local = this_fiber::id().value;
    const Identity before;
    for (int i = 0; i < rounds; ++i) {
      const auto thread = thread_now();
      keepers.move_on();
      if (thread_now() != thread) ++migrations;
      ASSERT_EQ(Identity(), before);
      ASSERT_EQ(*local, before.id.value);
    }
  });
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(migrations, rounds);
}

// The same for fibers that only yield, and move as chance has it.
TEST_F(ThreadLocalTest, YieldingFibersKnowThemselves) {
  Runtime runtime = start(4);
  const int rounds = test::scaled(20'000);
  const auto end = runtime.run([rounds](Nursery& nursery) {
    for (int fiber = 0; fiber < 16; ++fiber) {
      nursery.spawn([rounds] {
        *local = this_fiber::id().value;
        const Identity before;
        for (int i = 0; i < rounds; ++i) {
          this_fiber::yield();
          ASSERT_EQ(Identity(), before);
          ASSERT_EQ(*local, before.id.value);
        }
      });
    }
  });
  EXPECT_TRUE(end);
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
