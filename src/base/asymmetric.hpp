// asymmetric.hpp: a store-then-load pair whose cost one side pays alone.
//
// Two threads that each store their own word and then read the other's need a
// full barrier on both sides, or both may read the old value. Where one side
// runs all day and the other hardly ever, light_store() on the hot side is a
// plain store and heavy_barrier() on the rare side makes every running thread
// of the process pass a barrier (membarrier(2)).
//
//   hot side                          rare side
//   light_store(mine, x);             theirs.store(y, seq_cst);
//   theirs.load(seq_cst);             heavy_barrier();
//                                     mine.load(seq_cst);
//
// Where the kernel refuses membarrier, under ThreadSanitizer and in the model
// build, light_store() is a seq_cst store and heavy_barrier() does nothing. On
// a model's thread the checker decides which of the two it is.
//
// Invariant
//   A1  membarrier_registered is set only if membarrier works, and then every
//       heavy_barrier(), also one before, was a real one. So a hot side that
//       reads a stale false pays more and is still right.
#pragma once

#include "base/atomic.hpp"

#if defined(__SANITIZE_THREAD__)
#define WEFT_SYMMETRIC 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_SYMMETRIC 1
#endif
#endif

namespace weft::base {

#if defined(WEFT_MODEL)

inline bool membarrier_works() noexcept {
  auto* const seam = model_seam();
  return seam != nullptr && seam->has_heavy_barriers();
}
inline void heavy_barrier(Site site = Site::current()) noexcept {
  if (membarrier_works()) model_seam()->heavy_barrier(site);
}

#elif defined(WEFT_SYMMETRIC)

inline bool membarrier_works() noexcept { return false; }
inline void heavy_barrier() noexcept {}

#else

// Set once, before main(), and never again.
extern Atomic<bool> membarrier_registered;

// Any thread. One plain load.
inline bool membarrier_works() noexcept {
  return membarrier_registered.load(relaxed);  // A1
}

// Any thread: between the rare side's store and its loads.
void heavy_barrier() noexcept;

#endif

// Any thread: the hot side's store.
template <typename T>
[[gnu::always_inline]] inline void light_store(Atomic<T>& word,
                                               T value) noexcept {
  if (membarrier_works()) [[likely]] {
    word.store(value, release);     // the pair of the caller's edge
    asm volatile("" ::: "memory");  // the compiler keeps the order as well
  } else {
    word.store(value, seq_cst);  // the pair of the caller's edge
  }
}

}  // namespace weft::base
