#include <gtest/gtest.h>

#include <chrono>

#include "base/futex.hpp"
#include "time/clock.hpp"
#include <weft/time.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

TEST(Clock, DoesNotGoBack) {
  auto last = Clock::now();
  for (int i = 0; i < 1000; ++i) {
    const auto now = Clock::now();
    ASSERT_LE(last, now);
    last = now;
  }
}

TEST(Clock, HasTheEpochOfSteadyClock) {
  const auto before = std::chrono::steady_clock::now().time_since_epoch();
  const auto now = Clock::now().time_since_epoch();
  const auto after = std::chrono::steady_clock::now().time_since_epoch();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

TEST(Deadline, NeverIsTheLargestNumberEverywhere) {
  EXPECT_EQ(time::nanoseconds(Deadline::never()), time::kNever);
  EXPECT_EQ(time::kNever, base::kForever);
  EXPECT_EQ(Deadline(std::chrono::steady_clock::time_point::max()),
            Deadline::never());
}

TEST(Deadline, NeverDoesNotExpire) {
  EXPECT_FALSE(Deadline::never().expired());
  EXPECT_EQ(Deadline::never().remaining(), Clock::duration::max());
}

TEST(Deadline, OfThePastIsExpiredAndHasNothingLeft) {
  for (const auto past :
       {Deadline::after(0s), Deadline::after(-1s),
        Deadline(Clock::time_point::min()), Deadline(Clock::time_point())}) {
    EXPECT_TRUE(past.expired());
    EXPECT_EQ(past.remaining(), 0ns);
  }
}

TEST(Deadline, OfTheFutureIsNotExpired) {
  const auto soon = Deadline::after(1h);
  EXPECT_FALSE(soon.expired());
  EXPECT_GT(soon.remaining(), 59min);
  EXPECT_LE(soon.remaining(), 1h);
}

TEST(Deadline, SaturatesInEveryUnit) {
  EXPECT_EQ(Deadline::after(Clock::duration::max()), Deadline::never());
  EXPECT_EQ(Deadline::after(std::chrono::seconds::max()), Deadline::never());
  EXPECT_EQ(Deadline::after(std::chrono::hours::max()), Deadline::never());
  EXPECT_EQ(Deadline::after(std::chrono::duration<double>(1e300)),
            Deadline::never());
  EXPECT_TRUE(Deadline::after(std::chrono::seconds::min()).expired());
  EXPECT_TRUE(Deadline::after(Clock::duration::min()).expired());
  EXPECT_TRUE(Deadline::after(std::chrono::duration<double>(-1e300)).expired());
}

TEST(Deadline, AcceptsFractions) {
  const auto soon = Deadline::after(std::chrono::duration<double>(0.5));
  EXPECT_LE(soon.remaining(), 500ms);
}

TEST(Deadline, TheEarliestOfTwoIsTheSmaller) {
  const Deadline early(Clock::time_point(1s));
  const Deadline late(Clock::time_point(2s));
  EXPECT_LT(early, late);
  EXPECT_EQ(earliest(early, late), early);
  EXPECT_EQ(earliest(late, early), early);
  EXPECT_EQ(earliest(late, Deadline::never()), late);
}

}  // namespace
}  // namespace weft
