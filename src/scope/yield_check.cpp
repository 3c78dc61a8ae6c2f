#include <algorithm>

#include "sched/scheduler.hpp"
#include "wait/charge.hpp"
#include <weft/yield_check.hpp>

namespace weft {

namespace {

using fiber::Fiber;
using sched::Carrier;

// The fiber that runs on a worker here; nullptr: a worker's loop, or a thread.
Fiber* running_on(const Carrier* here) noexcept {
  if (here == nullptr || here->worker == nullptr) return nullptr;
  return here->current;
}

}  // namespace

void detail::check_otherwise(std::uint32_t cost) noexcept {
  Carrier* const here = sched::carrier_or_null();
  Fiber* const self = running_on(here);
  if (self != nullptr && self->word.is_metered()) [[likely]] {
    waiting::charge_ops(*self, cost);
  } else if (here == nullptr || here->current.count(cost)) {
    return;
  } else if (self != nullptr) {
    waiting::pass_turn();
  } else if (here->worker == nullptr) {
    here->current.begin_turn(false);  // there are none
  }
}

void charge_allocation(std::size_t bytes) noexcept {
  Fiber* const self = running_on(sched::carrier_or_null());
  if (self == nullptr || !self->word.is_metered()) return yield_check();
  waiting::charge_or_wait(*self, {1, Resource::memory, bytes});
}

Status charge_syscall(Deadline deadline) noexcept {
  Fiber* const self = running_on(sched::carrier_or_null());
  if (self == nullptr || !self->word.is_metered()) {
    yield_check();
    return {};
  }
  return waiting::charge_or_tell(*self, waiting::kSyscall, deadline);
}

std::uint32_t LoopCheck::next_batch() noexcept {
  constexpr std::uint32_t kOfThreads = 1024;
  const Carrier* const here = sched::carrier_or_null();
  const Fiber* const self = running_on(here);
  if (self == nullptr) return kOfThreads;
  const auto interval = here->worker->scheduler().config().yield_interval;
  if (!self->word.is_metered()) return interval;
  const auto left = waiting::Purse::of(*self)->ledger().left.ops;
  return std::clamp<std::uint32_t>(left, 1, interval);
}

void LoopCheck::charge() noexcept {
  yield_check(batch_);
  batch_ = left_ = next_batch();
}

}  // namespace weft
