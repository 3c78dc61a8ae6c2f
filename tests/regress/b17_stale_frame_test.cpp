// B-17: a pooled fiber kept the registers, flags or result of its last life.

#include <gtest/gtest.h>

#include <array>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include "stress/scale.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class StaleFrameTest : public test::RuntimeTest {};

inline FiberLocal<int> mark{1};

void expect_newborn() {
  EXPECT_EQ(*mark, 1);
  *mark = 2;
  EXPECT_EQ(this_fiber::name(), "");
  EXPECT_FALSE(this_fiber::cancelled());
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
}

using Large = std::array<std::uint64_t, 40>;  // not in the frame

// Each kind of result, one after the other in the same few frames.
void one_of_each(Nursery& nursery, std::uint64_t round, Deadline deadline) {
  auto number = nursery.spawn([round] {
    expect_newborn();
    return round;
  });
  ASSERT_EQ(number.join(deadline).value(), round);
  auto text = nursery.spawn([round] {
    expect_newborn();
    return std::string(100, static_cast<char>('a' + round % 26));
  });
  ASSERT_EQ(text.join(deadline).value(),
            std::string(100, static_cast<char>('a' + round % 26)));
  auto owner = nursery.spawn([round] {
    expect_newborn();
    return std::make_unique<std::uint64_t>(round);
  });
  ASSERT_EQ(*owner.join(deadline).value(), round);
  auto large = nursery.spawn(SpawnOptions{.name = "large"}, [round] {
    EXPECT_EQ(this_fiber::name(), "large");
    EXPECT_TRUE(this_fiber::set_name(""));
    expect_newborn();
    Large all;
    all.fill(round);
    return all;
  });
  ASSERT_EQ(large.join(deadline).value()[39], round);
  auto thrown = nursery.spawn([]() -> int {
    expect_newborn();
    throw std::runtime_error("gone");
  });
  ASSERT_THROW((void)thrown.join(deadline), std::runtime_error);
  auto error = nursery.spawn([]() -> Result<std::string> {
    expect_newborn();
    return Error::user(42);
  });
  ASSERT_EQ(error.join(deadline).error().value(), 42);
  auto cancelled = nursery.spawn([] { return std::string("never read"); });
  cancelled.cancel();
  (void)cancelled.join(deadline);
  auto nothing = nursery.spawn([] { expect_newborn(); });
  ASSERT_TRUE(nothing.join(deadline));
  // A value that nobody takes is destroyed with its own type.
  auto dropped = nursery.spawn([] { return std::make_unique<int>(1); });
}

// R-FIBER-01 R-SPAWN-05
TEST_F(StaleFrameTest, AReusedFrameStartsAnew) {
  for (const unsigned workers : {1u, 2u}) {
    Runtime runtime = start(workers);
    const int rounds = test::scaled(3'000);
    const auto end = runtime.run([rounds] {
      for (int i = 0; i < rounds; ++i) {
        Nursery nursery({.on_failure = OnFailure::wait_for_all});
        one_of_each(nursery, static_cast<std::uint64_t>(i),
                    i % 2 == 0 ? Deadline::never()
                               : Deadline::after(std::chrono::hours(1)));
        // It tells of the exception, too.
        EXPECT_THROW((void)nursery.join(), std::runtime_error);
      }
    });
    EXPECT_TRUE(end);
    expect_empty(runtime);
  }
}

}  // namespace
}  // namespace weft
