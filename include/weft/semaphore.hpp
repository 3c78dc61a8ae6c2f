// semaphore.hpp: so many at a time.
#pragma once

#include <cstddef>
#include <utility>

#include "weft/detail/storage.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

// Served in the order of arrival.
class Semaphore {
 public:
  // Below zero: so many must be released before the first comes in.
  explicit Semaphore(std::ptrdiff_t permits) noexcept;
  ~Semaphore();  // misuse while somebody waits
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  //   Suspends:  until a permit is there. Always a cancel point.
  //   Errors:    cancelled, timed_out, exhausted (memory for the deadline).
  //   Ordering:  what came before the release() is visible.
  //   Callers:   fibers and threads, as of all below.
  Status acquire(Deadline deadline = Deadline::never());
  //   Suspends:  never. False: there is none.
  [[nodiscard]] bool try_acquire() noexcept;
  // Whoever: a permit has no owner.
  //   Suspends:  never. Misuse: a count below zero.
  void release(std::ptrdiff_t count = 1) noexcept;

  // Gives its permit back when it goes.
  class [[nodiscard]] Permit {
   public:
    Permit(Permit&& other) noexcept
        : semaphore_(std::exchange(other.semaphore_, nullptr)) {}
    Permit& operator=(Permit&&) = delete;
    ~Permit() {
      if (semaphore_ != nullptr) semaphore_->release();
    }

   private:
    friend class Semaphore;
    explicit Permit(Semaphore& semaphore) noexcept : semaphore_(&semaphore) {}
    Semaphore* semaphore_;
  };
  // As acquire().
  Result<Permit> permit(Deadline deadline = Deadline::never()) {
    if (const Status end = acquire(deadline); !end) return end.error();
    return Permit(*this);
  }

 private:
  detail::Storage<24> core_;
};

}  // namespace weft
