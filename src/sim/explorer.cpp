#include "sim/explorer.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "sched/scheduler.hpp"
#include "time/clock.hpp"

namespace weft::detail {

struct Explorer::World {
  World(Runtime runtime, Explorer& explorer)
      : simulation(std::move(runtime), explorer) {}
  Simulation simulation;
  std::unique_ptr<Nursery> root;  // of the body
};

Explorer::Explorer(const ExploreOptions& options, const Body& body)
    : options_(options), body_(body) {
  for (const Fault fault : options.faults) {
    fault_mask_ |= 1u << static_cast<unsigned>(fault);
  }
}

Explorer::~Explorer() = default;

void Explorer::make_world() {
  if (world_ != nullptr) return;
  auto runtime = Runtime::start({.name = "simulation",
                                 .workers = options_.workers,
                                 .deterministic_seed = options_.seed});
  WEFT_CHECK(runtime, "no runtime to explore: %s",
             runtime.error().message().c_str());
  world_ = std::make_unique<World>(*std::move(runtime), *this);
}

// Its fibers stay where they are, and with them all they refer to.
void Explorer::abandon_world() noexcept {
  static auto* const kept = new std::vector<World*>();
  simulator().detach();
  world_->simulation.runtime_.abandon();
  kept->push_back(world_.release());
}

sched::Simulator& Explorer::simulator() {
  auto& scheduler = *static_cast<sched::Scheduler*>(
      world_->simulation.runtime_.ref().scheduler_);
  return *scheduler.simulator();
}

void Explorer::fail(Verdict verdict, std::string what) {
  if (failed()) return;  // the first one counts
  trial_.verdict = verdict;
  trial_.what = std::move(what);
}

void Explorer::fail_check(const char* what) {
  fail(Verdict::assertion, what);
  trial_.check = what;
  simulator().stop_for_good();
}

void Explorer::run_body() {
  try {
    body_(world_->simulation);
  } catch (const std::exception& what) {
    fail(Verdict::exception, std::string("exception: ") + what.what());
  } catch (...) {
    fail(Verdict::exception, "exception of unknown type");
  }
}

Trial Explorer::run(sim::Search& search, bool traced) {
  make_world();
  search_ = &search;
  traced_ = traced;
  trial_ = {};
  faults_ = 0;
  pending_.clear();
  last_ = 0;
  objects_.clear();
  auto& simulator = this->simulator();
  simulator.restart(*this);
  if (options_.watch != nullptr) options_.watch->schedule_begins();
  auto& root = world_->root;
  root = std::make_unique<Nursery>(world_->simulation.runtime());
  root->spawn({.name = "test", .stack_size = StackSize::large},
              [this] { run_body(); });
  (void)simulator.run_until(
      time::kNever, [this, &root] { return failed() || root->live() == 0; });
  if (!failed()) {
    const auto left = world_->simulation.runtime().stats().fibers_live;
    if (left != 0) {
      fail(Verdict::leaked_fiber,
           std::to_string(left) + " fibers outlive the body of the test");
      simulator.for_each_waiting([this](const auto& fiber, bool) {
        trial_.waiting.push_back(describe(fiber, true));
      });
    }
  }
  if (options_.watch != nullptr) {
    if (auto seen = options_.watch->schedule_ended(); !seen.empty()) {
      // What came afterwards may well come from it.
      trial_.verdict = Verdict::assertion;
      trial_.what =
          trial_.what.empty() ? seen : seen + "\nand then: " + trial_.what;
    }
  }
  trial_.hash = simulator.order_hash();
  search.end(trial_.ranks.size());
  trial_.diverged = search.diverged();
  if (world_->simulation.runtime().stats().fibers_live != 0) {
    abandon_world();
  } else {
    (void)root->join<Panics>();
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
  return sim::Schedule{.workers = options_.workers,
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
  if (below == 1) return 0;
  return pick({.kind = sim::Choice::Kind::number,
               .count = static_cast<std::size_t>(below)});
}

bool Explorer::injects(Fault fault, const sched::Fiber* to) noexcept {
  const auto planned = std::ranges::find_if(
      pending_,
      [fault](const Pending& pending) { return pending.fault == fault; });
  if (planned != pending_.end()) {
    if (planned->after-- != 0) return false;
    pending_.erase(planned);
    trace_fault(fault, to);
    return true;
  }
  const bool to_body = to != nullptr && simulator().number_of(*to) == 1;
  if ((fault_mask_ >> static_cast<unsigned>(fault) & 1) == 0 || to_body ||
      faults_ >= options_.max_faults) {
    return false;
  }
  if (pick({.kind = sim::Choice::Kind::fault, .count = 2}) == 0) return false;
  ++faults_;
  search_->went(0, sched::Footprint::of_all());
  trace_fault(fault, to);
  return true;
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
    trial_.turns.push_back(
        {chosen.number, name != nullptr ? name : "", describe(chosen, false)});
  }
  if (simulator().steps() <= options_.max_steps) return;
  fail(Verdict::step_limit, "not ended after " +
                                std::to_string(options_.max_steps) +
                                " steps (ExploreOptions::max_steps)");
}

void Explorer::stuck() noexcept {
  std::string lost;
  simulator().for_each_waiting([&](const auto& fiber, bool over) {
    trial_.waiting.push_back(describe(fiber, true));
    if (!over) return;
    trial_.waiting.back() += ", which is ready";
    lost = "fiber " + std::to_string(fiber.number);
  });
  if (lost.empty()) {
    fail(Verdict::deadlock, "every fiber waits, and no deadline is pending");
  } else {
    fail(Verdict::lost_wake, lost + " waits for what is there: nobody woke it");
  }
}

// ---- Words

std::string Explorer::describe(const sched::Candidate& fiber, bool waits) {
  struct Words {
    const char* does;
    const char* doing;
    enum { nothing, thing, other } object;
  };
  static constexpr Words kWords[] = {
      {"begins", "nothing yet", Words::nothing},
      {"spawns", "spawning", Words::nothing},
      {"yields", "a yield", Words::nothing},
      {"comes to a checkpoint", "a checkpoint", Words::nothing},
      {"sleeps", "sleeping", Words::nothing},
      {"locks", "locking", Words::thing},
      {"waits on", "waiting on", Words::thing},
      {"parks on", "parking on", Words::thing},
      {"unparks", "unparking", Words::other},
      {"joins", "joining", Words::other},
      {"joins its children", "joining its children", Words::nothing},
      {"cancels", "cancelling", Words::other},
      {"looks at", "looking at", Words::other},
      {"reads", "reading", Words::thing},
      {"uses", "using", Words::thing},
      {"passes a point", "a point", Words::nothing},
      {"ends", "its end", Words::nothing},
  };
  const auto& words = kWords[static_cast<std::size_t>(fiber.op)];
  std::string text;
  if (waits) {
    const char* const name = fiber.fiber->name();
    text = "fiber " + std::to_string(fiber.number);
    if (name != nullptr && *name != '\0')
      text += " \"" + std::string(name) + "\"";
    text += " " + std::string(words.does);
  } else if (fiber.stopped || fiber.op == sched::Op::begin) {
    text = words.does;
  } else {
    text = "goes on after " + std::string(words.doing);
  }
  if (words.object == Words::other && fiber.object == nullptr) {
    text += " nobody";  // by an empty handle
  } else if (words.object == Words::other) {
    const auto& other = *static_cast<const sched::Fiber*>(fiber.object);
    text += " fiber " + std::to_string(simulator().number_of(other));
  } else if (words.object == Words::thing) {
    const auto known =
        objects_.try_emplace(fiber.object, objects_.size() + 1).first;
    text += " #" + std::to_string(known->second);
  }
  return text;
}

}  // namespace weft::detail
