// explore.cpp: one body, many schedules (weft/testing.hpp).

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <unordered_set>
#include <utility>

#include "base/check.hpp"
#include "sched/interleave.hpp"
#include "sim/explorer.hpp"
#include <weft/testing.hpp>

namespace weft::testing {

namespace {

using weft::detail::Explorer;
using weft::detail::Trial;

constexpr std::uint64_t kSeed = 0x77656674;  // of no meaning, always the same

const char* environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// A mistake in the environment is not one in the program: no dump, no abort.
// Destructors do not run, since threads of other runtimes may.
[[noreturn]] void refuse(const char* name, const char* value,
                         const char* expected) {
  std::fprintf(stderr, "weft: %s='%s': expected %s\n", name, value, expected);
  std::fflush(nullptr);
  std::_Exit(EXIT_FAILURE);
}

std::uint64_t number_from(const char* name, std::uint64_t least,
                          std::uint64_t otherwise) {
  const char* const value = environment(name);
  if (value == nullptr) return otherwise;
  char* end = nullptr;
  errno = 0;
  const auto number = std::strtoull(value, &end, 0);
  if (*value < '0' || *value > '9' || *end != '\0' || errno != 0 ||
      number < least) {
    refuse(name, value,
           ("a number from " + std::to_string(least) + " to 2^64 - 1").c_str());
  }
  return number;
}

bool is_schedule(const std::string& text) {
  sim::Schedule schedule;
  return sim::Schedule::parse(text, schedule);
}

// A sign of life on a terminal, once a second.
class Progress {
 public:
  Progress() : shows_(::isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void note(std::uint64_t schedules, std::uint64_t of) {
    if (!shows_ || std::chrono::steady_clock::now() < next_) return;
    next_ += std::chrono::seconds(1);
    shown_ = true;
    std::fprintf(stderr, "\rweft: %llu of %llu schedules",
                 static_cast<unsigned long long>(schedules),
                 static_cast<unsigned long long>(of));
  }

 private:
  const bool shows_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

std::vector<Fault> faults_in(unsigned bits) {
  std::vector<Fault> faults;
  for (unsigned i = 0; i < kFaults; ++i) {
    if ((bits >> i & 1) != 0) faults.push_back(static_cast<Fault>(i));
  }
  return faults;
}

void add_turns(std::string& text,
               const std::vector<weft::detail::Turn>& turns) {
  constexpr std::size_t kShown = 200;
  const auto hidden = turns.size() > kShown ? turns.size() - kShown : 0;
  text += "  schedule, " + std::to_string(turns.size()) + " steps:";
  if (hidden != 0) text += " (the last " + std::to_string(kShown) + ")";
  std::uint64_t last = 0;
  for (auto turn = turns.begin() + static_cast<std::ptrdiff_t>(hidden);
       turn != turns.end();) {
    const auto same = [turn](const auto& other) {
      return other.number == turn->number && other.what == turn->what;
    };
    const auto next = std::find_if_not(turn, turns.end(), same);
    if (turn->number != last) {
      text += "\n    fiber " + std::to_string(turn->number);
      if (!turn->name.empty()) text += " \"" + turn->name + "\"";
      text += ": " + turn->what;
    } else {
      text += ", " + turn->what;
    }
    if (next - turn > 1) text += " x" + std::to_string(next - turn);
    last = turn->number;
    turn = next;
  }
  text += "\n";
}

ExploreResult result_of(Explorer& explorer, const Trial& failed) {
  ExploreResult result;
  result.verdict = failed.verdict;
  result.replay = explorer.text_of(failed.ranks);
  std::string& text = result.report;
  text = std::string(to_string(failed.verdict)) + ": " + failed.what + "\n";
  for (const auto& waiting : failed.waiting) text += "  " + waiting + "\n";
  add_turns(text, failed.turns);
  text += "  again: WEFT_REPLAY=" + result.replay + "\n";
  return result;
}

void print(const ExploreOptions& options, const ExploreResult& result) {
  if (options.print) std::fprintf(stderr, "weft: %s", result.report.c_str());
}

Trial nondeterministic(Trial trial) {
  const std::string before =
      trial.verdict == Verdict::passed
          ? "passed"
          : std::string(to_string(trial.verdict)) + ": " + trial.what;
  trial.verdict = Verdict::nondeterministic;
  trial.what =
      "the same choices gave another order: the body keeps state between runs, "
      "or asks a clock, an address or a random number (before: " +
      before + ")";
  return trial;
}

// What was run in its place tells nothing.
ExploreResult unfitting(const std::string& schedule) {
  ExploreResult result;
  result.verdict = Verdict::nondeterministic;
  result.replay = schedule;
  result.report = "does not fit: " + schedule +
                  " is a schedule of another test, of this one before it "
                  "changed, or mistyped; explore again without it\n";
  return result;
}

// What to tell of a failure: as simple as it can be, if it comes back at all.
Trial told(Explorer& explorer, const ExploreOptions& options, Trial failed) {
  if (failed.verdict == Verdict::nondeterministic) return failed;
  const auto again = explorer.run_again(failed.ranks);
  if (again.hash != failed.hash || again.verdict != failed.verdict) {
    return nondeterministic(std::move(failed));
  }
  if (options.minimize) failed = explorer.minimized(std::move(failed));
  auto traced = explorer.run_again(failed.ranks, true);
  return traced.same_as(failed) && traced.hash == failed.hash
             ? traced
             : nondeterministic(std::move(failed));
}

}  // namespace

const char* to_string(Fault fault) noexcept {
  constexpr const char* kNames[kFaults] = {
      "cancel_at_checkpoint", "spurious_wake", "allocation_failure",
      "spawn_refused", "time_passes"};
  return kNames[static_cast<std::size_t>(fault)];
}

const char* to_string(Verdict verdict) noexcept {
  constexpr const char* kNames[] = {
      "passed",    "assertion failed", "exception",  "deadlock",
      "lost wake", "leaked fiber",     "step limit", "nondeterministic"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::ostream& operator<<(std::ostream& out, const ExploreResult& result) {
  out << (result ? "passed " : "failed after ") << result.schedules;
  if (result.schedules == 1) {
    out << " schedule";
  } else {
    out << " schedules, " << result.distinct << " of them different";
  }
  if (result.complete) {
    out << "; there are no more";
  } else if (result.exhaustive && result) {
    out << "; there are more, which ExploreOptions::schedules left out";
  }
  for (const Fault fault : result.untried) {
    out << "\n  " << to_string(fault) << ": nowhere could it happen";
  }
  return out << '\n' << result.report;
}

ExploreResult explore(const std::function<void(Simulation&)>& body) {
  return explore({}, body);
}

ExploreResult explore(const ExploreOptions& wanted,
                      const std::function<void(Simulation&)>& body) {
  if (const char* schedule = environment("WEFT_REPLAY")) {
    if (!is_schedule(schedule)) {
      refuse("WEFT_REPLAY", schedule, "what a failure printed, as in w2:0x3.1");
    }
    return replay(schedule, wanted, body);
  }
  ExploreOptions options = wanted;
  if (options.seed == 0) options.seed = number_from("WEFT_SEED", 0, kSeed);
  options.schedules = number_from("WEFT_SCHEDULES", 1, options.schedules);
  WEFT_CHECK(options.schedules != 0, "explore() of no schedules");
  Explorer explorer(options, body);
  const auto search = sim::make_search(options);
  std::unordered_set<std::uint64_t> orders;
  ExploreResult result;
  std::uint64_t schedules = 0;
  {
    Progress progress;
    while (schedules < options.schedules && search->begin()) {
      auto trial = explorer.run(*search);
      progress.note(++schedules, options.schedules);
      orders.insert(trial.hash);
      if (trial.diverged) trial = nondeterministic(std::move(trial));
      if (schedules == 1 && trial.verdict == Verdict::passed) {
        const auto again = explorer.run_again(trial.ranks);
        if (again.hash != trial.hash || !again.same_as(trial)) {
          trial = nondeterministic(std::move(trial));
        }
      }
      if (trial.verdict == Verdict::passed) continue;
      result = result_of(explorer, told(explorer, options, std::move(trial)));
      break;
    }
  }
  result.schedules = schedules;
  result.distinct = orders.size();
  result.exhaustive = options.search == Search::exhaustive;
  result.untried = faults_in(explorer.untried());
  result.complete = search->complete() || !search->begin();
  if (!result) print(options, result);
  return result;
}

ExploreResult replay(const std::string& schedule,
                     const std::function<void(Simulation&)>& body) {
  return replay(schedule, {}, body);
}

ExploreResult replay(const std::string& text, const ExploreOptions& wanted,
                     const std::function<void(Simulation&)>& body) {
  sim::Schedule schedule;
  WEFT_CHECK(sim::Schedule::parse(text, schedule),
             "not a schedule: '%s' (expected what a failure printed, as in "
             "w2:0x3.1)",
             text.c_str());
  ExploreOptions options = wanted;
  options.workers = schedule.workers;
  options.max_faults = schedule.max_faults;
  options.faults = faults_in(schedule.faults);
  Explorer explorer(options, body);
  auto trial = explorer.run_again(schedule.ranks, true);
  ExploreResult result;
  if (trial.diverged) {
    result = unfitting(text);
  } else if (trial.verdict != Verdict::passed) {
    result = result_of(explorer, trial);
  }
  if (!result) print(options, result);
  result.schedules = result.distinct = 1;
  return result;
}

void Simulation::wait_until_all_parked() {
  explorer_.simulator().yield_to_all();
}

void Simulation::advance(Clock::duration by) {
  (void)this_fiber::sleep_for(by);
  wait_until_all_parked();  // others may have the same deadline
}

std::uint64_t Simulation::choose(std::uint64_t below) {
  return explorer_.choose_number(below);
}

void Simulation::check(bool holds, const char* what) {
  explorer_.check_thread();
  if (!holds) explorer_.fail_check(what);
}

void Simulation::fail_next(Fault fault, std::uint64_t after) {
  explorer_.fail_next(fault, after);
}

std::uint64_t Simulation::order_hash() const noexcept {
  return explorer_.simulator().order_hash();
}

void point() noexcept { sched::interleave(sched::Op::point, nullptr); }

void detail::before_access(const void* object) noexcept {
  sched::interleave(sched::Op::access, object);
}

void detail::before_read(const void* object) noexcept {
  sched::interleave(sched::Op::read, object);
}

}  // namespace weft::testing
