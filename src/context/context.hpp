// context.hpp: where a stack left off, and how to go on there.
//
// Invariants (docs/design/context.md says who relies on which)
//   X1  Preserved over a switch: rbx, rbp, r12-r15, rsp, the control bits of
//       MXCSR and of the x87 unit. Clobbered: everything else, as over any
//       call. Sticky floating-point flags are not restored.
//   X2  A context is filled by leaving a stack (switch_context) or by
//       prepare(); it is good for one arrival.
//   X3  The direction flag is clear on both sides, as the ABI demands. No red
//       zone is live: a switch is a call.
//   X4  Any thread may arrive at a context that another thread left, if it
//       synchronizes with that thread after the leave.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::context {

struct Context {
  void* sp = nullptr;
#if defined(__x86_64__)
  std::uint64_t rbx = 0, rbp = 0, r12 = 0, r13 = 0, r14 = 0, r15 = 0;
  std::uint32_t mxcsr = 0;
  std::uint16_t x87_control = 0;
  std::uint16_t unused = 0;
#else
#error "weft: no context switch for this architecture yet (see switch_x86_64.S)"
#endif
};

static_assert(offsetof(Context, sp) == 0 && offsetof(Context, rbx) == 8 &&
              offsetof(Context, r15) == 48 && offsetof(Context, mxcsr) == 56 &&
              offsetof(Context, x87_control) == 60 && sizeof(Context) == 64);

using Entry = void (*)(void* argument);

extern "C" {
// Leaves this stack at `from` and goes on at `to`. Returns when somebody
// arrives at `from`, maybe on another thread.
void weft_switch_context(Context* from, Context* to) noexcept;
// Start of every prepared stack: entry in r12, argument in r13.
void weft_entry_trampoline() noexcept;
}

// The floating-point control bits that X1 preserves.
struct Controls {
  std::uint32_t mxcsr = 0;
  std::uint16_t x87 = 0;
};
// Those in force on this thread now.
inline Controls current_controls() noexcept {
  Controls controls;
  asm volatile("stmxcsr %0" : "=m"(controls.mxcsr));
  asm volatile("fnstcw %0" : "=m"(controls.x87));
  return controls;
}
// Puts `wanted` in force where `now` is.
inline void change_controls(Controls now, Controls wanted) noexcept {
  constexpr std::uint32_t kControlBits = 0xFFC0;  // the rest are sticky flags
  if (((now.mxcsr ^ wanted.mxcsr) & kControlBits) != 0) [[unlikely]] {
    asm volatile("ldmxcsr %0" : : "m"(wanted.mxcsr));
  }
  if (now.x87 != wanted.x87) [[unlikely]] {
    asm volatile("fldcw %0" : : "m"(wanted.x87));
  }
}

// A context that will call entry(argument) on the stack that ends at `top`
// (64-byte aligned), with these controls, then `cleanup`, which must not
// return.
void prepare(Context& context, std::byte* top, Entry entry, void* argument,
             void (*cleanup)(),
             Controls controls = current_controls()) noexcept;

}  // namespace weft::context
