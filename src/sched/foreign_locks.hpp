// foreign_locks.hpp: std mutexes that a thread holds. Known to programs that
// have weft_mutex_watch (diag/mutex_watch.cpp), in builds with debug checks.
#pragma once

#include <cstddef>

#if defined(WEFT_DEBUG_CHECKS)
extern "C" std::size_t weft_count_foreign_locks() __attribute__((weak));
extern "C" void weft_check_foreign_locks(std::size_t outer)
    __attribute__((weak));
#endif

namespace weft::sched {

// Any thread.
inline std::size_t count_foreign_locks() noexcept {
#if defined(WEFT_DEBUG_CHECKS)
  if (weft_count_foreign_locks != nullptr) return weft_count_foreign_locks();
#endif
  return 0;
}

// A fiber about to leave its worker. Dies if it holds one; `outer` are not its.
inline void check_foreign_locks([[maybe_unused]] std::size_t outer) noexcept {
#if defined(WEFT_DEBUG_CHECKS)
  if (weft_check_foreign_locks != nullptr) weft_check_foreign_locks(outer);
#endif
}

}  // namespace weft::sched
