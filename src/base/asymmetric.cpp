#include "base/asymmetric.hpp"

#if !defined(WEFT_SYMMETRIC)

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.hpp"

namespace weft::base {

namespace {

bool membarrier(int command) noexcept {
  return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}

bool registered() noexcept {
  // A local static: a heavy side that runs before this file's own
  // initialisation registers too (A1).
  static const bool done =
      membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  return done;
}

}  // namespace

// Initialised dynamically; false until then, which is merely slow (A1).
Atomic<bool> membarrier_registered{registered()};

void heavy_barrier() noexcept {
  if (!registered()) return;
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  // A registration belongs to the address space: a child of fork() may have to
  // repeat it.
  WEFT_CHECK(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
                 membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED),
             "the kernel took membarrier away");
}

}  // namespace weft::base

#endif
