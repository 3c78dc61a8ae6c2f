// futex_core.hpp: a counter, and those who wait until it has a value.
//
//   bits 1-63  counter
//   bit  0     waiters  somebody is in the queue
//
// Invariants
//   F1  The queue is not empty: waiters is set, or a post is on its way to wake
//       them all. Set under the lock, after a look at the counter in the same
//       word: so a post either came before that look or sees the bit.
//
// Edges
//   [post]  post() -> value(), enter(): what the poster did before.
#pragma once

#include <cstdint>

#include "base/point.hpp"
#include "sync/wait_queue.hpp"

namespace weft::sync {

class FutexCore {
 public:
  constexpr FutexCore() noexcept = default;
  FutexCore(const FutexCore&) = delete;
  FutexCore& operator=(const FutexCore&) = delete;

  // Any thread.
  std::uint64_t value() const noexcept {
    return word_.load(acquire) >> 1;  // [post]
  }

  // Any thread.
  void post() noexcept {
    auto w = word_.load(relaxed);  // the exchange decides
    while ((w & kWaiters) == 0) {
      // [post]; the last touch: who sees it may destroy the futex.
      if (word_.compare_exchange_weak(w, w + kOne, release, relaxed)) return;
    }
    post_and_wake();
  }

  // Any fiber or thread; value() < token. May return ok earlier. Errors:
  // cancelled, timed_out, exhausted (memory).
  Status wait_slow(std::uint64_t token, Deadline deadline) noexcept {
    if (sched::carrier().simulator == nullptr && spin(token)) return {};
    Attempt attempt{*this, token};
    return wait_at(attempt, this, /*shield=*/false, deadline);
  }

  // Whoever destroys it.
  bool unused() noexcept { return is_left(lock_, queue_); }

 private:
#if defined(WEFT_MODEL)
  static constexpr int kSpins = 1;  // enough to see both answers
#else
  static constexpr int kSpins = 16;
#endif
  static constexpr std::uint64_t kWaiters = 1;
  static constexpr std::uint64_t kOne = 2;

  struct Attempt {
    FutexCore& futex;
    std::uint64_t token;
    base::SpinLock& lock = futex.lock_;
    WaitQueue& queue = futex.queue_;

    Entered enter(WaitNode& node, bool /*again*/) noexcept {
      auto w = futex.word_.load(acquire);  // [post]
      do {
        if (w >> 1 >= token) return Entered::done;
        // [post] F1
      } while (!futex.word_.compare_exchange_weak(w, w | kWaiters, acquire,
                                                  acquire));
      queue.push_back(node);
      return Entered::linked;
    }
    void leave(bool /*told*/, Woken& /*woken*/) noexcept {
    }  // a post tells them all
    static bool is_ready(void* it) noexcept {
      const auto& self = *static_cast<const Attempt*>(it);
      return self.futex.value() >= self.token;
    }
  };

  // Nobody waits: the next post may be near.
  bool spin(std::uint64_t token) noexcept {
    for (int i = 0; i < kSpins; ++i) {
      const auto w = word_.load(acquire);  // [post]
      if (w >> 1 >= token) return true;
      if ((w & kWaiters) != 0) return false;
#if !defined(WEFT_MODEL)  // where it would wait for a change
      base::pass(base::Point::spinning);
      pause();
#endif
    }
    return false;
  }

  // Under the lock, where who destroys it comes by.
  void post_and_wake() noexcept {
    Woken woken;
    lock_.lock();
    // [post]; the bit cannot come back meanwhile: F1
    word_.fetch_add(kOne - (word_.load(relaxed) & kWaiters), release);
    queue_.wake_all(Reason::signal, woken);
    lock_.unlock();
  }

  Atomic<std::uint64_t> word_{0};
  base::SpinLock lock_;
  WaitQueue queue_;  // guarded by lock_
};

}  // namespace weft::sync
