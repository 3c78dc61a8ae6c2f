#include "sched/simulator.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "sched/dispatch.hpp"
#include "sched/narrator.hpp"
#include "sched/scheduler.hpp"
#include "time/clock.hpp"

namespace weft::sched {

namespace {

bool is_cancel_point(Op op) noexcept {
  return op == Op::checkpoint || op == Op::sleep || op == Op::wait ||
         op == Op::park || op == Op::join || op == Op::send ||
         op == Op::receive || op == Op::select;
}

}  // namespace

void interleave_simulated(Carrier& here, Op op, const void* object) noexcept {
  here.simulator->interleave(here, op, object);
}

void SeededChooser::stuck() noexcept {
  Simulator& simulator = *scheduler_.simulator();
  Narrator narrator(simulator);
  simulator.for_each_waiting([&](const auto& fiber, const auto&) {
    std::fprintf(stderr, "weft: %s\n", narrator.waits(fiber).c_str());
  });
  WEFT_CHECK(false,
             "deadlock: every fiber of the deterministic runtime of seed %llu "
             "waits, and no deadline is pending (its thread may wait for "
             "nothing else); weft::testing::explore() says how it comes to "
             "that",
             static_cast<unsigned long long>(seed_));
}

Candidate Candidates::operator[](std::size_t index) const noexcept {
  if (index < fixed_.size()) {
    return simulator_->describe(*fixed_[index], index < stopped_);
  }
  return simulator_->describe(*ready_[index - fixed_.size()], false);
}

Simulator::Simulator(Scheduler& scheduler, Chooser& chooser)
    : scheduler_(scheduler),
      chooser_(&chooser),
      thread_(&carrier()),
      stopped_(scheduler.worker_count()) {
  candidates_.simulator_ = this;
  thread_->simulate(this);  // nothing fails from here on
  for (auto& worker : scheduler.workers) worker->simulate(*this);
  time::set_virtual_now(&now_);
}

void Simulator::detach() noexcept {
  if (thread_ == nullptr) return;
  WEFT_CHECK(thread_ == carrier_or_null(),
             "a deterministic runtime ends on the thread that started it");
  std::exchange(thread_, nullptr)->simulate(nullptr);
  time::set_virtual_now(nullptr);
}

Simulator* Simulator::here() noexcept {
  const Carrier* thread = carrier_or_null();
  return thread != nullptr ? thread->simulator : nullptr;
}

void Simulator::restart(Chooser& chooser) noexcept {
  chooser_ = &chooser;
  now_ = kEpoch;
  order_hash_ = lots_ = steps_ = polls_ = ticks_ = 0;
  records_.clear();
  names_.clear();
  called_.clear();
  first_number_ = scheduler_.last_number();
}

std::uint64_t Simulator::number_of(const Fiber& fiber) const noexcept {
  // Every simulated spawn counts as one from outside: see prepare_frame().
  const auto id = fiber.id.load(relaxed);  // it runs or waits: it has one
  return id / (scheduler_.worker_count() + 1) - first_number_;
}

Simulator::Record& Simulator::record_of(Fiber& fiber) noexcept {
  const auto number = number_of(fiber);
  if (records_.size() < number) records_.resize(number);
  Record& record = records_[number - 1];
  record.fiber = &fiber;
  return record;
}

// Its frame is still this fiber's.
bool Simulator::is_in_use(std::size_t index) const noexcept {
  const Fiber* const fiber = records_[index].fiber;
  return fiber != nullptr && number_of(*fiber) == index + 1;
}

Simulator::Waiting Simulator::waiting(std::size_t index) const noexcept {
  const Record& record = records_[index];
  if (!is_in_use(index) ||
      record.fiber->word.state_now() != fiber::State::parked) {
    return {nullptr, {}};
  }
  return {record.fiber, record.recheck};
}

std::size_t Simulator::held() const noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) count += is_in_use(i);
  return count;
}

Candidate Simulator::describe(Fiber& fiber, bool stopped) const noexcept {
  Candidate result{.fiber = &fiber, .number = number_of(fiber)};
  result.stopped = stopped;
  if (result.number > records_.size()) return result;
  const Record& record = records_[result.number - 1];
  result.op = record.op;
  result.object = record.object;
  result.yielded = record.yielded;
  return result;
}

