// futex.hpp: a counter to wait on; the building block without a policy.
//
//   const auto seen = futex.get();
//   if (!condition()) (void)futex.wait(seen + 1);   // and look again
#pragma once

#include <cstdint>

#include "weft/detail/storage.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

class Futex {
 public:
  constexpr Futex() noexcept = default;
  ~Futex();  // misuse while somebody waits
  Futex(const Futex&) = delete;
  Futex& operator=(const Futex&) = delete;

  //   Suspends:  never. Ordering: what came before the post() is visible.
  //   Callers:   fibers and threads, as of all below.
  std::uint64_t get() const noexcept;
  // May return ok before get() >= token: look, and wait again.
  //   Suspends:  until get() >= token, or less. Always a cancel point.
  //   Errors:    cancelled, timed_out, exhausted (memory for the deadline).
  Status wait(std::uint64_t token, Deadline deadline = Deadline::never());
  // For the next post().
  Status wait(Deadline deadline = Deadline::never());
  // Adds one and wakes all who wait.
  //   Suspends:  never. Ordering: what came before is visible to them.
  void post() noexcept;

 private:
  detail::Storage<24> core_;
};

}  // namespace weft
