#include "base/fault.hpp"

#include <gtest/gtest.h>

namespace weft::base {
namespace {

#if defined(WEFT_FAULTS)

TEST(Fault, RefusesNothingUnlessAskedTo) {
  EXPECT_FALSE(refused(FaultPoint::thread_start));
  {
    const Refusal refusal(FaultPoint::thread_start);
    EXPECT_TRUE(refused(FaultPoint::thread_start));
    EXPECT_FALSE(refused(FaultPoint::stack_map));
  }
  EXPECT_FALSE(refused(FaultPoint::thread_start));
}

TEST(Fault, LetsSomePassRefusesSomeAndThenWorksAgain) {
  const Refusal refusal(FaultPoint::timer_array, 2, 3);
  int pattern = 0;
  for (int i = 0; i < 8; ++i) {
    pattern = pattern * 2 + (refused(FaultPoint::timer_array) ? 1 : 0);
  }
  EXPECT_EQ(pattern, 0b00111000);
  EXPECT_EQ(refusal.refusals(), 3u);
}

TEST(Fault, HasAPlaceForEachPoint) {
  EXPECT_EQ(static_cast<unsigned>(FaultPoint::channel) + 1, kFaultPoints);
}

#else

// Not a call, not a variable: nothing of it is left in the library.
static_assert(!refused(FaultPoint::thread_start) &&
              !refused(FaultPoint::timer_array));

#endif

}  // namespace
}  // namespace weft::base
