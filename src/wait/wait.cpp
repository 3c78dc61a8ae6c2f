#include "wait/wait.hpp"

#include "base/futex.hpp"
#include "sched/interleave.hpp"
#include "sched/worker.hpp"

namespace weft::waiting {

using sched::this_worker;

bool Wait::arm(std::int64_t when) noexcept {
  armed_ = this_worker().arm(self_.timer, when);
  return armed_;
}

Who Wait::park_otherwise(Deadline deadline) noexcept {
  const auto when = time::nanoseconds(deadline);
  if (self_.proxy) return park_thread(when);
  if (deadline != Deadline::never()) {
    polls_ = time::now() >= when;
    if (polls_ || !arm(when)) {
      const auto who = withdraw();
      return polls_ && who == Who::withdrawn ? Who::deadline : who;
    }
  }
  return park_fiber();
}

// Nobody else ever runs on a thread's stack, so the thread itself commits.
Who Wait::park_thread(std::int64_t until) noexcept {
  auto& word = self_.word;
  for (;;) {
    if (word.commit() == fiber::Committed::parked) {
      if (!sched::sleep_as_proxy(self_, until) &&
          word.claim(self_.wait_ticket, Who::deadline) !=
              fiber::Claimed::won_and_owns) {
        // A waker was faster: it owns us, and its wake is on the way.
        (void)sched::sleep_as_proxy(self_, base::kForever);
      }
      word.resume(0);
    }
    if (const auto who = again(); who != Who::open) return who;
  }
}

void Wait::end_timed() noexcept {
  if (armed_) self_.timer.heap->disarm(self_.timer);
}

void Wait::count_poll() noexcept { this_worker().count_as_dispatch(); }

Status outcome(Who who) noexcept {
  switch (who) {
    case Who::deadline:
      return Errc::timed_out;
    case Who::cancelled:
      return to_errc(sched::look(*sched::carrier().current));
    case Who::withdrawn:  // it could not be waited for
      return Error::out_of(Resource::memory);
    default:
      return {};
  }
}

Status refuse_stopped(const Fiber& self) noexcept {
  const auto why = to_errc(stop_of(self));
  // Under a spin lock nobody else may run here.
  if (!self.proxy && sched::carrier().lock_depth == 0) {
    this_worker().count_as_dispatch();
  }
  return why;
}

Status until(Deadline when) noexcept {
  sched::interleave(sched::Op::sleep, nullptr);
  Wait wait;
  if (wait.begin(false) == Begun::cancelled) {
    return refuse_stopped(wait.self());
  }
  const auto who = wait.park(when);
  wait.end();
  return who == Who::deadline ? Status() : outcome(who);
}

}  // namespace weft::waiting
