#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "fiber/family.hpp"
#include "sched/interleave.hpp"
#include "sched/spawn.hpp"
#include "scope/nursery_core.hpp"
#include "scope/timed_body.hpp"
#include "wait/wait.hpp"
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>

namespace weft {

namespace {

using fiber::Fiber;
using sched::Scheduler;
using scope::core_in;
using Core = scope::NurseryCore;

constexpr NurseryOptions kNoOptions;

// As Config has it.
bool valid_stack(StackSize size) noexcept {
  return size >= StackSize::small &&
         stack::StackPool::valid_size(static_cast<std::size_t>(size));
}
// What a person would want to read of it.
std::string text_of(const fiber::Failure& failure) noexcept {
  if (failure.exception == nullptr) return failure.error.message();
  try {
    std::rethrow_exception(failure.exception);
  } catch (const std::exception& exception) {
    return std::string("uncaught exception: ") + exception.what();
  } catch (...) {
    return "uncaught exception of unknown type";
  }
}
Fiber* fiber_of(detail::Frame* frame) noexcept {
  return reinterpret_cast<Fiber*>(frame);
}
detail::Frame* frame_of(Fiber* fiber) noexcept {
  return reinterpret_cast<detail::Frame*>(fiber);
}

// One without an owner may be ended by anybody, but for who lives in it: that
// one would wait for itself.
void expect_outside(const fiber::Family& family) noexcept {
  if (family.owner() != nullptr) return;
  const auto* around = sched::carrier().current->scope;
  for (; around != nullptr; around = around->parent()) {
    WEFT_CHECK(around != &family,
               "a nursery is joined, or destroyed, by a fiber that lives in "
               "it, and that it would wait for");
  }
}

// As if there were no options.
inline void prepare(Fiber& frame) noexcept {
  frame.stack_pages = 0;
  frame.if_it_fails = 0;
  frame.set_priority(Priority::normal);
}
inline detail::Reserved reserved(Fiber& frame, const Core& core) noexcept {
  return {.frame = frame_of(&frame),
          .storage = frame.storage.bytes,
          .nursery = static_cast<const fiber::Scope*>(&core.family)};
}

}  // namespace

namespace scope {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
NurseryCore& NurseryCore::Members::core() noexcept {
  return *reinterpret_cast<NurseryCore*>(reinterpret_cast<std::byte*>(this) -
                                         offsetof(NurseryCore, family));
}
#pragma GCC diagnostic pop
void NurseryCore::Members::abandon() noexcept {
  auto& whole = core();
  whole.end();
  whole.~NurseryCore();
}
void NurseryCore::Members::take_back(Fiber& child) noexcept {
  core().take_back(child);
}

}  // namespace scope

Nursery::Nursery() noexcept : Nursery(kNoOptions) {}

Nursery::Nursery(const NurseryOptions& options) noexcept
    : Nursery(options, nullptr, nullptr) {}

Nursery::Nursery(const NurseryOptions& options, CapBudget* from,
                 const Budget* pool) noexcept {
  static_assert(sizeof(Core) <= sizeof state_ && alignof(Core) <= 8);
  sched::Carrier* here = sched::carrier_or_null();
  WEFT_CHECK(here != nullptr && here->worker != nullptr,
             "Nursery() needs a fiber around it; on a plain thread use "
             "Nursery(runtime)");
  ::new (static_cast<void*>(state_))
      Core(here->worker->scheduler(), here->current, options, from, pool);
}

Nursery::Nursery(RuntimeRef runtime, const NurseryOptions& options) noexcept
    : Nursery(runtime, options, nullptr, nullptr) {}

Nursery::Nursery(RuntimeRef runtime, const NurseryOptions& options,
                 CapBudget* from, const Budget* pool) noexcept {
  // No owner: any thread may spawn, so every child is counted by everybody.
  ::new (static_cast<void*>(state_))
      Core(*static_cast<Scheduler*>(runtime.scheduler_), nullptr, options, from,
           pool);
}

Nursery::Nursery(ForRoot /*root*/, RuntimeRef runtime) noexcept
    : Nursery(runtime, kNoOptions) {
  auto& core = core_in(state_);
  core.denied = false;
  core.closed.store(false, relaxed);  // nobody knows it yet
}

Nursery::Nursery(Nursery& parent, const NurseryOptions& options) {
  auto& up = core_in(parent.state_);
  auto& core = *::new (static_cast<void*>(state_)) Core(
      up.scheduler, nullptr, options, nullptr, nullptr, &up.family);
  struct Undo {
    Core* core;
    ~Undo() {
      if (core == nullptr) return;
      core->close_pool();
      core->~Core();
    }
  } unless_inside{&core};
  core.be_inside(up);
  unless_inside.core = nullptr;
}

Nursery::~Nursery() {
  auto& core = core_in(state_);
  if (core.family.owner() != nullptr) {  // else anybody, also as it exits
    core.family.expect_ended_by(sched::carrier().current);
  }
  end_children(false);
  core.end();
  const auto& failure = core.family.failure();
  if (failure && !core.is_told(failure)) [[unlikely]] {
    Fiber& self = *sched::carrier().current;
    WEFT_CHECK(!self.proxy,
               "a nursery on a plain thread was destroyed with a failure that "
               "join() has not reported: %s",
               text_of(failure).c_str());
    WEFT_CHECK(self.inherit_failure(failure.error, failure.exception),
               "no memory to keep the failure of a nursery that was not "
               "joined: %s",
               text_of(failure).c_str());
  }
  core.~NurseryCore();
}

void Nursery::end_children(bool went_well) noexcept {
  auto& core = core_in(state_);
  if (core.family.settled()) return;
  expect_outside(core.family);
  if (!went_well) cancel();
  (void)waiting::for_family(core.family, Deadline::never());
}

// What most spawns come to; all else by a call.
detail::Reserved Nursery::reserve(const SpawnOptions* options,
                                  detail::Permit* permit) noexcept {
  auto& core = core_in(state_);
  sched::Worker* const here = sched::worker_or_null();
  if (options != nullptr || permit != nullptr || here == nullptr ||
      &here->scheduler() != &core.scheduler || !core.is_plain() ||
      here->current->word.is_metered()) [[unlikely]] {
    return reserve_otherwise(options, permit);
  }
  Fiber* const frame = core.scheduler.take_frame(*here);
  if (frame == nullptr) [[unlikely]]
    return reserve_otherwise(options, permit);
  prepare(*frame);
  return reserved(*frame, core);
}

[[gnu::noinline]] detail::Reserved Nursery::reserve_otherwise(
    const SpawnOptions* options, detail::Permit* permit) noexcept {
  auto& core = core_in(state_);
  if (core.is_closed()) {
    if (!core.denied) return {.refused = Errc::closed};
    core.scheduler.audit->count(sched::Right::spawn, false);
    return {.refused = Errc::denied};
  }
  if (options != nullptr && options->stack_size != StackSize::automatic &&
      !valid_stack(options->stack_size)) {
    return {.refused = Errc::invalid};
  }
  Fiber* frame = core.scheduler.new_frame();
  if (frame == nullptr) [[unlikely]] {
    return {.refused = core.scheduler.admits() ? Error::out_of(Resource::tasks)
                                               : Error(Errc::closed)};
  }
  prepare(*frame);
  if (core.meters_all || sched::carrier().current->word.is_metered() ||
      (options != nullptr && options->budget) || permit != nullptr)
      [[unlikely]] {
    const Budget* const asked =
        options != nullptr && options->budget ? &*options->budget : nullptr;
    if (Status given = give_purse(frame_of(frame), asked, permit); !given) {
      abandon(frame_of(frame));
      return {.refused = given.error()};
    }
  }
  if (options != nullptr) {
    constexpr std::size_t kPage = 4096;
    const auto bytes = static_cast<std::size_t>(options->stack_size);
    frame->stack_pages =
        static_cast<std::uint32_t>((bytes + kPage - 1) / kPage) & 0xFFFFFF;
    frame->if_it_fails = static_cast<std::uint32_t>(options->on_failure) & 3u;
    frame->set_priority(options->priority);
    const bool named = options->name.empty() || frame->set_name(options->name);
    if (!named || !scope::set_deadline(*frame, options->deadline)) {
      abandon(frame_of(frame));
      return {.refused = Error::out_of(Resource::memory)};
    }
  }
  return reserved(*frame, core);
}

void Nursery::abandon(detail::Frame* frame) noexcept {
  core_in(state_).take_back(*fiber_of(frame));
}

void Nursery::publish(detail::Frame* frame,
                      const detail::BodyOps& ops) noexcept {
  auto& core = core_in(state_);
  Fiber& fiber = *fiber_of(frame);
  fiber.body = &ops;
  if (fiber.has_extras) [[unlikely]] {
    Core::filled(fiber);
    scope::watch_deadline(fiber);
  }
  fiber.scope = &core.family;
  auto& here = sched::carrier();
  core.count_child(here.current);
  core.scheduler.launch(fiber, here.worker);
}

void Nursery::refuse(Error error) noexcept {
  sched::fail(core_in(state_).family, {.error = error});
}

void Nursery::add_closer(detail::Closer* closer) noexcept {
  auto& core = core_in(state_);
  closer->next = std::exchange(core.closers, closer);
}

void Nursery::cancel() noexcept {
  auto& core = core_in(state_);
  sched::interleave(sched::Op::signal, &core.family);
  (void)sched::stop(core.family, fiber::Cause::cancel);
}

bool Nursery::cancelled() const noexcept {
  return core_in(state_).family.cause() == fiber::Cause::cancel;
}

void Nursery::set_deadline(Deadline deadline) noexcept {
  auto& core = core_in(state_);
  sched::interleave(sched::Op::signal, &core.family);
  core.set_deadline(deadline);
}

std::vector<Failure> Nursery::failures() const {
  std::vector<Failure> all;
  core_in(state_).family.for_each_failure([&](const fiber::Failed& one) {
    all.push_back(
        {{one.fiber}, one.name, one.failure.error, one.failure.exception});
  });
  std::reverse(all.begin(), all.end());
  return all;
}

Status Nursery::await_children(Deadline deadline) noexcept {
  auto& core = core_in(state_);
  const Fiber& self = *sched::carrier().current;
  WEFT_CHECK(core.family.owner() == nullptr || core.family.owner() == &self,
             "a nursery is joined by another fiber than the one that made it");
  expect_outside(core.family);
  core.closed.store(true, relaxed);  // see reserve()
  sched::stop_if_due(core.family);
  if (core.family.owner() == &self) core.stop_with_outer(self);
  if (Status end = await_standstill(deadline); !end) {
    if (end.error() == Errc::exhausted) core.stood_still = true;
    return end;
  }
  if (Status end = waiting::for_family(core.family, deadline); !end) return end;
  core.end();
  core.reported = true;
  if (const auto& failure = core.family.failure()) return failure.error;
  switch (core.family.cause()) {
    case fiber::Cause::deadline:
    case fiber::Cause::outer_deadline:
      return Errc::timed_out;
    case fiber::Cause::outer_cancel:
      return Errc::cancelled;
    default:
      return {};
  }
}

std::size_t Nursery::live() const noexcept {
  return static_cast<std::size_t>(core_in(state_).family.count());
}
RuntimeRef Nursery::runtime() const noexcept {
  return RuntimeRef(&core_in(state_).scheduler);
}
std::string_view Nursery::name() const noexcept {
  const auto& core = core_in(state_);
  return {core.name_data, core.name_size};
}

namespace detail {

Error Rethrows::exception(Nursery& nursery) {
  const auto& failure = core_in(nursery.state_).family.failure();
  if (failure.exception != nullptr) std::rethrow_exception(failure.exception);
  throw BadResult(failure.error);
}
Error Panics::exception(Nursery& /*nursery*/) noexcept {
  return Errc::panicked;
}

}  // namespace detail
}  // namespace weft
