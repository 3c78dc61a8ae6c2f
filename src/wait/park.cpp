#include "wait/park.hpp"

#include "base/futex.hpp"
#include "fiber/fiber.hpp"
#include "sched/simulator.hpp"
#include "sched/worker.hpp"
#include "wait/wait.hpp"

namespace weft::waiting {

using fiber::Begun;
using fiber::Fiber;

namespace {

struct Flag {
  const Atomic<std::uint32_t>* flag;
  std::uint32_t expected;

  static bool differs(void* it) noexcept {
    const auto& self = *static_cast<const Flag*>(it);
    return self.flag->load(relaxed) != self.expected;  // nobody runs meanwhile
  }
};

// From here on an unpark finds the word parking: the commit fails, or it finds
// it parked. No second look at the flag is needed.
void park_on(const Atomic<std::uint32_t>& flag, std::uint32_t expected,
             Fiber& self) noexcept {
  Flag waited_for{&flag, expected};
  if (auto* const simulator = sched::carrier().simulator) [[unlikely]] {
    simulator->note(sched::Op::park, &flag, {&Flag::differs, &waited_for});
  }
  if (!self.proxy) {
    sched::suspend_current();
  } else if (self.word.commit() == fiber::Committed::parked) {
    (void)sched::sleep_as_proxy(self, base::kForever);
    self.word.resume(0);
  }
  self.word.end_park();
}

}  // namespace

ParkHandle park_handle() noexcept {
  Fiber& self = *sched::carrier().current;
  return {&self, self.id.load(relaxed)};  // its own: it does not change
}

Status park_if(const Atomic<std::uint32_t>& flag,
               std::uint32_t expected) noexcept {
  auto& here = sched::carrier();
  sched::check_may_park(here);
  sched::interleave(here, sched::Op::park, &flag);
  if (flag.load(acquire) != expected) return {};  // the caller's own edge
  Fiber& self = *here.current;
  auto begun = self.word.begin_park(++self.wait_ticket);
  while (begun == Begun::cancelled) {
    if (must_stop(self)) return refuse_stopped(self);
    begun = self.word.begin_park(++self.wait_ticket);
  }
  if (begun == Begun::go_on) park_on(flag, expected, self);
  // A stop wakes as an unpark does: who must stop says so at once, unless it
  // was woken for what it waits for.
  if (flag.load(acquire) != expected) return {};  // the caller's own edge
  return must_stop(self) ? refuse_stopped(self) : Status();
}

void unpark(ParkHandle handle) noexcept {
  sched::interleave(sched::Op::unpark, handle.frame);
  // A frame reused between this look and the exchange gets a token for
  // nothing, which every park tolerates.
  if (handle.frame->id.load(relaxed) != handle.id) return;  // see above
  if (handle.frame->word.unpark() == fiber::Unparked::owns) {
    sched::make_runnable(*handle.frame);
  }
}

}  // namespace weft::waiting
