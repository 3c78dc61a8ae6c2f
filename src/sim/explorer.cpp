#include "sim/explorer.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/spin_lock.hpp"
#include "sched/scheduler.hpp"
#include "time/clock.hpp"

namespace weft::detail {

struct Explorer::World {
  World(Runtime runtime, Explorer& explorer)
      : simulation(std::move(runtime), explorer) {}
  Simulation simulation;
  std::unique_ptr<Nursery> root;  // of the body
};

namespace {

// Without a bound nobody should have to wait for a worker: whoever takes one
// would be in everybody's way (see Simulator::is_crowded()).
unsigned workers_for(const ExploreOptions& options) {
  constexpr unsigned kUsual = 2;
  constexpr unsigned kEnough = 16;
  if (options.workers != 0) return options.workers;
  const bool unbounded = options.search == testing::Search::exhaustive &&
                         options.depth == testing::kNoBound;
  return unbounded ? kEnough : kUsual;
}

}  // namespace

Explorer::Explorer(const ExploreOptions& options, const Body& body)
    : options_(options), body_(body), workers_(workers_for(options)) {
  for (const Fault fault : options.faults) {
    fault_mask_ |= 1u << static_cast<unsigned>(fault);
  }
  untried_ = fault_mask_;
}

Explorer::~Explorer() = default;

void Explorer::make_world() {
  if (world_ != nullptr) return;
  auto runtime = Runtime::start({.name = "simulation",
                                 .workers = workers_,
                                 .deterministic_seed = options_.seed});
  WEFT_CHECK(runtime,
             "explore() could not start its runtime (%s); it needs a plain "
             "thread that has no deterministic runtime",
             runtime.error().message().c_str());
  world_ = std::make_unique<World>(*std::move(runtime), *this);
}

// Its fibers stay where they are, and with them all they refer to.
void Explorer::abandon_world() noexcept {
  struct Kept {
    base::SpinLock lock;
    std::vector<World*> worlds;  // guarded by lock
  };
  static auto* const kept = new Kept();  // outlives every thread
  simulator().detach();
  world_->simulation.runtime_.abandon();
  const std::lock_guard hold(kept->lock);
  kept->worlds.push_back(world_.release());
}

sched::Scheduler& Explorer::scheduler() {
  return *static_cast<sched::Scheduler*>(
      world_->simulation.runtime_.ref().scheduler_);
}
sched::Simulator& Explorer::simulator() { return *scheduler().simulator(); }

void Explorer::fail(Verdict verdict, std::string what, std::string reason) {
  if (failed()) return;  // the first one counts
  trial_.verdict = verdict;
  trial_.what = std::move(what);
  trial_.reason = std::move(reason);
}

// Where no fiber can be left behind, the schedule ends a little later.
void Explorer::fail_check(const char* what) {
  const std::string text = what != nullptr ? what : "";
  fail(Verdict::assertion, text, text);
  const auto& here = sched::carrier();
  if (here.worker != nullptr && !here.no_stack) simulator().stop_for_good();
}

void Explorer::check_thread() {
  WEFT_CHECK(sched::Simulator::here() == &simulator(),
             "a Simulation is used by another thread than that of explore()");
}

void Explorer::run_body() {
  try {
    body_(world_->simulation);
  } catch (const std::exception& what) {
    fail(Verdict::exception, what.what(), what.what());
  } catch (...) {
    fail(Verdict::exception, "of unknown type");
  }
}

// The body has returned: with a failure that it did not tell of, or too early?
void Explorer::check_end() {
  try {
    if (const Status end = world_->root->join(); !end) {
      const auto what = "left by a nursery: " + end.error().message();
      fail(Verdict::exception, what, what);
    }
  } catch (const std::exception& what) {
    fail(Verdict::exception, what.what(), what.what());
  } catch (...) {
    fail(Verdict::exception, "of unknown type");
  }
  const auto left = scheduler().live();
  const auto held = simulator().held();
  if (left == 0 && held == 0) return;
  fail(Verdict::leaked_fiber,
       left != 0
           ? std::to_string(left) + " fibers outlive the body of the test"
           : std::to_string(held) + " tasks outlive the body of the test");
  simulator().for_each_waiting([this](const auto& fiber, const auto&) {
    trial_.waiting.push_back(narrator_->waits(fiber));
  });
}

Trial Explorer::run(sim::Search& search, bool traced) {
  make_world();
  search_ = &search;
  traced_ = traced;
  trial_ = {};
  faults_ = 0;
  pending_.clear();
  last_ = 0;
  narrator_ = sched::Narrator(simulator());
  auto& simulator = this->simulator();
  simulator.restart(*this);
  if (options_.watch != nullptr) options_.watch->schedule_begins();
  auto& root = world_->root;
  root = std::make_unique<Nursery>(world_->simulation.runtime());
  root->spawn({.name = "test", .stack_size = StackSize::large},
              [this] { run_body(); });
  (void)simulator.run_until(
      time::kNever, [this, &root] { return failed() || root->live() == 0; });
  if (!failed()) check_end();
  if (options_.watch != nullptr) {
    if (auto seen = options_.watch->schedule_ended(); !seen.empty()) {
      // What came afterwards may well come from it.
      trial_.verdict = Verdict::assertion;
      trial_.reason = seen.substr(0, seen.find(": "));  // file and line
      trial_.what =
          trial_.what.empty() ? seen : seen + "\nand then: " + trial_.what;
    }
  }
  trial_.hash = simulator.order_hash();
  search.end();
  trial_.diverged = search.diverged();
  if (scheduler().live() != 0 || simulator.held() != 0) {
    abandon_world();
  } else {
    root.reset();
  }
  return std::move(trial_);
}

Trial Explorer::run_again(const std::vector<std::uint32_t>& ranks,
                          bool traced) {
  sim::Script script(ranks);
  (void)script.begin();
  return run(script, traced);
}

std::string Explorer::text_of(const std::vector<std::uint32_t>& ranks) {
  return sim::Schedule{.workers = workers_,
                       .faults = fault_mask_,
                       .max_faults = options_.max_faults,
                       .ranks = ranks}
      .text();
}

// ---- Choices

std::size_t Explorer::pick(const sim::Choice& choice) {
  const auto rank = search_->choose(choice);
  trial_.ranks.push_back(static_cast<std::uint32_t>(rank));
  return rank;
}

std::size_t Explorer::choose(const sched::Candidates& all) noexcept {
  sorted_.clear();
  for (std::size_t i = 0; i < all.size(); ++i) sorted_.push_back(all[i]);
  order_.resize(all.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto key = [this](std::size_t index) {
    const auto& fiber = sorted_[index];
    if (fiber.stopped && fiber.number == last_) return std::pair(0, last_);
    if (fiber.yielded == 0) return std::pair(1, fiber.number);
    return std::pair(2, fiber.yielded);
  };
  std::ranges::sort(order_, {}, key);
  options_of_choice_.clear();
  for (const auto index : order_) {
    options_of_choice_.push_back(
        {sorted_[index].number, sorted_[index].yielded});
  }
  return order_[pick({.count = all.size(),
                      .options = options_of_choice_,
                      .first_was_stopped = key(order_[0]).first == 0})];
}

std::uint64_t Explorer::choose_number(std::uint64_t below) {
  WEFT_CHECK(below != 0, "a choice of nothing");
  WEFT_CHECK(below <= UINT32_MAX, "a choice of more than 2^32 - 1 numbers");
  if (below == 1) return 0;
  simulator().touch_all();  // what the step touches depends on this choice
  return pick({.kind = sim::Choice::Kind::number,
               .count = static_cast<std::size_t>(below)});
}

bool Explorer::injects(Fault fault, const sched::Fiber* to) noexcept {
  const auto planned = std::ranges::find_if(
      pending_,
      [fault](const Pending& pending) { return pending.fault == fault; });
  if (planned != pending_.end()) {
    simulator().touch_all();  // they count for all fibers
    if (planned->after-- != 0) return false;
    pending_.erase(planned);
    trace_fault(fault, to);
    return true;
  }
  if ((fault_mask_ >> static_cast<unsigned>(fault) & 1) == 0 ||
      is_spared(fault, to)) {
    return false;
  }
  untried_ &= ~(1u << static_cast<unsigned>(fault));
  if (faults_ >= options_.max_faults) return false;
  simulator().touch_all();  // what it touches depends on this choice
  if (pick({.kind = sim::Choice::Kind::fault, .count = 2}) == 0) return false;
  ++faults_;
  trace_fault(fault, to);
  return true;
}

// The body itself has to come to its end: it is neither cancelled nor without
// memory.
bool Explorer::is_spared(Fault fault, const sched::Fiber* to) {
  const bool stops_it = fault == Fault::cancel_at_checkpoint ||
                        fault == Fault::allocation_failure;
  return stops_it && to != nullptr && simulator().number_of(*to) == 1;
}

void Explorer::trace_fault(Fault fault, const sched::Fiber* to) {
  if (!traced_) return;
  constexpr const char* kNames[testing::kFaults] = {
      "is cancelled", "is woken for nothing", "gets no memory", "may not spawn",
      "is overtaken by the clock"};
  trial_.turns.push_back({to != nullptr ? simulator().number_of(*to) : last_,
                          {},
                          kNames[static_cast<unsigned>(fault)]});
}

void Explorer::goes_on(const sched::Candidate& chosen) noexcept {
  last_ = chosen.number;
  if (traced_) {
    const char* const name = chosen.fiber->name();
    trial_.turns.push_back({chosen.number, name != nullptr ? name : "",
                            narrator_->goes_on(chosen)});
  }
  if (simulator().steps() <= options_.max_steps) return;
  fail(Verdict::step_limit, "not ended after " +
                                std::to_string(options_.max_steps) +
                                " steps (ExploreOptions::max_steps)");
}

void Explorer::stuck() noexcept {
  std::string lost;
  simulator().for_each_waiting([&](const auto& fiber, const auto& recheck) {
    trial_.waiting.push_back(narrator_->waits(fiber));
    if (!recheck.is_over()) return;
    trial_.waiting.back() += ", which is ready";
    lost = "fiber " + std::to_string(fiber.number);
  });
  if (lost.empty()) {
    fail(Verdict::deadlock, "every fiber waits, and no deadline is pending");
  } else {
    fail(Verdict::lost_wake, lost + " waits for what is there: nobody woke it");
  }
}

}  // namespace weft::detail
