// transition.hpp: the logical states of a fiber and which steps are legal.
//
// The control word is the substrate; this is the contract seen from outside.
// Debug builds check and count every step; release builds do neither.
#pragma once

#include <array>
#include <cstdint>

#include "base/atomic.hpp"

namespace weft::fiber {

enum class Logical : std::uint8_t {
  init,
  runnable,
  running,
  parking,
  parked,
  waking,
  done,
  cancelled,
};
inline constexpr std::size_t kLogicalStates = 8;

enum class Actor : std::uint8_t {
  spawner,  // whoever creates the fiber
  worker,   // the worker that owns it, off its stack
  owner,    // the fiber itself
  waker,    // whoever won the claim
};

// The matrix. parked -> runnable is the fused parked -> waking -> runnable of
// a won claim: legal for a waker, never for the parker.
bool is_legal(Logical from, Logical to, Actor by) noexcept;
const char* to_string(Logical state) noexcept;

// How often each step was taken since the process started; debug builds only.
std::uint64_t transitions_taken(Logical from, Logical to) noexcept;

// Dies if the step is illegal, else counts it.
void check_transition(Logical from, Logical to, Actor by) noexcept;

inline void record([[maybe_unused]] Logical from, [[maybe_unused]] Logical to,
                   [[maybe_unused]] Actor by) noexcept {
#if defined(WEFT_DEBUG_CHECKS)
  check_transition(from, to, by);
#endif
}

}  // namespace weft::fiber
