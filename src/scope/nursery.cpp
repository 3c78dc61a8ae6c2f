#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "fiber/family.hpp"
#include "sched/scheduler.hpp"
#include "wait/wait.hpp"
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>

namespace weft {

namespace {

using fiber::Fiber;
using sched::Scheduler;

struct Core {
  explicit Core(Scheduler& where, Fiber* owner, std::string_view name) noexcept
      : scheduler(where), name_data(name.data()), family(owner) {
    name_size = static_cast<std::uint32_t>(name.size());
  }

  Scheduler& scheduler;
  const char* name_data;
  fiber::Family family;
  std::uint32_t name_size;
  Atomic<bool> closed{false};  // join() was called; written by the owner
  bool reported = false;       // join() told of the first failure; owner only
};

Core& core_in(std::byte* state) noexcept {
  return *std::launder(reinterpret_cast<Core*>(state));
}
const Core& core_in(const std::byte* state) noexcept {
  return *std::launder(reinterpret_cast<const Core*>(state));
}
// As Config has it.
bool valid_stack(StackSize size) noexcept {
  return size >= StackSize::small &&
         stack::StackPool::valid_size(static_cast<std::size_t>(size));
}
// What a person would want to read of it.
std::string text_of(const fiber::FirstFailure& failure) noexcept {
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

}  // namespace

Nursery::Nursery() noexcept : Nursery(NurseryOptions{}) {}

Nursery::Nursery(NurseryOptions options) noexcept {
  static_assert(sizeof(Core) <= sizeof state_ && alignof(Core) <= 8);
  sched::Carrier* here = sched::carrier_or_null();
  WEFT_CHECK(here != nullptr && here->worker != nullptr,
             "Nursery() needs a fiber around it; on a plain thread use "
             "Nursery(runtime)");
  ::new (static_cast<void*>(state_))
      Core(here->worker->scheduler(), here->current, options.name);
}

Nursery::Nursery(RuntimeRef runtime, NurseryOptions options) noexcept {
  // No owner: any thread may spawn, so every child is counted by everybody.
  ::new (static_cast<void*>(state_))
      Core(*static_cast<Scheduler*>(runtime.scheduler_), nullptr, options.name);
}

Nursery::~Nursery() {
  auto& core = core_in(state_);
  if (!core.family.settled()) {
    (void)waiting::for_family(core.family, Deadline::never());
  }
  const auto& failure = core.family.failure();
  if (failure && !core.reported) [[unlikely]] {
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
  core.~Core();
}

detail::Reserved Nursery::reserve(const SpawnOptions* options) noexcept {
  auto& core = core_in(state_);
  if (core.closed.load(relaxed)) {  // a child's spawn may race
    return {.refused = Errc::closed};
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
  frame->stack_pages = 0;
  if (options != nullptr) {
    constexpr std::size_t kPage = 4096;
    const auto bytes = static_cast<std::size_t>(options->stack_size);
    frame->stack_pages =
        static_cast<std::uint32_t>((bytes + kPage - 1) / kPage);
    if (!options->name.empty() && !frame->set_name(options->name)) {
      abandon(frame_of(frame));
      return {.refused = Error::out_of(Resource::memory)};
    }
  }
  return {.frame = frame_of(frame), .storage = frame->storage.bytes};
}

void Nursery::abandon(detail::Frame* frame) noexcept {
  Fiber& fiber = *fiber_of(frame);
  if (fiber.has_extras) fiber.drop_extras();
  core_in(state_).scheduler.abandon_frame(fiber);
}

void Nursery::publish(detail::Frame* frame,
                      const detail::BodyOps& ops) noexcept {
  auto& core = core_in(state_);
  Fiber& fiber = *fiber_of(frame);
  fiber.body = &ops;
  fiber.family = &core.family;
  core.family.enter(sched::carrier().current);
  core.scheduler.launch(fiber);
}

void Nursery::refuse(Error error) noexcept {
  core_in(state_).family.fail(error, nullptr);
}

Status Nursery::await_children(Deadline deadline) noexcept {
  auto& core = core_in(state_);
  const Fiber& self = *sched::carrier().current;
  WEFT_CHECK(core.family.owner() == nullptr || core.family.owner() == &self,
             "a nursery is joined by another fiber than the one that made it");
  core.closed.store(true, relaxed);  // see reserve()
  if (Status end = waiting::for_family(core.family, deadline); !end) return end;
  core.reported = true;
  const auto& failure = core.family.failure();
  return failure ? Status(failure.error) : Status();
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
