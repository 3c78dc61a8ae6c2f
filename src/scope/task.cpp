#include <utility>

#include "fiber/fiber.hpp"
#include "sched/interleave.hpp"
#include "sched/scheduler.hpp"
#include "sched/stop.hpp"
#include "wait/purse.hpp"
#include "wait/wait.hpp"
#include <weft/task.hpp>

namespace weft {

namespace {

using fiber::Fiber;
using fiber::State;

Fiber& fiber_of(detail::Frame* frame) noexcept {
  return *reinterpret_cast<Fiber*>(frame);
}

// Only an address: the nursery may be gone, if the child is.
const fiber::Scope* base_of(const void* nursery) noexcept {
  return static_cast<const fiber::Scope*>(nursery);
}

}  // namespace

FiberId AnyTask::id() const noexcept {
  if (frame_ == nullptr) return {};
  return {fiber_of(frame_).id.load(relaxed)};  // ours: it does not change
}

std::string_view AnyTask::name() const noexcept {
  return frame_ == nullptr ? std::string_view() : fiber_of(frame_).name();
}

Priority AnyTask::priority() const noexcept {
  return frame_ == nullptr ? Priority::normal : fiber_of(frame_).priority();
}

FiberState AnyTask::state() const noexcept {
  if (frame_ == nullptr) return FiberState::completed;
  Fiber& fiber = fiber_of(frame_);
  sched::interleave(sched::Op::look, &fiber);
  switch (fiber.word.state_now()) {
    case State::free:
    case State::reserved:
    case State::fresh:
    case State::queued:
      return FiberState::ready;
    case State::running:
    case State::parking:
      return FiberState::running;
    case State::parked:
    case State::hosting: {
      const auto* const purse = waiting::Purse::of(fiber);
      return purse != nullptr && purse->out_of() != Resource::none
                 ? FiberState::exhausted
                 : FiberState::parked;
    }
    case State::done:
      break;
  }
  return done() && fiber.skip_body ? FiberState::cancelled
                                   : FiberState::completed;
}

Ledger AnyTask::ledger() const noexcept {
  const auto* const purse =
      frame_ == nullptr ? nullptr : waiting::Purse::of(fiber_of(frame_));
  if (purse == nullptr) return {Budget::unlimited(), Budget()};
  return purse->ledger();
}

bool AnyTask::done() const noexcept {
  sched::interleave(sched::Op::look, frame_);
  return frame_ == nullptr || fiber_of(frame_).join.is_done();
}

void AnyTask::cancel() noexcept {
  if (frame_ == nullptr) return;
  Fiber& fiber = fiber_of(frame_);
  sched::interleave(sched::Op::cancel, &fiber);
  sched::cancel(fiber);
}

Status AnyTask::wait(Deadline deadline) noexcept {
  if (frame_ == nullptr) return refused_;
  return waiting::for_end(fiber_of(frame_), base_of(nursery_), deadline);
}

void AnyTask::drop() noexcept {
  Fiber& fiber = fiber_of(std::exchange(frame_, nullptr));
  // The usual `nursery.spawn(f);`: the handle goes before anybody could have
  // started the child.
  sched::Worker* here = sched::worker_or_null();
  if (here != nullptr && here->drop_newest(fiber)) return;
  if (fiber.join.drop()) sched::Scheduler::of(fiber).reclaim(fiber);
}

namespace detail {

namespace {

Ended take_end(Fiber& fiber, bool is_void) noexcept {
  Ended ended{.outcome = fiber.outcome, .storage = fiber.storage.bytes};
  if (ended.outcome == Outcome::error) {
    ended.error = fiber.error();
  } else if (ended.outcome == Outcome::exception || !is_void) {
    return ended;
  }
  fiber.outcome = Outcome::none;  // nothing left to drop
  sched::Scheduler::of(fiber).reclaim(fiber);
  return ended;
}

}  // namespace

Ended await_end(Frame* frame, const void* nursery, Deadline deadline,
                bool is_void) noexcept {
  Fiber& fiber = fiber_of(frame);
  if (Status end = waiting::for_end(fiber, base_of(nursery), deadline); !end) {
    return {.error = end.error()};
  }
  return take_end(fiber, is_void);
}

Ended try_end(Frame* frame, bool is_void) noexcept {
  Fiber& fiber = fiber_of(frame);
  sched::interleave(sched::Op::look, &fiber);
  if (!fiber.join.is_done()) return {.error = Errc::would_block};
  return take_end(fiber, is_void);
}

void await_shielded(AnyTask& task) noexcept {
  if (task.frame_ == nullptr) return;
  waiting::for_end_shielded(fiber_of(task.frame_));
}

void release_emptied(Frame* frame) noexcept {
  Fiber& fiber = fiber_of(frame);
  fiber.outcome = Outcome::none;
  sched::Scheduler::of(fiber).reclaim(fiber);
}

Error Rethrows::exception(Frame* frame) {
  Fiber& fiber = fiber_of(frame);
  auto exception = fiber.exception();
  sched::Scheduler::of(fiber).reclaim(fiber);
  std::rethrow_exception(std::move(exception));
}

Error Rethrows::kept_exception(Frame* frame) {
  std::rethrow_exception(fiber_of(frame).exception());
}

Error Panics::exception(Frame* frame) noexcept {
  Fiber& fiber = fiber_of(frame);
  sched::Scheduler::of(fiber).reclaim(fiber);
  return Errc::panicked;
}

Error Panics::kept_exception(Frame* /*frame*/) noexcept {
  return Errc::panicked;
}

}  // namespace detail
}  // namespace weft
