#include "base/check.hpp"
#include "sync/about_to.hpp"
#include "sync/core_in.hpp"
#include "sync/line_cores.hpp"
#include <weft/condition.hpp>

namespace weft {

using sched::Op;
using sync::ConditionCore;
using sync::core_in;

ConditionVariable::~ConditionVariable() {
  WEFT_CHECK(core_in<ConditionCore>(core_).unused(),
             "a ConditionVariable is destroyed while somebody waits for it");
}

// The place in line is taken before the mutex is free: whoever changes what it
// guards finds it.
Status ConditionVariable::wait(std::unique_lock<Mutex>& lock,
                               Deadline deadline) {
  auto& core = core_in<ConditionCore>(core_);
  (void)sync::about_to_wait(Op::wait, this);
  if (!lock.owns_lock()) return Errc::invalid;
  fiber::WaitNode node;
  waiting::Wait wait;
  if (wait.begin(/*shield=*/false) == waiting::Begun::cancelled) {
    return waiting::refuse_stopped(wait.self());
  }
  wait.own(node);
  core.lock.lock();
  core.queue.push_back(node);
  core.lock.unlock();
  lock.unlock();
  if (auto* const simulator = sched::carrier().simulator) [[unlikely]] {
    simulator->note(Op::wait, this);
  }
  const auto who = wait.park(deadline);
  sync::came_back();
  const bool notified = who == fiber::source(0);
  if (!notified) {
    core.lock.lock();
    core.queue.remove(node);
    core.lock.unlock();
  }
  waiting::until_gone(node);
  wait.end();
  lock.lock();
  return waiting::outcome(who);
}

void ConditionVariable::notify_one() noexcept {
  sched::interleave(Op::signal, this);
  auto& core = core_in<ConditionCore>(core_);
  sync::Woken woken;
  const std::lock_guard hold(core.lock);
  (void)core.queue.wake_one(fiber::Reason::signal, woken);
}

void ConditionVariable::notify_all() noexcept {
  sched::interleave(Op::signal, this);
  auto& core = core_in<ConditionCore>(core_);
  sync::Woken woken;
  const std::lock_guard hold(core.lock);
  (void)core.queue.wake_all(fiber::Reason::signal, woken);
}

}  // namespace weft
