#include "scope/timed_body.hpp"

#include "time/clock.hpp"
#include <weft/cancel.hpp>

namespace weft::scope {

namespace {

using detail::BodyOps;
using detail::Outcome;
using fiber::Extras;
using fiber::Fiber;

Extras& extras_of(Fiber& fiber) noexcept {
  return *fiber.extras.load(relaxed);  // its own, or its spawner's
}

// The frame has its body again: whatever looks at it later is meant for that.
const BodyOps& restore(Fiber& fiber) noexcept {
  fiber.body = extras_of(fiber).timed_body;
  return *fiber.body;
}

// Its innermost scope is the one that has the deadline.
class InTime {
 public:
  explicit InTime(Fiber& self) noexcept : extras_(extras_of(self)) {
    extras_.timed_scope = self.scope;
  }
  InTime(const InTime&) = delete;
  InTime& operator=(const InTime&) = delete;
  ~InTime() { extras_.timed_scope = nullptr; }

 private:
  Extras& extras_;
};

Outcome run(void* storage) {
  auto& self = Fiber::of_storage(storage);
  const BodyOps& body = restore(self);
  const CancelScope scope(time::deadline(extras_of(self).deadline));
  const InTime in_time(self);
  if (!scope.timed_out()) return body.run(storage);
  self.skip_body = true;
  body.drop_closure(storage);
  self.set_error(Errc::timed_out);
  return Outcome::error;
}

void drop_closure(void* storage) noexcept {
  restore(Fiber::of_storage(storage)).drop_closure(storage);
}

constexpr BodyOps kTimed{&run, &drop_closure, nullptr};

}  // namespace

bool set_deadline(Fiber& child, Deadline deadline) noexcept {
  if (deadline == Deadline::never()) return true;
  Extras* const extras = child.make_extras();
  if (extras == nullptr) return false;
  extras->deadline = time::nanoseconds(deadline);
  return true;
}

void watch_deadline(Fiber& child) noexcept {
  auto& extras = extras_of(child);
  if (extras.deadline == time::kNever) return;
  extras.timed_body = child.body;
  child.body = &kTimed;
}

}  // namespace weft::scope
