#include "context/context.hpp"

#include "base/check.hpp"

namespace weft::context {

#if defined(__aarch64__)

namespace {

// As weft_switch_context does before it stores one. A hint: does nothing on
// cores without pointer authentication.
void* sign_return_address(void* address, void* sp) noexcept {
  register void* signed_one asm("x17") = address;
  register void* modifier asm("x16") = sp;
  asm("hint #8" : "+r"(signed_one) : "r"(modifier));  // pacia1716
  return signed_one;
}

}  // namespace

#endif

void prepare(Context& context, std::byte* top, Entry entry, void* argument,
             void (*cleanup)(), Controls controls) noexcept {
  WEFT_ASSERT(reinterpret_cast<std::uintptr_t>(top) % 16 == 0, "X2");
#if defined(__x86_64__)
  // From the top: a null return address for cleanup, cleanup, the trampoline.
  auto* slots = reinterpret_cast<void**>(top);
  slots[-1] = nullptr;
  slots[-2] = reinterpret_cast<void*>(cleanup);
  slots[-3] = reinterpret_cast<void*>(&weft_entry_trampoline);
  context.sp = slots - 3;
  context.rbp = 0;
  context.r12 = reinterpret_cast<std::uint64_t>(entry);
  context.r13 = reinterpret_cast<std::uint64_t>(argument);
  context.mxcsr = controls.mxcsr;
  context.x87_control = controls.x87;
#else
  // What the first switch finds in StackPart does not matter.
  context.sp = top - sizeof(StackPart);
  context.fp = nullptr;
  context.lr =
      sign_return_address(reinterpret_cast<void*>(&weft_entry_trampoline), top);
  context.x19 = reinterpret_cast<std::uint64_t>(entry);
  context.x20 = reinterpret_cast<std::uint64_t>(argument);
  context.x21 = reinterpret_cast<std::uint64_t>(cleanup);
  context.fpcr = controls.fpcr;
#endif
}

}  // namespace weft::context