// What became runnable, by number: which queue it came through depends on how
// long the queues were made. Answers how many that are.
std::size_t Simulator::collect() noexcept {
  arrived_.clear();
  const auto take = [this](Fiber& fiber) { arrived_.push_back(&fiber); };
  for (auto& worker : scheduler_.workers) worker->give_all(take);
  while (Fiber* fiber = scheduler_.global.take().item) take(*fiber);
  while (Fiber* fiber = scheduler_.ranked.take_high()) take(*fiber);
  while (Fiber* fiber = scheduler_.ranked.take_low()) take(*fiber);
  std::ranges::sort(arrived_, {},
                    [this](Fiber* fiber) { return number_of(*fiber); });
  for (Fiber* fiber : arrived_) {
    auto& list = record_of(*fiber).patient ? patient_
                 : fiber->pins != 0        ? pinned_
                                           : candidates_.ready_;
    list.push_back(fiber);
  }
  return arrived_.size();
}

// Those stopped go on where they are; the others need a worker that is free.
bool Simulator::find_candidates() noexcept {
  auto& fixed = candidates_.fixed_;
  fixed.clear();
  candidates_.any_free_ = false;
  for (Fiber* fiber : stopped_) {
    if (fiber != nullptr) fixed.push_back(fiber);
    if (fiber == nullptr) candidates_.any_free_ = true;
  }
  candidates_.stopped_ = fixed.size();
  for (Fiber* fiber : pinned_) {
    if (stopped_[fiber->home] == nullptr) fixed.push_back(fiber);
  }
  return candidates_.size() != 0;
}

// False: nobody can go on, now or later.
bool Simulator::step(std::int64_t until) noexcept {
  (void)collect();
  if (!find_candidates() && !patient_.empty()) {
    for (Fiber* fiber : std::exchange(patient_, {})) {
      record_of(*fiber).patient = false;
      (fiber->pins != 0 ? pinned_ : candidates_.ready_).push_back(fiber);
    }
    (void)find_candidates();
  }
  const auto count = candidates_.size();
  if (count == 0 || (next_deadline() <= until && next_deadline() > now_ &&
                     next_deadline() != time::kNever &&
                     chooser_->injects(Fault::time_passes, nullptr))) {
    return pass_time(until);
  }
  if (polls_ > kPollsToATick * count) return tick(until);
  run(count == 1 ? 0 : chooser_->choose(candidates_));
  return true;
}

std::int64_t Simulator::next_deadline() const noexcept {
  std::int64_t next = time::kNever;
  for (const auto& worker : scheduler_.workers) {
    next = std::min(next, worker->queues.timers.next_deadline());
  }
  return next;
}

