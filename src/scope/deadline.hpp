// deadline.hpp: when a scope is stopped by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "fiber/scope.hpp"
#include "sched/stop.hpp"

namespace weft::scope {

class ScopeDeadline {
 public:
  ScopeDeadline() = default;
  ScopeDeadline(const ScopeDeadline&) = delete;
  ScopeDeadline& operator=(const ScopeDeadline&) = delete;

  // Any thread that keeps the scope from ending. Without memory for its timer
  // the moment counts as passed: a scope that ends too early can be mended by
  // its user, one that never ends cannot.
  void set(fiber::Scope& scope, sched::Scheduler& scheduler,
           std::int64_t when) noexcept {
    if (!arms(scope, scheduler, when)) {
      (void)sched::stop(scope, fiber::Cause::deadline);
    }
  }
  // Whose scope it is, before that ends. Who sets a deadline may still be on
  // the way out when it has passed already.
  void disarm() noexcept {
    if (timeout_.load(relaxed) == nullptr) return;  // who set it came before
    const std::lock_guard guard(lock_);
    timeout_.load(relaxed)->disarm();  // the lock's
  }

 private:
  // False: it has passed, or there is no memory. Under the lock nobody is
  // stopped and no fiber enqueued: that takes other locks, and time. Arming
  // takes the heap's lock and may wake a worker, which never comes back here.
  bool arms(fiber::Scope& scope, sched::Scheduler& scheduler,
            std::int64_t when) noexcept {
    const bool passed = when <= time::now();
    const std::lock_guard guard(lock_);
    auto* timeout = timeout_.load(relaxed);  // the lock's
    if (timeout == nullptr) {
      timeout = ::new (static_cast<void*>(place_)) fiber::Timeout(scope);
      timeout_.store(timeout, relaxed);  // the same
    }
    timeout->disarm();
    scope.set_deadline(when);
    if (passed || when == time::kNever) return !passed;
    return sched::arm(scheduler, *timeout, when);
  }

  base::SpinLock lock_;
  Atomic<fiber::Timeout*> timeout_{nullptr};  // made under lock_, when wanted
  alignas(fiber::Timeout) std::byte place_[sizeof(fiber::Timeout)];
};

}  // namespace weft::scope
