#include "sync/wait_queue.hpp"

#include "sched/scheduler.hpp"

namespace weft::sync {

void Woken::enqueue() noexcept {
  if (first_->next == nullptr) return sched::make_runnable(*first_);
  const auto* const here = sched::carrier_or_null();
  const bool deferred = here != nullptr && here->lock_depth != 0;
  Fiber* oldest = nullptr;
  while (Fiber* const fiber = first_) {
    first_ = fiber->next;
    fiber->next = oldest;
    oldest = fiber;
  }
  while (Fiber* const fiber = oldest) {
    oldest = fiber->next;
    if (fiber->proxy || deferred) {
      sched::make_runnable(*fiber);
    } else {
      add(fiber);  // newest first again, as the queues want it
    }
  }
  if (first_ != nullptr) sched::Scheduler::enqueue_list(first_);
}

}  // namespace weft::sync
