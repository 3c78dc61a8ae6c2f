#include "sync/wait_queue.hpp"

#include "sched/scheduler.hpp"

namespace weft::sync {

void Woken::enqueue() noexcept {
  if (first_->next == nullptr) return sched::make_runnable(*first_);
  const auto* const here = sched::carrier_or_null();
  const bool deferred = here != nullptr && here->lock_depth != 0;
  Fiber* batch = nullptr;  // oldest first
  for (Fiber* fiber = first_; fiber != nullptr;) {
    Fiber* const rest = fiber->next;
    if (fiber->proxy || deferred) {
      sched::make_runnable(*fiber);
    } else {
      fiber->next = batch;
      batch = fiber;
    }
    fiber = rest;
  }
  Fiber* newest = nullptr;
  while (batch != nullptr) {
    Fiber* const rest = batch->next;
    batch->next = newest;
    newest = batch;
    batch = rest;
  }
  if (newest != nullptr) sched::Scheduler::enqueue_list(newest);
}

}  // namespace weft::sync
