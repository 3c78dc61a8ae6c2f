#include "context/context.hpp"

#include "base/check.hpp"

namespace weft::context {

void prepare(Context& context, std::byte* top, Entry entry, void* argument,
             void (*cleanup)(), Controls controls) noexcept {
  WEFT_ASSERT(reinterpret_cast<std::uintptr_t>(top) % 16 == 0, "X2");
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
}

}  // namespace weft::context
