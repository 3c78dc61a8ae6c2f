#include "sched/stop.hpp"

#include <memory>
#include <new>

#include "sched/interleave.hpp"
#include "sched/scheduler.hpp"
#include "time/clock.hpp"
#include <weft/nursery.hpp>

namespace weft::sched {

namespace {

unsigned enqueue(Fiber* newest_first) noexcept {
  if (newest_first == nullptr) return 0;
  const bool at_once = carrier().lock_depth == 0;
  unsigned count = 0;
  Fiber* batch = nullptr;
  Fiber* last = nullptr;
  while (newest_first != nullptr) {
    Fiber& fiber = *newest_first;
    newest_first = fiber.next;  // before it is out of our hands
    ++count;
    if (fiber.proxy || !at_once) {
      make_runnable(fiber);
      continue;
    }
    fiber.next = nullptr;
    if (last != nullptr) last->next = &fiber;
    if (batch == nullptr) batch = &fiber;
    last = &fiber;
  }
  if (batch != nullptr) Scheduler::enqueue_list(batch);
  return count;
}

// What Nursery::failures() says of it. nullptr: no memory.
std::unique_ptr<fiber::Failed> told_of(const fiber::Failure& failure,
                                       const Fiber* child) noexcept {
  try {
    auto told = std::make_unique<fiber::Failed>();
    told->failure = failure;
    if (child == nullptr) return told;
    told->fiber = child->id.load(relaxed);  // it has not ended yet
    told->name = child->name();
    return told;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

unsigned stop(fiber::Scope& scope, fiber::Cause why) noexcept {
  return enqueue(scope.stop(why));
}

void stop_if_due(fiber::Scope& scope) noexcept {
  if (scope.deadline() == time::kNever || scope.cause() != fiber::Cause::none ||
      scope.deadline() > time::now()) {
    return;
  }
  (void)stop(scope, fiber::Cause::deadline);
}

void cancel(Fiber& fiber) noexcept { (void)enqueue(fiber::cancel(fiber)); }

void fail(Family& family, const fiber::Failure& failure) noexcept {
  const bool told = family.tells_one_more();
  family.fail(failure, told ? told_of(failure, nullptr) : nullptr);
  if (family.fails_fast()) (void)stop(family, fiber::Cause::failure);
}

void fail(Fiber& child, const fiber::Failure& failure) noexcept {
  const auto rule = static_cast<OnFailure>(child.if_it_fails);
  if (rule == OnFailure::keep) return;
  Family& family = child.family();
  family.fail(failure, told_of(failure, &child));
  if (rule == OnFailure::cancel_siblings ||
      (rule == OnFailure::inherit && family.fails_fast())) {
    (void)stop(family, fiber::Cause::failure);
  }
}

fiber::Stop look(Fiber& self) noexcept {
  Fiber* owned = nullptr;
  const auto why = fiber::look(self, owned);
  (void)enqueue(owned);
  return why;
}

void pass_on(const Fiber& self) noexcept {
  Fiber* owned = nullptr;
  fiber::pass_on(self, owned);
  (void)enqueue(owned);
}

bool arm(Scheduler& scheduler, fiber::Timeout& timeout,
         std::int64_t when) noexcept {
  Worker* const here = worker_or_null();
  if (here != nullptr && &here->scheduler() == &scheduler) {
    if (!here->arm(timeout.node(), when)) return false;
    here->watch_own_deadline();  // the fiber may run on for long
    return true;
  }
  return scheduler.arm(timeout.node(), when);
}

}  // namespace weft::sched
