// The runtime while threads lose their time between two steps of a protocol and
// parked fibers are woken for nothing.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "base/point.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

#if defined(WEFT_FAULTS)

namespace weft {
namespace {

using namespace std::chrono_literals;

class DisturbanceTest : public test::WorkersTest {};

TEST_P(DisturbanceTest, LosesNoJoinNoSleepAndNoCancel) {
  std::uint32_t strays = 0;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    const base::Disturbance disturbance(seed);
    std::atomic<int> ends{0};
    const int rounds = test::scaled(200);
    in_fiber([&] {
      Nursery nursery;
      for (int i = 0; i < rounds; ++i) {
        std::atomic<bool> began{false};
        auto sleeper = nursery.spawn([&] {
          began = true;
          const Status end = this_fiber::sleep_for(i % 3 == 0 ? 1h : 1us);
          EXPECT_TRUE(end || end.error() == Errc::cancelled);
          ++ends;
        });
        auto parent = nursery.spawn([&](Nursery& own) {
          auto child = own.spawn([] {
            this_fiber::yield();
            return 1;
          });
          EXPECT_EQ(child.join(Deadline::after(1h)).value(), 1);
          ++ends;
        });
        while (!began) this_fiber::yield();
        if (i % 3 == 0) sleeper.cancel();
        EXPECT_TRUE(parent.join());
        (void)sleeper.join();
      }
      EXPECT_TRUE(nursery.join());
    });
    EXPECT_EQ(ends, 2 * rounds);
    strays += disturbance.stray_wakes();
  }
  if (!explored()) {  // there the search wakes, if at all
    EXPECT_GT(strays, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, DisturbanceTest, ::testing::Values(1, 2, 4));

}  // namespace
}  // namespace weft

#endif
