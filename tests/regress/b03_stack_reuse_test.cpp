// B-03: a joiner reused the stack of a fiber that its worker was still on.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>

#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class StackReuseTest : public test::RuntimeTest {};

// Fills a part of its stack, lets others run, and finds it as it was.
[[gnu::noinline]] bool keeps_its_stack(std::uint8_t mark) {
  volatile std::uint8_t room[2048];
  for (auto& byte : room) byte = mark;
  this_fiber::yield();
  for (const auto byte : room) {
    if (byte != mark) return false;
  }
  return true;
}

// R-CTRL-04 R-CTRL-06 R-JOIN-01
TEST_F(StackReuseTest, AStackIsReusedOnlyAfterItWasLeft) {
  // Few stacks are kept, so they wander between the workers.
  Runtime runtime = start(Config{
      .workers = 4, .stack_size = StackSize(64 << 10), .stack_cache = 1});
  const int rounds = test::scaled(10'000);
  const auto end = runtime.run([rounds]() -> Status {
    Nursery parents;
    for (int parent = 0; parent < 8; ++parent) {
      parents.spawn([rounds](Nursery& nursery) {
        for (int i = 0; i < rounds; ++i) {
          const auto mark = static_cast<std::uint8_t>(i);
          auto child = nursery.spawn([mark] { return keeps_its_stack(mark); });
          // A deadline: on a stack of its own, not in place.
          ASSERT_TRUE(
              child.join(Deadline::after(std::chrono::hours(1))).value());
        }
      });
    }
    return parents.join();
  });
  EXPECT_TRUE(end);
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
