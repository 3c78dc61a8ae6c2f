#include <sched.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <ostream>

#include "base/check.hpp"
#include "sched/interleave.hpp"
#include "sched/scheduler.hpp"
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

}  // namespace

void yield() noexcept {
  sched::Carrier& here = sched::carrier();
  sched::check_may_park(here);
  if (here.simulator != nullptr) [[unlikely]] {
    here.simulator->yield(here);
  } else if (here.worker != nullptr) {
    here.worker->yield_current();
  } else {
    ::sched_yield();
  }
}

Status checkpoint() noexcept {
  sched::interleave(sched::Op::checkpoint, nullptr);
  if (cancelled()) return Errc::cancelled;
  yield();
  return cancelled() ? Status(Errc::cancelled) : Status();
}

Status sleep_until(Deadline when) noexcept { return waiting::until(when); }
Status sleep_for(Clock::duration delay) noexcept {
  return waiting::until(Deadline::after(delay));
}

bool cancelled() noexcept { return self().word.cancelled(); }

FiberId id() noexcept {
  return {self().id.load(relaxed)};  // its own: it does not change
}

std::string_view name() noexcept { return self().name(); }

Status set_name(std::string_view name) noexcept {
  if (!self().set_name(name)) return Error::out_of(Resource::memory);
  return {};
}

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
