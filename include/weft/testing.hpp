// testing.hpp: run a concurrent program over many schedules; replay one.
//
//   TEST(Cache, LoadsOnce) {
//     EXPECT_TRUE(weft::testing::explore([](weft::testing::Simulation& sim) {
//       Cache cache;
//       EXPECT_TRUE(sim.run([&](weft::Nursery& nursery) {
//         nursery.spawn([&] { cache.get(1); });
//         nursery.spawn([&] { cache.get(1); });
//       }));
//       sim.check(cache.loads() == 1, "it loads once");
//     }));
//   }
//
// One OS thread, virtual workers, virtual time: no sleeps, no flakes. A failure
// prints a replay string; WEFT_REPLAY=<string> runs that schedule alone.
//
// Fibers are interrupted where they call weft: spawn, join, wait, wake, yield,
// checkpoint(). Between two of these they run undisturbed, so a race of plain
// variables shows only if one of these calls is in the middle of it.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>

#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

namespace weft::testing {

// random: each choice by lot. pct: the fiber of the highest priority runs, and
// priorities change `depth` - 1 times: finds a bug of that depth with a known
// probability. exhaustive: every schedule with at most `depth` preemptions.
enum class Search : std::uint8_t { random, pct, exhaustive };

enum class Verdict : std::uint8_t {
  passed,
  assertion,         // check(), or ExploreOptions::failed
  exception,         // that nobody caught
  deadlock,          // all fibers wait, and no deadline is pending
  leaked_fiber,      // the body returned before its fibers ended
  step_limit,        // fibers that never end
  nondeterministic,  // the same choices, another order: the test has state
};
const char* to_string(Verdict verdict) noexcept;

struct ExploreOptions {
  Search search = Search::random;
  std::uint64_t schedules = 1'000;  // at most
  std::uint64_t seed = 0;           // 0: WEFT_SEED, else always the same
  unsigned workers = 2;             // virtual
  unsigned depth = 3;               // see Search
  std::uint64_t max_steps = 100'000;
  bool minimize = true;
  // Asked after each schedule, for assertion libraries: did this one fail?
  bool (*failed)() = nullptr;
};

struct [[nodiscard]] ExploreResult {
  Verdict verdict = Verdict::passed;
  std::uint64_t schedules = 0;  // run
  std::uint64_t distinct = 0;   // with an order of their own
  bool complete = false;        // exhaustive, and nothing is left to try
  std::string replay;           // for replay(), or WEFT_REPLAY
  std::string report;           // what failed, and the schedule, step by step

  explicit operator bool() const noexcept { return verdict == Verdict::passed; }
  friend std::ostream& operator<<(std::ostream& out,
                                  const ExploreResult& result);
};

namespace detail {
class Explorer;
}

// One schedule. The body of explore() gets it.
class Simulation {
 public:
  // As Runtime::run: returns when the tree has ended.
  template <typename F>
  auto run(F&& body) {
    return runtime_.run(std::forward<F>(body));
  }

  // A fiber. Suspends: until every other fiber is parked or has ended. Time
  // does not move.
  void wait_until_all_parked();
  // A fiber. Lets virtual time pass, running what falls due. It also jumps by
  // itself when all fibers are parked.
  void advance(Clock::duration by);
  Clock::time_point now() const noexcept { return Clock::now(); }

  // A choice that the search makes: 0 <= result < below.
  std::uint64_t choose(std::uint64_t below);
  // For tests without an assertion library. Fails this schedule.
  void check(bool holds, const char* what);

  // The order of all that ran so far: equal choices, equal hash.
  std::uint64_t order_hash() const noexcept;
  RuntimeRef runtime() noexcept { return runtime_.ref(); }

 private:
  friend class detail::Explorer;
  Simulation(Runtime runtime, detail::Explorer& explorer) noexcept
      : runtime_(std::move(runtime)), explorer_(explorer) {}

  Runtime runtime_;
  detail::Explorer& explorer_;
};

// The body runs once per schedule and keeps no state between runs. Stops at the
// first failure and prints it to stderr.
//
//   Callers:  plain threads that have no deterministic runtime.
ExploreResult explore(const std::function<void(Simulation&)>& body);
ExploreResult explore(const ExploreOptions& options,
                      const std::function<void(Simulation&)>& body);
// One schedule, by the string that a failure printed.
ExploreResult replay(const std::string& schedule,
                     const std::function<void(Simulation&)>& body);

}  // namespace weft::testing
