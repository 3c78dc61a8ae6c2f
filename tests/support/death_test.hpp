// death_test.hpp: how a test watches a process die.
#pragma once

#include <gtest/gtest.h>

#include "support/watchdog.hpp"

namespace weft::test {

// For a body that starts threads: it runs in a fresh process. An emulator
// cannot start one, since the kernel would not know the program's format; there
// the process is forked, which does as long as the test itself has no threads.
inline void die_in_a_fresh_process() {
#if defined(WEFT_TEST_EMULATED)
  GTEST_FLAG_SET(death_test_style, "fast");
#else
  GTEST_FLAG_SET(death_test_style, "threadsafe");
#endif
}

// For bodies that start runtimes.
class FreshProcessTest : public ::testing::Test {
 protected:
  void SetUp() override { die_in_a_fresh_process(); }

 private:
#if !defined(WEFT_TEST_EMULATED)
  Watchdog watchdog_;  // a thread: in an emulator ctest's limit must do
#endif
};

}  // namespace weft::test
