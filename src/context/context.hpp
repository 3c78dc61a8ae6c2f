// context.hpp: where a stack left off, and how to go on there.
//
// Invariants (docs/design/context.md says who relies on which)
//   X1  Preserved over a switch: what the ABI has a callee preserve.
//       x86-64: rbx, rbp, r12-r15, rsp, the control bits of MXCSR and x87.
//       aarch64: x19-x28, fp, lr, sp, d8-d15, FPCR.
//       Clobbered: everything else, as over any call. Sticky floating-point
//       flags are not restored.
//   X2  A context is filled by leaving a stack (switch_context) or by
//       prepare(); it is good for one arrival.
//   X3  x86-64: the direction flag is clear on both sides, as the ABI demands.
//       No red zone is live: a switch is a call.
//   X4  Any thread may arrive at a context that another thread left, if it
//       synchronizes with that thread after the leave.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::context {

#if defined(__x86_64__)

struct Context {
  void* sp = nullptr;
  std::uint64_t rbx = 0, rbp = 0, r12 = 0, r13 = 0, r14 = 0, r15 = 0;
  std::uint32_t mxcsr = 0;
  std::uint16_t x87_control = 0;
  std::uint16_t unused = 0;
};
static_assert(offsetof(Context, sp) == 0 && offsetof(Context, rbx) == 8 &&
              offsetof(Context, r15) == 48 && offsetof(Context, mxcsr) == 56 &&
              offsetof(Context, x87_control) == 60);

#elif defined(__aarch64__)

struct Context {
  void* sp = nullptr;
  void* fp = nullptr;
  void* lr = nullptr;  // where to go on; signed if the core can
  std::uint64_t x19 = 0, x20 = 0, x21 = 0, x22 = 0;
  std::uint64_t fpcr = 0;
};
static_assert(offsetof(Context, sp) == 0 && offsetof(Context, lr) == 16 &&
              offsetof(Context, x22) == 48 && offsetof(Context, fpcr) == 56);

struct StackPart {  // at Context::sp: the rest
  std::uint64_t x23, x24, x25, x26, x27, x28;
  std::uint64_t d8, d9, d10, d11, d12, d13, d14, d15;
};
static_assert(sizeof(StackPart) == 112 && offsetof(StackPart, d8) == 48);

#else
#error "weft: no context switch for this architecture (see switch_x86_64.S)"
#endif

static_assert(sizeof(Context) == 64, "a cache line");

using Entry = void (*)(void* argument);

extern "C" {
// Leaves this stack at `from` and goes on at `to`. Returns when somebody
// arrives at `from`, maybe on another thread.
void weft_switch_context(Context* from, Context* to) noexcept;
// Start of every prepared stack; prepare() sets the registers it reads.
void weft_entry_trampoline() noexcept;
}

// The floating-point control bits that X1 preserves.
#if defined(__x86_64__)

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

#else

struct Controls {
  std::uint64_t fpcr = 0;  // the sticky flags are in another register
};
// Those in force on this thread now.
inline Controls current_controls() noexcept {
  Controls controls;
  asm volatile("mrs %0, fpcr" : "=r"(controls.fpcr));
  return controls;
}
// Puts `wanted` in force where `now` is.
inline void change_controls(Controls now, Controls wanted) noexcept {
  if (now.fpcr != wanted.fpcr) [[unlikely]] {
    asm volatile("msr fpcr, %0" : : "r"(wanted.fpcr));
  }
}

#endif

// A context that will call entry(argument) on the stack that ends at `top`
// (64-byte aligned), with these controls, then `cleanup`, which must not
// return.
void prepare(Context& context, std::byte* top, Entry entry, void* argument,
             void (*cleanup)(),
             Controls controls = current_controls()) noexcept;

}  // namespace weft::context
