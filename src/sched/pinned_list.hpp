// pinned_list.hpp: runnable fibers that only one worker may run.
//
// Edges
//   [sleep]  push, then the notifier loads idle || announce, then is_empty().
#pragma once

#include <mutex>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "fiber/fiber.hpp"

namespace weft::sched {

class PinnedList {
 public:
  // Any thread that owns the fiber.
  void push(fiber::Fiber& fiber) noexcept {
    std::lock_guard hold(lock_);
    fiber.next = nullptr;
    if (first_.load(relaxed) == nullptr) {  // guarded by lock_
      first_.store(&fiber, seq_cst);        // [sleep]
    } else {
      last_->next = &fiber;
    }
    last_ = &fiber;
  }
  // Owner only. Oldest first, or nullptr.
  [[nodiscard]] fiber::Fiber* take() noexcept {
    if (is_empty()) return nullptr;
    std::lock_guard hold(lock_);
    fiber::Fiber* taken = first_.load(relaxed);  // guarded by lock_
    first_.store(taken->next, relaxed);          // guarded by lock_
    return taken;
  }
  // Any thread.
  bool is_empty() const noexcept {
    return first_.load(seq_cst) == nullptr;  // [sleep]
  }

 private:
  base::SpinLock lock_;
  Atomic<fiber::Fiber*> first_{nullptr};  // written under lock_
  Plain<fiber::Fiber*> last_ = nullptr;   // guarded by lock_
};

}  // namespace weft::sched
