// searches.hpp: a small program under all kinds of search.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "stress/scale.hpp"
#include <weft/gtest.hpp>
#include <weft/testing.hpp>

namespace weft::test {

using testing::Fault;
using testing::Search;
using testing::Simulation;

// Where all schedules would take minutes: the first ones.
#if defined(WEFT_TEST_EMULATED)
inline constexpr bool kFewSchedules = true;
#else
inline constexpr bool kFewSchedules = kSanitized;
#endif

// By lot, by priorities, and all schedules with so many preemptions; each with
// the faults, all of which must have had a chance.
inline void search_all(std::vector<Fault> faults, unsigned preemptions,
                       const std::function<void(Simulation&)>& body,
                       const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  const auto many = static_cast<std::uint64_t>(scaled(600));
  for (const auto search : {Search::random, Search::pct}) {
    const auto result = testing::explore_test({.search = search,
                                               .schedules = many,
                                               .faults = faults,
                                               .max_faults = 2},
                                              body, file, line);
    EXPECT_TRUE(kFewSchedules || result.untried.empty()) << result;
  }
  const auto all =
      testing::explore_test({.search = Search::exhaustive,
                             .schedules = kFewSchedules ? 500u : 30'000u,
                             .depth = preemptions,
                             .faults = faults},
                            body, file, line);
  EXPECT_TRUE(kFewSchedules || all.complete) << all;
}

}  // namespace weft::test
