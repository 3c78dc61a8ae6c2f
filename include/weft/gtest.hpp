// gtest.hpp: explore() for GoogleTest: EXPECT_ and ASSERT_ fail the schedule.
//
//   TEST(Cache, LoadsOnce) {
//     weft::testing::explore_test({.schedules = 5'000}, [](auto& sim) {
//       ...
//       EXPECT_EQ(cache.loads(), 1);
//     });
//   }
//
// Only the failures of the last run count: the one of the minimized schedule.
// In the body: GTEST_SKIP() counts as a failure; a SCOPED_TRACE of a schedule
// that failed stays for the rest of the process; --gtest_break_on_failure and
// --gtest_throw_on_failure come before there is a schedule to replay.
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "weft/testing.hpp"

namespace weft::testing {

// Keeps GoogleTest's failures to itself.
class GTestWatch final : public Watch {
 public:
  void schedule_begins() noexcept override {
    results_.emplace();
    reporter_.emplace(::testing::ScopedFakeTestPartResultReporter::
                          INTERCEPT_ONLY_CURRENT_THREAD,
                      &*results_);
  }
  std::string schedule_ended() noexcept override {
    reporter_.reset();
    std::string failures;
    for (int i = 0; i < results_->size(); ++i) {
      const auto& part = results_->GetTestPartResult(i);
      if (part.passed()) continue;  // who skips has not tested anything
      const std::string file =
          part.file_name() != nullptr ? part.file_name() : "unknown file";
      failures += (failures.empty() ? "" : "\n") + file + ":" +
                  std::to_string(part.line_number()) + ": " + part.message();
    }
    return failures;
  }

 private:
  std::optional<::testing::TestPartResultArray> results_;
  std::optional<::testing::ScopedFakeTestPartResultReporter> reporter_;
};

// As explore(); a failure is one of the current test, at the place of the call,
// and says how to replay.
inline ExploreResult explore_test(ExploreOptions options,
                                  const std::function<void(Simulation&)>& body,
                                  const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE()) {
  GTestWatch watch;
  options.watch = &watch;
  options.print = false;
  auto result = explore(options, body);
  if (!result) ADD_FAILURE_AT(file, line) << result.report;
  return result;
}
inline ExploreResult explore_test(const std::function<void(Simulation&)>& body,
                                  const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE()) {
  return explore_test(ExploreOptions{}, body, file, line);
}

}  // namespace weft::testing
