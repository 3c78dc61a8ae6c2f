#include "base/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace weft::base {

void futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                std::int64_t until) noexcept {
#if defined(WEFT_MODEL)
  if (auto* seam = model_seam()) {
    return seam->futex_wait(word.word(), expected, until != kForever);
  }
#endif
  constexpr std::int64_t kSecond = 1'000'000'000;
  timespec limit{};
  if (until < 0) until = 0;  // long past: the kernel refuses negative times
  limit.tv_sec = until / kSecond;
  limit.tv_nsec = until % kSecond;
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected,
            until == kForever ? nullptr : &limit, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(Atomic<std::uint32_t>& word, int count) noexcept {
#if defined(WEFT_MODEL)
  if (auto* seam = model_seam()) return seam->futex_wake(word.word(), count);
#endif
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace weft::base
