// run_main_test.cpp: a whole program, and what it prints.

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>

#include "support/watchdog.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class RunMainTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name :
         {"WEFT_WORKERS", "WEFT_FIBER_STATS", "WEFT_VERBOSE", "WEFT_NAME",
          "CC_FIBER_STATS", "CC_VERBOSE", "CC_WORKERS"}) {
      ::unsetenv(name);
    }
  }
  template <typename F>
  static std::string stderr_of(F&& body) {
    ::testing::internal::CaptureStderr();
    body();
    return ::testing::internal::GetCapturedStderr();
  }

 private:
  test::Watchdog watchdog_;
};

TEST_F(RunMainTest, ReturnsTheBodysNumberOrZero) {
  EXPECT_EQ(run_main([] { return 3; }), 3);
  EXPECT_EQ(run_main([] {}), 0);
  EXPECT_EQ(run_main([](Nursery&) {}), 0);
  EXPECT_EQ(run_main([]() -> Result<int> { return 4; }), 4);
  EXPECT_EQ(run_main([]() -> Status { return {}; }), 0);
}

TEST_F(RunMainTest, PrintsAnErrorAndReturnsOne) {
  int code = 0;
  const auto text = stderr_of(
      [&] { code = run_main([]() -> Status { return Errc::timed_out; }); });
  EXPECT_EQ(code, 1);
  EXPECT_EQ(text, "weft: timed_out\n");
}

TEST_F(RunMainTest, PrintsAnExceptionAndReturnsOne) {
  int code = 0;
  auto text = stderr_of(
      [&] { code = run_main([] { throw std::runtime_error("broken"); }); });
  EXPECT_EQ(code, 1);
  EXPECT_EQ(text, "weft: uncaught exception: broken\n");
  text = stderr_of([&] { code = run_main([] { throw 1; }); });
  EXPECT_EQ(code, 1);
  EXPECT_EQ(text, "weft: uncaught exception of unknown type\n");
}

TEST_F(RunMainTest, ReportsTheFailureOfAChild) {
  int code = 0;
  const auto text = stderr_of([&] {
    code = run_main([](Nursery& nursery) {
      nursery.spawn([]() -> Status { return Error::user(9); });
    });
  });
  EXPECT_EQ(code, 1);
  EXPECT_EQ(text, "weft: failed: 9\n");
}

TEST_F(RunMainTest, ObeysTheEnvironment) {
  ::setenv("WEFT_WORKERS", "3", 1);
  unsigned workers = 0;
  EXPECT_EQ(run_main([&] { workers = this_fiber::runtime().worker_count(); }),
            0);
  EXPECT_EQ(workers, 3u);
  ::setenv("WEFT_WORKERS", "many", 1);
  int code = 0;
  const auto text = stderr_of([&] { code = run_main([] {}); });
  EXPECT_EQ(code, 1);
  EXPECT_NE(text.find("WEFT_WORKERS"), std::string::npos);
}

// R-DIAG-04
TEST_F(RunMainTest, PrintsStatisticsIfAsked) {
  ::setenv("WEFT_FIBER_STATS", "1", 1);
  ::setenv("WEFT_WORKERS", "2", 1);
  const auto text = stderr_of([] {
    EXPECT_EQ(run_main([](Nursery& nursery) {
                for (int i = 0; i < 10; ++i) nursery.spawn([] {});
              }),
              0);
  });
  EXPECT_NE(text.find("weft statistics of runtime weft"), std::string::npos);
  for (const char* word : {"worker", "dispatched", "spawned", "finished",
                           "parked", "stolen", "stacks:"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
}

// R-DIAG-04
TEST_F(RunMainTest, CountsEachWorkersFibersInTheStatistics) {
  constexpr unsigned kWorkers = 3;
  ::setenv("CC_FIBER_STATS", "1", 1);
  ::setenv("CC_WORKERS", "3", 1);
  std::istringstream lines(stderr_of([] {
    EXPECT_EQ(run_main([](Nursery& nursery) {
                for (int i = 0; i < 100; ++i) nursery.spawn([] {});
              }),
              0);
  }));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "weft statistics of runtime weft");
  std::getline(lines, line);  // the heads of the columns
  unsigned spawned = 0;
  unsigned finished = 0;
  for (unsigned worker = 0; worker < kWorkers; ++worker) {
    std::getline(lines, line);
    std::istringstream row(line);
    unsigned index = 0;
    unsigned given = 0;
    unsigned made = 0;
    unsigned ended = 0;
    row >> index >> given >> made >> ended;
    EXPECT_TRUE(row) << line;
    EXPECT_EQ(index, worker);
    spawned += made;
    finished += ended;
  }
  EXPECT_EQ(spawned, 100u);  // the root came from outside
  EXPECT_EQ(finished, 101u);
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("stacks: ")) << line;
  EXPECT_NE(line.find(" with fibers or kept by workers"), std::string::npos);
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

// R-DIAG-04
TEST_F(RunMainTest, SaysWhatItStartedIfVerbose) {
  ::setenv("WEFT_VERBOSE", "1", 1);
  ::setenv("WEFT_WORKERS", "2", 1);
  ::setenv("WEFT_NAME", "chatty", 1);
  const auto text = stderr_of([] { EXPECT_EQ(run_main([] {}), 0); });
  EXPECT_NE(text.find("weft: runtime chatty: 2 workers, stacks of 256 KiB"),
            std::string::npos)
      << text;
  ::unsetenv("WEFT_VERBOSE");
  ::setenv("CC_VERBOSE", "1", 1);
  EXPECT_EQ(stderr_of([] { EXPECT_EQ(run_main([] {}), 0); }), text);
}

TEST_F(RunMainTest, PrintsNothingOtherwise) {
  EXPECT_EQ(stderr_of([] { EXPECT_EQ(run_main([] {}), 0); }), "");
}

}  // namespace
}  // namespace weft
