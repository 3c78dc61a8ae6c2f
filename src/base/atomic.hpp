// atomic.hpp: the only door to std::atomic.
//
// Production code names Atomic<T> and the five orders as single words, so that
// a line stays a line, and so that the model build can put its checker here.
#pragma once

#include <atomic>
#include <cstddef>

namespace weft {

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

template <typename T>
using Atomic = std::atomic<T>;

inline constexpr std::size_t kCacheLine = 64;

// Tells the core that this is a spin loop. Any thread.
inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace weft
