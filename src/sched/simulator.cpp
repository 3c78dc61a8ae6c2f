#include "sched/simulator.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "sched/dispatch.hpp"
#include "sched/scheduler.hpp"
#include "time/clock.hpp"

namespace weft::sched {

void SeededChooser::stuck() noexcept {
  WEFT_CHECK(false,
             "deadlock: every fiber of the deterministic runtime waits, and no "
             "deadline is pending");
}

Simulator::Simulator(Scheduler& scheduler, Chooser& chooser) noexcept
    : scheduler_(scheduler), chooser_(&chooser) {
  Carrier& thread = carrier();
  WEFT_CHECK(thread.simulator == nullptr,
             "a thread has one deterministic runtime at a time");
  thread.simulator = this;
  stopped_.resize(scheduler.worker_count());
  for (auto& worker : scheduler.workers) worker->simulate(*this);
  time::set_virtual_now(&now_);
}

Simulator::~Simulator() {
  carrier().simulator = nullptr;
  time::set_virtual_now(nullptr);
}

Simulator* Simulator::here() noexcept {
  const Carrier* thread = carrier_or_null();
  return thread != nullptr ? thread->simulator : nullptr;
}

void Simulator::restart(Chooser& chooser) noexcept {
  chooser_ = &chooser;
  now_ = kEpoch;
  order_hash_ = steps_ = 0;
  numbers_.clear();
  gave_up_ = false;
}

// What became runnable, in a fixed order: by worker, then by queue.
void Simulator::collect() noexcept {
  for (auto& worker : scheduler_.workers) {
    worker->give_all([this](Fiber& fiber) { runnable_.push_back(&fiber); });
  }
  while (Fiber* fiber = scheduler_.global.take().item) {
    runnable_.push_back(fiber);
  }
}

// Ids go on over restarts; these do not.
std::uint64_t Simulator::number_of(const Fiber& fiber) {
  const auto id = fiber.id.load(relaxed);  // it runs or waits: it has one
  return numbers_.try_emplace(id, numbers_.size() + 1).first->second;
}

// Those stopped go on where they are; the others need a worker that is free.
void Simulator::find_candidates(bool patient) noexcept {
  candidates_.clear();
  Worker* free = nullptr;
  for (std::size_t i = stopped_.size(); i-- > 0;) {
    if (stopped_[i] == nullptr) free = scheduler_.workers[i].get();
  }
  for (std::size_t i = 0; i < stopped_.size(); ++i) {
    if (stopped_[i] == nullptr) continue;
    candidates_.push_back({stopped_[i], scheduler_.workers[i].get(), true,
                           number_of(*stopped_[i])});
  }
  for (Fiber* fiber : runnable_) {
    if (!patient && std::ranges::find(patient_, fiber) != patient_.end()) {
      continue;
    }
    Worker* const worker = fiber->pins == 0 ? free
                           : stopped_[fiber->home] == nullptr
                               ? scheduler_.workers[fiber->home].get()
                               : nullptr;
    if (worker == nullptr) continue;
    candidates_.push_back({fiber, worker, false, number_of(*fiber)});
  }
}

// False: nobody can go on, now or later.
bool Simulator::step(std::int64_t until) noexcept {
  collect();
  find_candidates(false);
  if (candidates_.empty()) find_candidates(true);
  if (candidates_.empty()) return pass_time(until);
  const auto index =
      candidates_.size() == 1 ? 0 : chooser_->choose(candidates_);
  const Candidate chosen = candidates_[index];
  ++steps_;
  const auto what = (chosen.number << 16) + chosen.worker->id() * 2 +
                    (chosen.stopped ? 1 : 0);
  order_hash_ = (order_hash_ ^ what) * 0x100000001b3u;
  run(chosen);
  return true;
}

bool Simulator::pass_time(std::int64_t until) noexcept {
  std::int64_t next = until;
  for (const auto& worker : scheduler_.workers) {
    next = std::min(next, worker->queues.timers.next_deadline());
  }
  if (next == time::kNever) return false;
  now_ = std::max(now_, next);
  for (auto& worker : scheduler_.workers) worker->simulate_timers(now_);
  return true;
}

void Simulator::run(const Candidate& chosen) noexcept {
  Worker& worker = *chosen.worker;
  if (chosen.stopped) {
    stopped_[worker.index()] = nullptr;
  } else {
    std::erase(runnable_, chosen.fiber);
    std::erase(patient_, chosen.fiber);
  }
  Carrier* const thread = weft_tls_carrier;
  weft_tls_carrier = &worker;
  stopped_[worker.index()] =
      worker.simulate_step(*chosen.fiber, chosen.stopped);
  weft_tls_carrier = thread;
}

void Simulator::pass() noexcept {
  Worker& here = this_worker();
  if (here.lock_depth != 0 || !chooser_->stops()) return;
  here.stop_current();
}

void Simulator::yield_to_all() noexcept {
  Worker& here = this_worker();
  check_may_park(here);
  patient_.push_back(here.current);
  here.yield_current();
}

void Simulator::give_up() noexcept {
  WEFT_CHECK(!gave_up_,
             "fibers of a deterministic runtime wait for each other, "
             "cancelled and all");
  gave_up_ = true;
  chooser_->stuck();
  scheduler_.cancel_all();
}

}  // namespace weft::sched
