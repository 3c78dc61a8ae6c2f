// explore.cpp: one body, many schedules (weft/testing.hpp).

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <ostream>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "sched/scheduler.hpp"
#include "sim/search.hpp"
#include "time/clock.hpp"
#include <weft/testing.hpp>

namespace weft::testing {

namespace {

// Ends the fiber that found something wrong.
struct CheckFailed {};

constexpr std::uint64_t kSeed = 0x77656674;  // of no meaning, always the same

const char* environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

// One schedule after the other, on one runtime as long as it comes out clean.
class detail::Explorer final : public sched::Chooser {
 public:
  using Body = std::function<void(Simulation&)>;
  struct Outcome {
    Verdict verdict = Verdict::passed;
    std::string what;
    std::vector<std::uint32_t> choices;
    std::vector<std::uint64_t> ran;  // fibers, in this order
    std::uint64_t hash = 0;
  };

  Explorer(const ExploreOptions& options, const Body& body);

  Outcome run(sim::Search& search);

  // ---- For Simulation.
  std::uint64_t choose_number(std::uint64_t below);
  void fail(Verdict verdict, std::string what);
  sched::Simulator& simulator() { return *scheduler().simulator(); }

  // ---- Chooser
  std::size_t choose(std::span<const sched::Candidate> all) noexcept override;
  bool stops() noexcept override { return true; }
  void stuck() noexcept override {
    fail(Verdict::deadlock,
         "deadlock: every fiber waits, and no deadline is pending");
  }

 private:
  sched::Scheduler& scheduler();
  void run_body();
  std::size_t pick(const sim::Choice& choice);

