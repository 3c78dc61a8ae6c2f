#include <new>

#include "base/check.hpp"
#include "sched/interleave.hpp"
#include "sched/scheduler.hpp"
#include "sched/stop.hpp"
#include "scope/deadline.hpp"
#include <weft/cancel.hpp>

namespace weft {

namespace {

using fiber::Cause;
using fiber::Scope;

struct Core final : Scope {
  Core(Kind kind, Deadline deadline) noexcept
      : Scope(kind, sched::carrier().current) {
    if (deadline != Deadline::never()) set_deadline(deadline);
  }
  ~Core() {
    timeout.disarm();
    close();
  }
  void abandon() noexcept override { this->~Core(); }

  void set_deadline(Deadline deadline) noexcept {
    if (deadline == Deadline::never() && Scope::deadline() == time::kNever) {
      return;
    }
    // Whoever sets it: its own runtime watches the clock.
    WEFT_CHECK(!covered()->is_of_thread(),
               "a scope with a deadline on a plain thread: it has no runtime "
               "that watches the clock. Give the deadline to the call that "
               "waits.");
    timeout.set(*this, sched::Scheduler::of(*covered()),
                time::nanoseconds(deadline));
  }

  scope::ScopeDeadline timeout;
};

Core& core_in(std::byte* state) noexcept {
  static_assert(sizeof(Core) <= sizeof(CancelScope));
  return *std::launder(reinterpret_cast<Core*>(state));
}
const Core& core_in(const std::byte* state) noexcept {
  return *std::launder(reinterpret_cast<const Core*>(state));
}
bool has_timed_out(const std::byte* state) noexcept {
  auto& core = core_in(const_cast<std::byte*>(state));  // to stop is no change
  sched::stop_if_due(core);
  return core.cause() == Cause::deadline;
}
void end(std::byte* state) noexcept {
  Core& core = core_in(state);
  core.expect_ended_by(sched::carrier().current);
  core.~Core();
}

}  // namespace

CancelScope::CancelScope(Deadline deadline) noexcept {
  ::new (static_cast<void*>(state_)) Core(Scope::Kind::plain, deadline);
}
CancelScope::~CancelScope() { end(state_); }

void CancelScope::cancel() noexcept {
  auto& core = core_in(state_);
  sched::interleave(sched::Op::signal, &core);
  (void)sched::stop(core, Cause::cancel);
}
bool CancelScope::cancelled() const noexcept {
  return core_in(state_).cause() == Cause::cancel;
}
bool CancelScope::timed_out() const noexcept { return has_timed_out(state_); }
void CancelScope::set_deadline(Deadline deadline) noexcept {
  auto& core = core_in(state_);
  sched::interleave(sched::Op::signal, &core);
  core.set_deadline(deadline);
}

Shield::Shield(Deadline deadline) noexcept {
  ::new (static_cast<void*>(state_)) Core(Scope::Kind::shield, deadline);
}
Shield::~Shield() {
  end(state_);
  sched::carrier().current->word.look_again();  // what was deferred counts now
}
bool Shield::timed_out() const noexcept { return has_timed_out(state_); }

}  // namespace weft
