// latch.cpp: the public face of what counts.

#include "base/check.hpp"
#include "sync/about_to.hpp"
#include "sync/core_in.hpp"
#include "sync/line_cores.hpp"
#include <weft/latch.hpp>
#include <weft/semaphore.hpp>

namespace weft {

using sched::Op;
using sync::BarrierCore;
using sync::core_in;
using sync::CountCore;
using sync::make_core;
using sync::OnceCore;
using sync::SemaphoreCore;

namespace {

constexpr const char* kAwaited = "%s is destroyed while somebody waits for it";

}  // namespace

Semaphore::Semaphore(std::ptrdiff_t permits) noexcept {
  make_core<SemaphoreCore>(core_, permits);
}

Semaphore::~Semaphore() {
  WEFT_CHECK(core_in<SemaphoreCore>(core_).unused(), kAwaited, "a Semaphore");
}

Status Semaphore::acquire(Deadline deadline) {
  if (const auto end = sync::cancel_point(this); !end) return end;
  auto& core = core_in<SemaphoreCore>(core_);
  return core.try_take() ? Status() : core.wait(deadline);
}

bool Semaphore::try_acquire() noexcept {
  sched::interleave(Op::lock, this);
  return core_in<SemaphoreCore>(core_).try_take();
}

void Semaphore::release(std::ptrdiff_t count) noexcept {
  WEFT_CHECK(count >= 0, "a Semaphore is to release %td permits", count);
  sched::interleave(Op::signal, this);
  WEFT_CHECK(core_in<SemaphoreCore>(core_).release(count),
             "a Semaphore is to release %td permits more than it can count",
             count);
}

Latch::Latch(std::ptrdiff_t count) noexcept {
  WEFT_CHECK(count >= 0, "a Latch counts down from %td", count);
  make_core<CountCore>(core_, count);
}

Latch::~Latch() {
  WEFT_CHECK(core_in<CountCore>(core_).unused(), kAwaited, "a Latch");
}

void Latch::count_down(std::ptrdiff_t by) noexcept {
  sched::interleave(Op::signal, this);
  WEFT_CHECK(by >= 0 && core_in<CountCore>(core_).add(-by),
             "a Latch is counted down by %td, to below zero", by);
}

bool Latch::try_wait() const noexcept {
  sched::interleave(Op::read, this);
  return core_in<CountCore>(core_).is_zero();
}

Status Latch::wait(Deadline deadline) {
  if (const auto end = sync::cancel_point(this); !end) return end;
  return core_in<CountCore>(core_).wait(deadline);
}

Status Latch::arrive_and_wait(Deadline deadline) {
  count_down();
  return wait(deadline);
}

WaitGroup::WaitGroup() noexcept { make_core<CountCore>(core_, 0); }

WaitGroup::~WaitGroup() {
  WEFT_CHECK(core_in<CountCore>(core_).unused(), kAwaited, "a WaitGroup");
}

void WaitGroup::add(std::ptrdiff_t count) noexcept {
  sched::interleave(Op::signal, this);
  WEFT_CHECK(core_in<CountCore>(core_).add(count),
             "a WaitGroup has more done() than add(), or more than it can "
             "count");
}

void WaitGroup::done() noexcept { add(-1); }

Status WaitGroup::wait(Deadline deadline) {
  if (const auto end = sync::cancel_point(this); !end) return end;
  return core_in<CountCore>(core_).wait(deadline);
}

Barrier::Barrier(std::ptrdiff_t parties) noexcept {
  WEFT_CHECK(parties > 0, "a Barrier for %td parties", parties);
  make_core<BarrierCore>(core_, parties);
}

Barrier::~Barrier() {
  WEFT_CHECK(core_in<BarrierCore>(core_).unused(), kAwaited, "a Barrier");
}

Result<bool> Barrier::arrive_and_wait(Deadline deadline) {
  if (const auto end = sync::cancel_point(this); !end) return end.error();
  return core_in<BarrierCore>(core_).arrive_and_wait(deadline);
}

void Barrier::arrive_and_drop() noexcept {
  sched::interleave(Op::signal, this);
  WEFT_CHECK(core_in<BarrierCore>(core_).drop(),
             "a Barrier has no party left to drop");
}

Once::~Once() {
  WEFT_CHECK(core_in<OnceCore>(core_).unused(), kAwaited, "a Once");
}

bool Once::done() const noexcept {
  sched::interleave(Op::read, this);
  return core_in<OnceCore>(core_).is_done();
}

Result<bool> Once::begin(Deadline deadline) {
  if (const auto end = sync::cancel_point(this); !end) return end.error();
  return core_in<OnceCore>(core_).begin(deadline);
}

void Once::end(bool succeeded) noexcept {
  sched::interleave(Op::signal, this);
  core_in<OnceCore>(core_).end(succeeded);
}

}  // namespace weft
