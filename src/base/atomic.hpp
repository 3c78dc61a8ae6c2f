// atomic.hpp: the only door to std::atomic.
//
// Production code names Atomic<T> and the five orders as single words, so that
// a line stays a line, and so that the model build can put its checker here
// (models/checker/): it sees every Atomic and every Plain.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>

#if defined(WEFT_MODEL)
#include "base/model_atomic.hpp"
#endif

namespace weft {

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

#if defined(WEFT_MODEL)
template <typename T>
using Atomic = base::ModelAtomic<T>;
template <typename T>
using Plain = base::ModelPlain<T>;
#else
template <typename T>
using Atomic = std::atomic<T>;
// What several threads use, one at a time: models look for races here.
template <typename T>
using Plain = T;
#endif
// Counts, and what only saves work: not even models look.
template <typename T>
using Tally = std::atomic<T>;

inline constexpr std::size_t kCacheLine = 64;

// Tells the core that this is a spin loop. Any thread.
inline void pause() noexcept {
#if defined(WEFT_MODEL)
  if (auto* seam = base::model_seam()) {
    return seam->pause(base::Site::current());
  }
#endif
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The same where the other thread may have lost its CPU. Any thread.
inline void yield_cpu() noexcept {
#if defined(WEFT_MODEL)
  if (auto* seam = base::model_seam()) {
    return seam->pause(base::Site::current());
  }
#endif
  ::sched_yield();
}

// For what another thread is about to do. Any thread.
template <typename Done>
void spin_until(Done&& done) noexcept {
  constexpr int kSpins = 64;
  for (int round = 0; !done(); ++round) {
    round < kSpins ? pause() : yield_cpu();
  }
}

}  // namespace weft
