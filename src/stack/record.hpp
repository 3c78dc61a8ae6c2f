// record.hpp: what is known of one stack, kept at its high end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic.hpp"
#include "stack/guard.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_STACK_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_STACK_ASAN 1
#endif
#endif
#if defined(WEFT_STACK_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace weft::stack {

// The record of one stack, at its high end, so that a parked fiber and the
// record share one page.
struct alignas(kCacheLine) Stack {
  union {
    Stack* next;    // owner only: link in a cache or the pool
    void* listing;  // while leased, owner only: opaque, of whoever runs here
  };
  std::byte* low;           // immutable: lowest usable byte, above the guard
  std::size_t size;         // immutable: usable bytes, those of its class
  Atomic<void*> owner;      // who runs here; others look
  void* sanitizer;          // opaque: the instrumentation's view of the stack
  unsigned leases;          // likewise
  std::uint8_t size_class;  // immutable: index in the pool
  GuardKind guard;          // immutable: never `automatic`
  bool leased;              // owner only: S3
  bool lost;                // nothing runs here again; S5
  Stack* next_batch;        // pool only: in the first stack of each batch
  std::size_t batch_size;   // pool only: likewise

  std::byte* top() noexcept { return reinterpret_cast<std::byte*>(this); }
  const std::byte* top() const noexcept {
    return reinterpret_cast<const std::byte*>(this);
  }

  // Owner only: the stack leaves cache and pool for a fiber.
  void lease() noexcept {
    leased = true;
#if defined(WEFT_STACK_ASAN)
    // The last fiber's entry never returned, so its frames are still marked.
    constexpr std::size_t kEntryFrames = 4096;
    __asan_unpoison_memory_region(top() - kEntryFrames, kEntryFrames);
#endif
  }

  // Any thread. True if the caller's own frame lies on this stack.
  bool carries_caller() const noexcept {
    const auto* here = static_cast<std::byte*>(__builtin_frame_address(0));
    return low <= here && here < top();
  }
};
static_assert(sizeof(Stack) == kCacheLine);

// Any thread; meant for the worker that just left the stack. False: something
// wrote below it. Always true where the guard traps instead.
bool canary_intact(const Stack& stack) noexcept;

}  // namespace weft::stack