// All who could run do nothing but yield, maybe until some time: a little
// passes, and more from tick to tick.
bool Simulator::tick(std::int64_t until) noexcept {
  constexpr std::uint64_t kMostTicks = 40;  // twelve days
  const auto by = std::int64_t{1'000} << std::min(ticks_, kMostTicks);
  ++ticks_;
  polls_ = 1;
  return pass_time(now_ < time::kNever - by ? std::min(until, now_ + by)
                                            : until);
}

bool Simulator::pass_time(std::int64_t until) noexcept {
  const auto next = std::min(until, next_deadline());
  if (next == time::kNever) return false;
  now_ = std::max(now_, next);
  poll_timers();
  chooser_->went(0, Footprint::of_all());
  return true;
}

void Simulator::poll_timers() noexcept {
  for (auto& worker : scheduler_.workers) worker->simulate_timers(now_);
}

Worker& Simulator::worker_for(const Candidate& chosen) noexcept {
  const auto same = [&chosen](const Fiber* fiber) {
    return fiber == (chosen.stopped ? chosen.fiber : nullptr);
  };
  const auto place =
      !chosen.stopped && chosen.fiber->pins != 0
          ? chosen.fiber->home
          : std::ranges::find_if(stopped_, same) - stopped_.begin();
  return *scheduler_.workers[static_cast<std::size_t>(place)];
}

void Simulator::run(std::size_t index) noexcept {
  const Candidate chosen = candidates_[index];
  const bool crowded = is_crowded();
  Worker& worker = worker_for(chosen);
  if (index >= candidates_.fixed_.size()) {
    auto& ready = candidates_.ready_;
    ready[index - candidates_.fixed_.size()] = ready.back();
    ready.pop_back();
  } else if (!chosen.stopped) {
    std::erase(pinned_, chosen.fiber);
  }
  ++steps_;
  const auto what =
      (chosen.number << 16) + worker.id() * 2u + (chosen.stopped ? 1u : 0u);
  order_hash_ = (order_hash_ ^ what) * 0x100000001b3u;
  chooser_->goes_on(chosen);
  record_of(*chosen.fiber).yielded = 0;
  footprint_.clear();
  if (chosen.stopped) {
    std::swap(footprint_, record_of(*chosen.fiber).next);
  } else {
    footprint_.read(Footprint::of_fiber(chosen.number));
  }
  if (crowded) footprint_.add_all();
  Carrier* const thread = weft_tls_carrier;
  weft_tls_carrier = &worker;
  const auto left = worker.simulate_step(*chosen.fiber, chosen.stopped);
  weft_tls_carrier = thread;
  const bool stopped = left == Worker::Left::stopped;
  stopped_[worker.index()] = stopped ? chosen.fiber : nullptr;
  if (left == Worker::Left::yielded) {
    record_of(*chosen.fiber).yielded = steps_;
  } else if (collect() != 0) {
    footprint_.add_all();  // it woke somebody
  }
  if (is_crowded()) footprint_.add_all();
  const bool polls = left == Worker::Left::yielded ||
                     (stopped && record_of(*chosen.fiber).op == Op::yield);
  polls_ = polls ? polls_ + 1 : 0;
  if (!polls) ticks_ = 0;
  chooser_->went(chosen.number, footprint_);
}

void Simulator::interleave(Carrier& here, Op op, const void* object) noexcept {
  if (here.worker == nullptr) return;  // the thread itself
  note(op, object);
  if (here.lock_depth != 0) {  // goes on with it
    const auto known = names_.size();
    touch(footprint_, op, object);
    // Elsewhere the same thing may have another name.
    if (names_.size() != known) footprint_.add_all();
  } else if (chooser_->stops()) {
    touch(record_of(*here.current).next, op, object);
    here.worker->stop_current();
  }
  if (is_cancel_point(op) &&
      injects(Fault::cancel_at_checkpoint, *here.current)) {
    (void)here.current->word.cancel();  // it runs: nobody has to wake it
    fiber::stops_begun().fetch_add(1, release);  // P5
  }
}

void Simulator::call(const void* object, std::string what) {
  called_.insert_or_assign(object, std::move(what));
}

const std::string* Simulator::what_is(const void* object) const noexcept {
  const auto known = called_.find(object);
  return known != called_.end() ? &known->second : nullptr;
}

Footprint::Name Simulator::name_of(const void* object) {
  return Footprint::of_object(
      names_.try_emplace(object, names_.size()).first->second);
}

void Simulator::touch(Footprint& by, Op op, const void* object) {
  const auto fiber = [this](const void* other) {
    return Footprint::of_fiber(number_of(*static_cast<const Fiber*>(other)));
  };
  by.read(fiber(carrier().current));
  switch (op) {
    case Op::lock:
    case Op::wait:  // it may take what another then waits for
    case Op::send:
    case Op::receive:
    case Op::close:
    case Op::access:
    case Op::join_all:
      by.write(name_of(object));
      break;
    case Op::read:
    case Op::park:
      by.read(name_of(object));
      break;
    case Op::join:
    case Op::look:  // at any moment of the other fiber
      if (object != nullptr) by.write(fiber(object));
      break;
    case Op::end:  // children leave in any order
      by.write(fiber(object));
      by.read(name_of(&static_cast<const Fiber*>(object)->family()));
      break;
    case Op::begin:
      break;
    default:
      by.add_all();
  }
}

// Is there somebody for whom no worker is free? Then every step that takes one
// or gives one back is in somebody's way.
bool Simulator::is_crowded() const noexcept {
  const auto free = std::ranges::count(stopped_, nullptr);
  return candidates_.ready_.size() > static_cast<std::size_t>(free) ||
         !pinned_.empty();
}

// Its thread has nothing else to do meanwhile than to run others, or to wait
// for them.
void Simulator::yield(Carrier& here) noexcept {
  if (here.worker == nullptr) {
    const auto before = steps_;
    (void)step(now_);
    if (steps_ != before || ++polls_ <= kPollsToATick) return;
    if (!pass_time(time::kNever)) (void)tick(time::kNever);
    return;
  }
  interleave(here, Op::yield, nullptr);
  here.worker->yield_current();
}

void Simulator::note(Op op, const void* object, Recheck recheck) noexcept {
  Carrier& here = carrier();
  if (here.worker == nullptr) return;
  Record& record = record_of(*here.current);
  record.op = op;
  record.object = object;
  record.recheck = recheck;
}

void Simulator::yield_to_all() noexcept {
  Worker& here = this_worker();
  check_may_park(here);
  record_of(*here.current).patient = true;
  here.yield_current();
}

void Simulator::stop_for_good() noexcept {
  this_worker().stop_current();
  WEFT_CHECK(false, "a fiber that was stopped for good goes on");
  __builtin_unreachable();
}

}  // namespace weft::sched
