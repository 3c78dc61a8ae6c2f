// million_test.cpp: a million fibers, all parked at the same time.

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <fstream>
#include <string>

#include "stress/scale.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;

class MillionTest : public test::RuntimeTest {};

#if defined(WEFT_MODEL)
constexpr bool kPlain = false;
#else
constexpr bool kPlain = !test::kSanitized;
#endif
constexpr std::size_t kFibers = kPlain ? 1'000'000 : 5'000;
constexpr double kMostPerFiber = 4.6 * 1024;

// The bytes a file of /proc tells under this name; 0 if it does not.
double bytes_of(const char* file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name)) {
      return std::stod(line.substr(name.size())) * 1024;
    }
  }
  return 0;
}

double memory_held() {
  return bytes_of("/proc/self/status", "VmRSS:") +
         bytes_of("/proc/self/status", "VmPTE:");
}

// R-PERF-05 R-PERF-03 R-FIBER-03 R-WORKER-01
TEST_F(MillionTest, ParkedFibersHoldLittleMoreThanAPageEach) {
  constexpr double kNeeded = 1.2 * kMostPerFiber * kFibers;
  if (bytes_of("/proc/meminfo", "MemAvailable:") < kNeeded) {
    GTEST_SKIP() << "a million fibers need " << kNeeded / (1 << 30)
                 << " GiB, which are not free here";
  }
  Runtime runtime = start(0u);
  Gate gate;
  Gate all_up;
  std::atomic<std::size_t> up{0};
  std::atomic<std::size_t> ended{0};
  double held = 0;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    const double before = memory_held();
    for (std::size_t i = 0; i < kFibers; ++i) {
      nursery.spawn({.stack_size = StackSize(64 << 10)}, [&] {
        if (++up == kFibers) all_up.open();
        EXPECT_TRUE(gate.pass());
        ++ended;
      });
    }
    EXPECT_TRUE(all_up.pass());
    while (gate.waiting() != kFibers) this_fiber::yield();
    held = memory_held() - before;
    EXPECT_EQ(nursery.live(), kFibers);
    EXPECT_EQ(ended, 0u);
    gate.open();
  }));
  EXPECT_EQ(ended, kFibers);
  expect_empty(runtime);
  if (kPlain) {
    EXPECT_LE(held / static_cast<double>(kFibers), kMostPerFiber);
    EXPECT_GT(held, 0);
  }
}

}  // namespace
}  // namespace weft
