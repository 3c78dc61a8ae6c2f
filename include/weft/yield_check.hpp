// yield_check.hpp: checks in code that does not wait.
//
//   for (weft::LoopCheck check; more(); check.turn()) step();
//   const int answer = WEFT_CALL(compute(question));
//
// A check costs 1 op. A metered fiber pays it (weft/budget.hpp), and if it has
// run out it waits here until it is recharged. Who is not metered pays nothing.
// After Config::yield_interval ops others have a turn: a loop with checks does
// not keep its worker to itself.
//
// weft_enable_yield_checks(target) of CMake has the compiler insert checks into
// every function and loop of a target; these are for doing it by hand.
//
// No check is a cancel point: it cannot report. A fiber that has run out, must
// stop and does not come to a cancel point within another 10'000 ops is given
// up: it ends with `exhausted`, and what is on its stack is not destroyed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/here.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

namespace detail {

// The same as yield_check(), always by a call.
void check_otherwise(std::uint32_t cost) noexcept;

}  // namespace detail

// 1 op, or `cost`.
//   Suspends:  when the turn is over, if others are ready; while there are too
//              few ops left. Never under a SpinLock. Keeps errno.
//   Callers:   fibers; on a plain thread nothing happens.
inline void yield_check(std::uint32_t cost = 1) noexcept {
#if !defined(WEFT_YIELD_CHECKS)  // else a check could come in between
  detail::Here* const here = detail::here_or_null();
  if (here == nullptr) return;
  if (here->ops_left > cost) [[likely]] {
    here->ops_left -= cost;
    return;
  }
#endif
  detail::check_otherwise(cost);
}

// 1 op and so much memory, which is not given back: for what a fiber keeps to
// its end.
//   Suspends:  as yield_check(), and while too little memory is left.
//   Callers:   the same.
void charge_allocation(std::size_t bytes) noexcept;

// 1 op and 1 system call: for who wraps a call of the system that does I/O,
// just before it. No check: it reports.
//
//   if (auto paid = weft::charge_syscall(); !paid) return paid.error();
//   const auto count = ::read(file, buffer, size);
//
//   Suspends:  as yield_check(). A cancel point only while there are too few
//              ops left, so that clean-up can pay in a scope that is stopped.
//   Errors:    exhausted (no system call is granted, or none is left; ops,
//              where it cannot wait for them, as under a SpinLock); cancelled,
//              timed_out, while it waits. Then nothing was paid: do without the
//              call.
//   Callers:   any fiber or thread. Who is not metered is always let through.
Status charge_syscall(Deadline deadline = Deadline::never()) noexcept;

// Counts turns, 1 op each, and charges them in one go: every yield_interval, or
// sooner if the fiber has less left. The destructor charges the rest.
//   Suspends:  turn() and the destructor, as yield_check().
//   Callers:   one fiber or thread.
class [[nodiscard]] LoopCheck {
 public:
  LoopCheck() noexcept : batch_(next_batch()), left_(batch_) {}
  LoopCheck(const LoopCheck&) = delete;
  LoopCheck& operator=(const LoopCheck&) = delete;
  ~LoopCheck() {
    if (batch_ != left_) yield_check(batch_ - left_);
  }

  void turn() noexcept {
    if (--left_ == 0) [[unlikely]]
      charge();
  }

 private:
  static std::uint32_t next_batch() noexcept;
  void charge() noexcept;

  std::uint32_t batch_;
  std::uint32_t left_;
};

}  // namespace weft

#define WEFT_YIELD_CHECK() ::weft::yield_check()
// Before a call: 1 op.
#define WEFT_CALL(call) (::weft::yield_check(), call)
