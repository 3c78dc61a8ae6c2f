// B-19: each join without a release leaked a fiber and its stack.

#include <gtest/gtest.h>

#include <chrono>

#include "stress/scale.hpp"
#include "support/process.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class LeakTest : public test::RuntimeTest {};

// Every way to be done with a task.
void end_some(Nursery& nursery, int rounds) {
  const auto in_an_hour = Deadline::after(std::chrono::hours(1));
  for (int i = 0; i < rounds; ++i) {
    (void)nursery.spawn([] { return 1; }).join();
    (void)nursery.spawn([] { return 2; }).join(in_an_hour);
    auto waited = nursery.spawn([] { return 3; });
    (void)waited.wait(in_an_hour);  // and dropped
    auto cancelled = nursery.spawn([] { return 4; });
    cancelled.cancel();
    nursery.spawn([] { this_fiber::yield(); });  // dropped at once
  }
}

// R-FIBER-01 R-FIBER-07
TEST_F(LeakTest, TasksLeaveNoStackNoMappingNoMemoryBehind) {
  Runtime runtime = start(2);
  const int rounds = test::scaled(20'000);
  const auto end = runtime.run([&] {
    const auto batch = [] {
      for (int i = 0; i < 10; ++i) {
        Nursery nursery;
        end_some(nursery, 10);
        EXPECT_TRUE(nursery.join());
      }
    };
    batch();
    const auto stacks = runtime.ref().stats().stacks_mapped;
    const auto maps = test::mappings();
    const auto resident = test::resident_kib();
    for (int i = 0; i < rounds / 100; ++i) batch();
    // Some slack: how many run at once is a matter of chance.
    EXPECT_LE(runtime.ref().stats().stacks_mapped, stacks + 256);
    if (!test::kSanitized) {  // their tools map memory of their own
      EXPECT_LE(test::mappings(), maps + 64);
      EXPECT_LE(test::resident_kib(), resident + 8 * 1024);
    }
  });
  EXPECT_TRUE(end);
  expect_empty(runtime);
}

// A runtime takes all of it along.
TEST_F(LeakTest, RuntimesLeaveNoMappingBehind) {
  const auto once = [] {
    Runtime runtime = start(2);
    EXPECT_TRUE(runtime.run([](Nursery& nursery) { end_some(nursery, 10); }));
  };
  once();
  const auto maps = test::mappings();
  for (int i = 0; i < test::scaled(100); ++i) once();
  if (!test::kSanitized) {
    EXPECT_LE(test::mappings(), maps + 16);
  }
}

}  // namespace
}  // namespace weft