  const ExploreOptions& options_;
  const Body& body_;
  std::optional<Simulation> simulation_;
  sim::Search* search_ = nullptr;
  Outcome outcome_;
  std::vector<std::uint64_t> ids_;
  std::uint64_t last_ = 0;
};

detail::Explorer::Explorer(const ExploreOptions& options, const Body& body)
    : options_(options), body_(body) {
  auto runtime = Runtime::start({.name = "simulation",
                                 .workers = options.workers,
                                 .deterministic_seed = options.seed});
  WEFT_CHECK(runtime, "no runtime to explore: %s",
             runtime.error().message().c_str());
  simulation_.emplace(Simulation(*std::move(runtime), *this));
}

void detail::Explorer::fail(Verdict verdict, std::string what) {
  if (outcome_.verdict != Verdict::passed) return;  // the first one counts
  outcome_.verdict = verdict;
  outcome_.what = std::move(what);
}

std::size_t detail::Explorer::pick(const sim::Choice& choice) {
  const auto index = search_->choose(choice);
  outcome_.choices.push_back(static_cast<std::uint32_t>(index));
  return index;
}

std::size_t detail::Explorer::choose(
    std::span<const sched::Candidate> all) noexcept {
  sim::Choice choice;
  ids_.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    ids_.push_back(all[i].number);
    if (all[i].stopped && all[i].number == last_) choice.last = i;
  }
  choice.ids = ids_;
  const auto index = pick(choice);
  last_ = ids_[index];
  outcome_.ran.push_back(last_);
  if (outcome_.choices.size() > options_.max_steps) {
    fail(Verdict::step_limit, "more choices than max_steps");
    scheduler().cancel_all();
  }
  return index;
}

std::uint64_t detail::Explorer::choose_number(std::uint64_t below) {
  WEFT_CHECK(below != 0, "a choice of nothing");
  if (below == 1) return 0;
  ids_.resize(below);
  for (std::uint64_t i = 0; i < below; ++i) ids_[i] = i;
  return pick({.ids = ids_});
}

sched::Scheduler& detail::Explorer::scheduler() {
  return *static_cast<sched::Scheduler*>(
      simulation_->runtime_.ref().scheduler_);
}

void detail::Explorer::run_body() {
  try {
    body_(*simulation_);
  } catch (const CheckFailed&) {  // told already
  } catch (const std::exception& what) {
    fail(Verdict::exception, std::string("exception: ") + what.what());
  } catch (...) {
    fail(Verdict::exception, "exception of unknown type");
  }
  if (options_.failed != nullptr && options_.failed()) {
    fail(Verdict::assertion, "an assertion failed");
  }
}

detail::Explorer::Outcome detail::Explorer::run(sim::Search& search) {
  search_ = &search;
  outcome_ = {};
  last_ = 0;
  auto& simulator = *scheduler().simulator();
  simulator.restart(*this);
  run_body();
  if (const auto left = scheduler().live(); left != 0) {
    fail(Verdict::leaked_fiber,
         std::to_string(left) + " fibers outlive the body of the test");
    scheduler().cancel_all();
    (void)scheduler().wait_until_empty(time::kNever);
  }
  outcome_.hash = simulator.order_hash();
  search.end(outcome_.choices.size());
  return std::move(outcome_);
}

namespace {

using Outcome = detail::Explorer::Outcome;

std::string report_of(const Outcome& outcome) {
  std::string text = outcome.what + "\n  fibers by turns:";
  constexpr std::size_t kShown = 200;
  for (std::size_t i = 0; i < outcome.ran.size() && i < kShown; ++i) {
    text += " " + std::to_string(outcome.ran[i]);
  }
  if (outcome.ran.size() > kShown) text += " ...";
  return text + "\n  WEFT_REPLAY=" + sim::to_text(outcome.choices) + "\n";
}

// Fewer preemptions, fewer choices: whatever can be 0 and still fails.
Outcome minimized(detail::Explorer& explorer, Outcome worst) {
  constexpr int kTries = 500;
  int tries = 0;
  for (std::size_t i = worst.choices.size(); i-- > 0 && tries < kTries;) {
    if (worst.choices[i] == 0) continue;
    auto fewer = worst.choices;
    fewer[i] = 0;
    sim::Script script(fewer);
    (void)script.begin();
    ++tries;
    auto outcome = explorer.run(script);
    if (outcome.verdict != worst.verdict) continue;
    worst = std::move(outcome);
    i = std::min(i, worst.choices.size());
  }
  return worst;
}

}  // namespace

const char* to_string(Verdict verdict) noexcept {
  constexpr const char* kNames[] = {
      "passed",       "assertion",  "exception",       "deadlock",
      "leaked fiber", "step limit", "nondeterministic"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::ostream& operator<<(std::ostream& out, const ExploreResult& result) {
  out << to_string(result.verdict) << " after " << result.schedules
      << " schedules";
  if (result.complete) out << ", which are all";
  return out << (result.report.empty() ? "" : ": ") << result.report;
}

ExploreResult explore(const std::function<void(Simulation&)>& body) {
  return explore({}, body);
}

ExploreResult explore(const ExploreOptions& wanted,
                      const std::function<void(Simulation&)>& body) {
  if (const char* schedule = environment("WEFT_REPLAY")) {
    return replay(schedule, body);
  }
  ExploreOptions options = wanted;
  if (options.seed == 0) {
    const char* seed = environment("WEFT_SEED");
    options.seed = seed != nullptr ? std::strtoull(seed, nullptr, 0) : kSeed;
  }
  detail::Explorer explorer(options, body);
  const auto search = sim::make_search(options);
  std::unordered_set<std::uint64_t> orders;
  ExploreResult result;
  while (result.schedules < options.schedules && search->begin()) {
    auto outcome = explorer.run(*search);
    ++result.schedules;
    orders.insert(outcome.hash);
    const bool failed = outcome.verdict != Verdict::passed;
    if (!failed && result.schedules != 1) continue;
    // The first, and one that failed: the same again?
    sim::Script script(outcome.choices);
    (void)script.begin();
    const auto again = explorer.run(script);
    if (again.hash != outcome.hash || again.verdict != outcome.verdict) {
      outcome.verdict = Verdict::nondeterministic;
      outcome.what =
          "the same choices gave another order: the test keeps state "
          "between runs, or asks a clock or a random number";
    } else if (!failed) {
      continue;
    } else if (options.minimize) {
      outcome = minimized(explorer, std::move(outcome));
    }
    result.verdict = outcome.verdict;
    result.replay = sim::to_text(outcome.choices);
    result.report = report_of(outcome);
    break;
  }
  result.distinct = orders.size();
  result.complete = search->complete();
  if (!result) {
    std::fprintf(stderr, "weft: %s\n%s", to_string(result.verdict),
                 result.report.c_str());
  }
  return result;
}

ExploreResult replay(const std::string& schedule,
                     const std::function<void(Simulation&)>& body) {
  std::vector<std::uint32_t> choices;
  WEFT_CHECK(sim::from_text(schedule, choices),
             "not a schedule: '%s' (numbers with dots in between)",
             schedule.c_str());
  const ExploreOptions options;
  detail::Explorer explorer(options, body);
  sim::Script script(choices);
  (void)script.begin();
  const auto outcome = explorer.run(script);
  ExploreResult result;
  result.schedules = result.distinct = 1;
  result.verdict = outcome.verdict;
  if (result) return result;
  result.replay = schedule;
  result.report = report_of(outcome);
  std::fputs(result.report.c_str(), stderr);
  return result;
}

void Simulation::wait_until_all_parked() {
  explorer_.simulator().yield_to_all();
}

void Simulation::advance(Clock::duration by) {
  (void)this_fiber::sleep_for(by);
}

std::uint64_t Simulation::choose(std::uint64_t below) {
  return explorer_.choose_number(below);
}

void Simulation::check(bool holds, const char* what) {
  if (holds) return;
  explorer_.fail(Verdict::assertion, what);
  throw CheckFailed();
}

std::uint64_t Simulation::order_hash() const noexcept {
  return explorer_.simulator().order_hash();
}

}  // namespace weft::testing
