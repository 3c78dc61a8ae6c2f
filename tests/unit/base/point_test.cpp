#include "base/point.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace weft::base {
namespace {

#if defined(WEFT_FAULTS)

TEST(Point, LetsEverybodyPassUnlessHeld) {
  pass(Point::parking);
  const Hold elsewhere(Point::dozing);
  pass(Point::parking);
  EXPECT_FALSE(stray_wake());
}

TEST(Point, HoldsOneThreadUntilItIsLetGo) {
  std::atomic<bool> passed{false};
  Hold hold(Point::ended);
  std::thread held([&] {
    pass(Point::ended);
    passed = true;
  });
  hold.await();
  pass(Point::ended);  // only the first one is held
  EXPECT_FALSE(passed);
  hold.let_go();
  held.join();
  EXPECT_TRUE(passed);
}

TEST(Point, LetsSomePassFirst) {
  Hold hold(Point::ended, 2);
  pass(Point::ended);
  pass(Point::ended);
  std::thread held([] { pass(Point::ended); });
  hold.await();
  hold.let_go();
  held.join();
}

TEST(Point, LetsGoWhenTheHoldEnds) {
  std::thread held;
  {
    Hold hold(Point::joining);
    held = std::thread([] { pass(Point::joining); });
    hold.await();
  }
  held.join();
  pass(Point::joining);
}

TEST(Point, DisturbsOnlyAsLongAsADisturbanceLives) {
  {
    const Disturbance disturbance(7);
    int woken = 0;
    for (int i = 0; i < 1000; ++i) {
      pass(Point::announced);
      woken += stray_wake() ? 1 : 0;
    }
    EXPECT_GT(woken, 50);
    EXPECT_LT(woken, 500);
    EXPECT_EQ(disturbance.stray_wakes(), static_cast<unsigned>(woken));
  }
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(stray_wake());
}

TEST(Point, HasAPlaceForEachPoint) {
  EXPECT_EQ(static_cast<unsigned>(Point::dropping) + 1, kPoints);
}

#else

static_assert(!stray_wake());

#endif

}  // namespace
}  // namespace weft::base
