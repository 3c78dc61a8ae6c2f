// testing.hpp: run a concurrent program over many schedules; replay one.
//
//   TEST(Cache, LoadsOnce) {
//     EXPECT_TRUE(weft::testing::explore([](weft::testing::Simulation& sim) {
//       Cache cache;
//       weft::Nursery nursery;
//       nursery.spawn([&] { cache.get(1); });
//       nursery.spawn([&] { cache.get(1); });
//       (void)nursery.join();
//       sim.check(cache.loads() == 1, "it loads once");
//     }));
//   }
//
// One OS thread, virtual workers, virtual time: no sleeps, no flakes. A failure
// prints a replay string; WEFT_REPLAY=<string> runs that schedule alone. With
// GoogleTest's own assertions: weft/gtest.hpp.
//
// Fibers are interrupted where they call weft, use a testing::Atomic or call
// testing::point(). In between they run undisturbed, so an error of plain
// variables shows only if one of these is in the middle of it. No fiber may
// block its thread: not in a std::mutex that another one holds across a call of
// weft, and not in a loop that neither yields nor waits.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/fault.hpp"
#include "weft/detail/observed_atomic.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

namespace weft::testing {

// random:      each choice by lot.
// pct:         the fiber of the highest priority runs, and priorities change
//              depth - 1 times: finds an error that takes `depth` events in
//              order with a known probability.
// exhaustive:  every schedule with at most `depth` preemptions and turns out of
//              the order in which fibers yielded. kNoBound: every
//              one that differs in the order of what conflicts; that counts on
//              fibers that share only what they lock, a testing::Atomic, or
//              what is next to a point(), and never wait in a loop of yields.
enum class Search : std::uint8_t { random, pct, exhaustive };
inline constexpr unsigned kNoBound = UINT32_MAX;

enum class Verdict : std::uint8_t {
  passed,
  assertion,         // check(), or what ExploreOptions::watch saw
  exception,         // left the body, or a failure that it did not join
  deadlock,          // all fibers wait, and no deadline is pending
  lost_wake,         // the same, and one need not have waited
  leaked_fiber,      // the body returned before its fibers, or a Task is left
  step_limit,        // fibers that never end
  nondeterministic,  // the same choices, another order: the test has state;
                     // or a schedule to replay() that does not fit the test
};
const char* to_string(Verdict verdict) noexcept;

// Sees the failures of an assertion library, schedule by schedule.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual void schedule_begins() noexcept = 0;
  // What failed since, "file:line: text"; empty: nothing.
  virtual std::string schedule_ended() noexcept = 0;
};

struct ExploreOptions {
  Search search = Search::random;
  std::uint64_t schedules = 1'000;  // at most; WEFT_SCHEDULES wins
  std::uint64_t seed = 0;           // 0: WEFT_SEED, else always the same
  unsigned workers =
      0;               // virtual: how many fibers can be amid their run; 0: 2,
                       // or with kNoBound 16
  unsigned depth = 3;  // see Search
  std::uint64_t max_steps = 100'000;  // of one schedule
  std::vector<Fault> faults = {};     // where they may happen, they are tried
  unsigned max_faults = 1;            // in one schedule
  bool minimize = true;               // to fewer preemptions, the same failure
  bool print = true;                  // a failure, to stderr
  Watch* watch = nullptr;
};

struct ExploreResult {
  Verdict verdict = Verdict::passed;
  std::uint64_t schedules = 0;      // run, until the failure
  std::uint64_t distinct = 0;       // with an order of their own
  bool complete = false;            // exhaustive, and nothing is left to try
  bool exhaustive = false;          // it was asked for
  std::vector<Fault> untried = {};  // of the faults: nowhere could they happen
  std::string replay;               // for replay(), or WEFT_REPLAY
  std::string report;  // what failed, who waits, and step by step how

  explicit operator bool() const noexcept { return verdict == Verdict::passed; }
  friend std::ostream& operator<<(std::ostream& out,
                                  const ExploreResult& result);
};

// One schedule. The body of explore() gets it.
class Simulation {
 public:
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // As Runtime::run(), from the body.
  template <typename F>
  auto run(F&& body) {
    return runtime_.run(std::forward<F>(body));
  }

  //   Suspends:  until every other fiber waits or has ended. Time stands still,
  //              unless they do nothing but yield.
  //   Callers:   fibers of the simulation.
  void wait_until_all_parked();
  // Lets virtual time pass, and runs what falls due until all wait again. Time
  // also jumps by itself when all fibers wait.
  //   Suspends:  until then. Always a cancel point.
  //   Callers:   fibers of the simulation.
  void advance(Clock::duration by);
  Clock::time_point now() const noexcept { return Clock::now(); }

  // A choice that the search makes: 0 <= result < below < 2^32.
  //   Callers:   fibers of the simulation.
  std::uint64_t choose(std::uint64_t below);
  // Ends this schedule as failed if it does not hold. Nothing is unwound.
  //   Callers:   the thread of explore(), fibers or not.
  void check(bool holds, const char* what);
  // The next chance for this fault is taken, after so many others; in the body,
  // too.
  void fail_next(Fault fault, std::uint64_t after = 0);

  // The order of all that ran so far: equal choices, equal hash.
  std::uint64_t order_hash() const noexcept;
  RuntimeRef runtime() noexcept { return runtime_.ref(); }

 private:
  friend class weft::detail::Explorer;
  Simulation(Runtime runtime, weft::detail::Explorer& explorer) noexcept
      : runtime_(std::move(runtime)), explorer_(explorer) {}

  Runtime runtime_;
  weft::detail::Explorer& explorer_;
};

// The body runs once per schedule, as a fiber; it keeps no state between runs.
// Stops at the first failure and prints it. What a failed schedule
// leaves behind is not unwound, and its memory kept: nobody could say whether
// its fibers can go on.
//
//   Callers:  plain threads that have no deterministic runtime.
[[nodiscard]] ExploreResult explore(
    const std::function<void(Simulation&)>& body);
[[nodiscard]] ExploreResult explore(
    const ExploreOptions& options,
    const std::function<void(Simulation&)>& body);
// One schedule, by the string that a failure printed. Dies if it is not one.
[[nodiscard]] ExploreResult replay(
    const std::string& schedule, const std::function<void(Simulation&)>& body);
[[nodiscard]] ExploreResult replay(
    const std::string& schedule, const ExploreOptions& options,
    const std::function<void(Simulation&)>& body);

// A place where a simulated fiber may be interrupted. Nothing elsewhere.
void point() noexcept;

}  // namespace weft::testing
