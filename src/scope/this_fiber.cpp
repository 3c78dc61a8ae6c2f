#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <ostream>

#include "base/check.hpp"
#include "sched/foreign_locks.hpp"
#include "sched/interleave.hpp"
#include "sched/scheduler.hpp"
#include "sched/stop.hpp"
#include "wait/charge.hpp"
#include "wait/wait.hpp"
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

namespace weft {

std::ostream& operator<<(std::ostream& out, FiberId id) {
  return out << '#' << id.value;
}

namespace this_fiber {

using fiber::Fiber;

namespace {

Fiber& self() noexcept { return *sched::carrier().current; }

std::int64_t earliest_deadline(const Fiber& fiber) noexcept {
  auto earliest = time::kNever;
  for (const auto* scope = fiber.scope; scope != nullptr;
       scope = scope->parent()) {
    earliest = std::min(earliest, scope->deadline());
    if (scope->is_shield()) break;
  }
  return earliest;
}

// A fiber that computes may be the only one there is: no worker looks at the
// clock for it.
void stop_what_is_due(const Fiber& fiber) noexcept {
  if (earliest_deadline(fiber) == time::kNever) return;
  const auto now = time::now();
  for (auto* scope = fiber.scope; scope != nullptr; scope = scope->parent()) {
    if (scope->deadline() <= now) {
      (void)sched::stop(*scope, fiber::Cause::deadline);
    }
    if (scope->is_shield()) return;
  }
}

}  // namespace

void yield() noexcept {
  sched::Carrier& here = sched::carrier();
  sched::check_may_park(here);
  if (here.simulator != nullptr) [[unlikely]] {
    here.simulator->yield(here);
  } else if (here.worker != nullptr) {
    sched::check_foreign_locks(0);  // also where nobody else is there to run
    here.worker->yield_current();
  } else {
    ::sched_yield();
  }
}

Status checkpoint() noexcept {
  sched::interleave(sched::Op::checkpoint, nullptr);
  Fiber& fiber = self();
  stop_what_is_due(fiber);
  auto why = sched::stopped_around(fiber);
  if (why == fiber::Stop::none) {
    if (Status paid = waiting::charge(fiber, {}, true); !paid) return paid;
    yield();
    why = sched::stopped_around(fiber);
  }
  return why == fiber::Stop::none ? Status() : Status(to_errc(why));
}

Status sleep_until(Deadline when) noexcept { return waiting::until(when); }
Status sleep_for(Clock::duration delay) noexcept {
  return waiting::until(Deadline::after(delay));
}

bool cancelled() noexcept {
  stop_what_is_due(self());
  return sched::stopped_around(self()) != fiber::Stop::none;
}

Deadline deadline() noexcept {
  return time::deadline(earliest_deadline(self()));
}

FiberId id() noexcept {
  return {self().id.load(relaxed)};  // its own: it does not change
}

std::string_view name() noexcept { return self().name(); }

Status set_name(std::string_view name) noexcept {
  Fiber& fiber = self();
  if (name == fiber.name()) return {};
  const waiting::Price price{0, Resource::memory, Fiber::size_of_name(name)};
  // What it was called before stays readable: a loop of this would take up all
  // memory.
  if (Status paid = waiting::charge(fiber, price, /*may_wait=*/false); !paid) {
    return paid;
  }
  if (fiber.set_name(name)) return {};
  if (fiber.word.is_metered()) waiting::Purse::of(fiber)->take_back(price);
  return Error::out_of(Resource::memory);
}

Priority priority() noexcept { return self().priority(); }

RuntimeRef runtime() noexcept {
  sched::Worker* worker = sched::worker_or_null();
  WEFT_CHECK(worker != nullptr,
             "this_fiber::runtime() on a plain thread: it has no runtime");
  return RuntimeRef(&worker->scheduler());
}

bool is_fiber() noexcept { return sched::worker_or_null() != nullptr; }

Pin::Pin() noexcept {
  sched::Worker* worker = sched::worker_or_null();
  if (worker == nullptr) return;
  Fiber& fiber = *worker->current;
  WEFT_CHECK(fiber.pins != UINT8_MAX, "more than 255 nested pins");
  ++fiber.pins;
  fiber.home = static_cast<std::uint16_t>(worker->index());
}

Pin::~Pin() {
  sched::Worker* worker = sched::worker_or_null();
  if (worker != nullptr) --worker->current->pins;
}

}  // namespace this_fiber

namespace detail {

void* find_local(const void* key) noexcept {
  const auto* extras =
      sched::carrier().current->extras.load(relaxed);  // the fiber's own
  if (extras == nullptr) return nullptr;
  for (const auto* local = extras->locals; local != nullptr;
       local = local->next) {
    if (local->key == key) return local->value;
  }
  return nullptr;
}

void add_local(const void* key, void* value, void (*drop)(void*) noexcept) {
  auto* extras = sched::carrier().current->make_extras();
  auto* local = extras == nullptr
                    ? nullptr
                    : new (std::nothrow)
                          fiber::Local{key, value, drop, extras->locals};
  if (local == nullptr) {
    drop(value);
    throw std::bad_alloc();
  }
  extras->locals = local;
}

}  // namespace detail
}  // namespace weft
