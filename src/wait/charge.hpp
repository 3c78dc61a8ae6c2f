// charge.hpp: what operations cost a fiber that is metered.
//
// Others pay nothing, and are asked by one bit of their control word. Headers
// that go ahead without a call test it together with the cancel bit.
#pragma once

#include <cstdint>

#include "fiber/fiber.hpp"
#include "sched/carrier.hpp"
#include "wait/purse.hpp"
#include <weft/result.hpp>
#include <weft/time.hpp>

namespace weft::waiting {

// Sends, receives and what else a channel does.
inline constexpr Price kChannelOp{1, Resource::channel_ops, 1};
// A call of the system that does I/O.
inline constexpr Price kSyscall{1, Resource::syscalls, 1};

// What is at hand is not enough.
[[nodiscard]] Status charge_short(Fiber& self, const Price& price,
                                  bool may_wait, Deadline deadline) noexcept;

// The fiber itself, before it does what costs so much. Waits for ops and memory
// if it may and they are short, until the deadline. Errors: exhausted; if it
// may wait: cancelled, timed_out. Then nothing was taken.
[[nodiscard]] inline Status charge(
    Fiber& self, const Price& price, bool may_wait,
    Deadline deadline = Deadline::never()) noexcept {
  if (!self.word.is_metered()) [[likely]]
    return {};
  if (Purse::of(self)->take(price)) [[likely]]
    return {};
  return charge_short(self, price, may_wait, deadline);
}

// The fiber itself: the ops of its turn are spent. Others have theirs, if it
// can leave its stack here; else at its next check.
void pass_turn() noexcept;

// As charge() where no error can be told, of code that does not wait. Who must
// stop meanwhile may go on for a little, and is given up if it does not come to
// a cancel point then. Where it cannot leave its stack it pays if it can.
void charge_or_wait(Fiber& self, const Price& price) noexcept;
// The same where an error can be told: exhausted; while it waits for ops or
// memory also cancelled, timed_out. Then nothing was taken.
[[nodiscard]] Status charge_or_tell(Fiber& self, const Price& price,
                                    Deadline deadline) noexcept;
inline void charge_ops(Fiber& self, std::uint32_t ops) noexcept {
  if (!Purse::of(self)->take(Price{ops})) [[unlikely]]
    return charge_or_wait(self, Price{ops});
  if (!sched::carrier().current.count_metered(ops)) [[unlikely]]
    pass_turn();
}

}  // namespace weft::waiting
