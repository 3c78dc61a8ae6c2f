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

// Those stopped go on where they are; the others need a worker that is free.
void Simulator::find_candidates() noexcept {
  candidates_.clear();
  Worker* free = nullptr;
  for (std::size_t i = stopped_.size(); i-- > 0;) {
    if (stopped_[i] == nullptr) free = scheduler_.workers[i].get();
  }
  for (std::size_t i = 0; i < stopped_.size(); ++i) {
    if (stopped_[i] != nullptr) {
      candidates_.push_back({stopped_[i], scheduler_.workers[i].get(), true});
    }
  }
  for (Fiber* fiber : runnable_) {
    if (fiber->pins == 0) {
      if (free != nullptr) candidates_.push_back({fiber, free, false});
    } else if (stopped_[fiber->home] == nullptr) {
      candidates_.push_back(
          {fiber, scheduler_.workers[fiber->home].get(), false});
    }
  }
}

// False: nobody can go on, now or later.
bool Simulator::step(std::int64_t until) noexcept {
  collect();
  find_candidates();
  if (candidates_.empty()) return pass_time(until);
  const auto index =
      candidates_.size() == 1 ? 0 : chooser_->choose(candidates_);
  const Candidate chosen = candidates_[index];
  ++steps_;
  const auto what = chosen.fiber->id.load(relaxed) * 2 +  // it runs or waits
                    (chosen.stopped ? 1 : 0);
  order_hash_ =
      (order_hash_ ^ what ^ (std::uint64_t{chosen.worker->id()} << 48)) *
      0x100000001b3u;
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

void Simulator::give_up() noexcept {
  WEFT_CHECK(!gave_up_,
             "fibers of a deterministic runtime wait for each other, "
             "cancelled and all");
  gave_up_ = true;
  chooser_->stuck();
  scheduler_.cancel_all();
}

}  // namespace weft::sched
