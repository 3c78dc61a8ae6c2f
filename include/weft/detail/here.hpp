// detail/here.hpp: who runs here, for what is worth no call.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::detail {

// What the library keeps for an OS thread begins so.
struct Here {
  // Whom a lock belongs to that is taken here: the address of the fiber
  // running, or of the thread's own. 0: the library must be asked.
  std::uintptr_t locker;
  // So many operations may still be done here without asking it.
  std::uint32_t credit;
  // So many ops of checked code, less one, may pass before it must be asked; 0:
  // each.
  std::uint32_t ops_left;
};

// Where the library's fiber has its control word, and in it the bits for which
// the library must be asked: it shall look whether it must stop; it must pay.
inline constexpr std::uintptr_t kControlWord = 64;
inline constexpr std::uint64_t kCancel = 1u << 5;
inline constexpr std::uint64_t kMetered = 1u << 23;

// Must the fiber at this address ask first? It asks itself.
inline bool must_ask(std::uintptr_t fiber) noexcept {
  const auto* const word =
      reinterpret_cast<const std::atomic<std::uint64_t>*>(fiber + kControlWord);
  return (word->load(std::memory_order_relaxed) & (kCancel | kMetered)) != 0;
}

// Any thread. nullptr: a plain thread that weft has not met yet. The compiler
// can neither hoist it over a switch nor keep it: a fiber may be on another
// thread after each call that suspends. In files with WEFT_YIELD_CHECKS that is
// at every step, so what is inline there does not go ahead by it.
inline Here* here_or_null() noexcept {
  Here* here;
#if defined(__x86_64__)
  asm volatile(
      "movq weft_tls_carrier@gottpoff(%%rip), %0\n\t"
      "movq %%fs:(%0), %0"
      : "=r"(here));
#elif defined(__aarch64__)
  std::uint64_t offset;
  asm volatile(
      "adrp %1, :gottprel:weft_tls_carrier\n\t"
      "ldr %1, [%1, :gottprel_lo12:weft_tls_carrier]\n\t"
      "mrs %0, tpidr_el0\n\t"
      "ldr %0, [%0, %1]"
      : "=&r"(here), "=&r"(offset));
#else
#error "weft: no thread-local accessor for this architecture"
#endif
  return here;
}

}  // namespace weft::detail
