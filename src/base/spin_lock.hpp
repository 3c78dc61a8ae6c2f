// spin_lock.hpp: a lock for a few instructions, inside the runtime.
//
// Edges
//   [lock]  unlock() -> lock(), try_lock(): all that was done under the lock.
#pragma once

#include "base/atomic.hpp"

namespace weft::base {

class SpinLock {
 public:
  // Any thread. Across a switch only by Worker::suspend_locked(): whoever
  // arrives unlocks it, on the same thread.
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      lock_later();
  }
  [[nodiscard]] bool try_lock() noexcept {
    return !held_.exchange(true, acquire);  // [lock]
  }
  void unlock() noexcept {
    held_.store(false, release);  // [lock]
  }

 private:
  static constexpr int kSpins = 64;

  [[gnu::noinline, gnu::cold]] void lock_later() noexcept {
    int round = 0;
    do {
      while (held_.load(relaxed)) {  // only waits; try_lock() decides
        if (++round < kSpins) {
          pause();
        } else {
          yield_cpu();  // the holder may have lost its CPU
        }
      }
    } while (!try_lock());
  }

  Atomic<bool> held_{false};
};

}  // namespace weft::base
