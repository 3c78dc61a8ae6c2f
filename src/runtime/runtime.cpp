#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/spin_lock.hpp"
#include "context/sanitizer.hpp"
#include "runtime/config.hpp"
#include "runtime/registry.hpp"
#include "sched/scheduler.hpp"
#include "scope/grant.hpp"
#include "stack/overflow.hpp"
#include "time/clock.hpp"
#include <weft/runtime.hpp>

namespace weft {

using sched::Scheduler;

class detail::RuntimeState {
 public:
  RuntimeState(const Config& config, std::string name)
      : name_(std::move(name)), scheduler(named(config, name_)) {
    runtime::register_scheduler(scheduler);
  }
  ~RuntimeState() { runtime::unregister_scheduler(scheduler); }

 private:
  static Config named(Config config, const std::string& name) {
    config.name = name;  // the caller's may go: ours stays
    return config;
  }
  const std::string name_;

 public:
  Scheduler scheduler;
  Atomic<bool> authority_given{false};
};

namespace {

void check_owner(const Scheduler& scheduler) noexcept {
  const sched::Worker* worker = sched::worker_or_null();
  WEFT_CHECK(worker == nullptr || &worker->scheduler() != &scheduler,
             "a runtime is shut down by one of its own fibers, which would "
             "wait for itself");
}

void stop(Scheduler& scheduler) noexcept {
  scheduler.stop();
  if (scheduler.config().stats_at_exit) scheduler.print_stats(stderr);
}

WorkerStats stats_of(const sched::Counters& c) noexcept {
  return {.dispatched = c.dispatched.get(),
          .spawned = c.spawned.get(),
          .finished = c.finished.get(),
          .parked = c.parked.get(),
          .woken = c.woken.get(),
          .yielded = c.yielded.get(),
          .in_place = c.in_place.get(),
          .handed_over = c.handed_over.get(),
          .stolen = c.stolen.get(),
          .steal_failures = c.steal_failures.get(),
          .sleeps = c.sleeps.get(),
          .timers = c.timers.get()};
}

Guard public_guard(stack::GuardKind kind) noexcept {
  switch (kind) {
    case stack::GuardKind::automatic:
      break;
    case stack::GuardKind::madvise:
      return Guard::madvise;
    case stack::GuardKind::mprotect:
      return Guard::mprotect;
    case stack::GuardKind::canary:
      return Guard::canary;
  }
  return Guard::automatic;
}

const Scheduler& scheduler_in(const void* state) noexcept {
  return *static_cast<const Scheduler*>(state);
}

}  // namespace

unsigned RuntimeRef::worker_count() const noexcept {
  return scheduler_in(scheduler_).worker_count();
}
const Config& RuntimeRef::config() const noexcept {
  return scheduler_in(scheduler_).config();
}
bool RuntimeRef::running() const noexcept {
  return scheduler_in(scheduler_).admits();
}
Guard RuntimeRef::guard() const noexcept {
  return public_guard(scheduler_in(scheduler_).stacks.guard());
}
Stats RuntimeRef::stats() const {
  const auto& scheduler = scheduler_in(scheduler_);
  Stats stats;
  for (const auto& worker : scheduler.workers) {
    stats.workers.push_back(stats_of(worker->counters));
  }
  const auto counts = scheduler.stacks.counts();
  stats.fibers_live = scheduler.live();
  stats.stacks_mapped = counts.mapped;
  stats.stacks_in_use = counts.in_use;
  stats.stack_bytes = counts.reserved_bytes;
  stats.audit = scheduler.audit->read();
  return stats;
}

Result<Runtime> Runtime::start(const Config& config) {
  std::string why;
  if (Status valid = runtime::validate(config, &why); !valid) {
    std::fprintf(stderr, "weft: %s\n", why.c_str());
    return valid.error();
  }
  std::unique_ptr<detail::RuntimeState> state;
  try {
    state = std::make_unique<detail::RuntimeState>(runtime::resolve(config),
                                                   std::string(config.name));
    if (Status started = state->scheduler.start(); !started) {
      return started.error();
    }
  } catch (const std::bad_alloc&) {
    return Error::out_of(Resource::memory);
  }
  if (state->scheduler.config().verbose) {
    const auto& resolved = state->scheduler.config();
    std::fprintf(stderr,
                 "weft: runtime %s: %u workers, stacks of %zu KiB guarded by "
                 "%s, global queue of %zu\n",
                 std::string(resolved.name).c_str(), resolved.workers,
                 state->scheduler.stacks.default_size() >> 10,
                 stack::to_string(state->scheduler.stacks.guard()),
                 resolved.global_queue);
  }
  return Runtime(std::move(state));
}

Runtime::Runtime(std::unique_ptr<detail::RuntimeState> state) noexcept
    : state_(std::move(state)) {}
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&& other) noexcept {
  if (this == &other) return *this;
  Runtime old(std::move(*this));
  state_ = std::move(other.state_);
  return *this;
}

Runtime::~Runtime() {
  if (state_ == nullptr) return;
  (void)shutdown(Deadline::after(state_->scheduler.config().shutdown_timeout));
}

Result<Capabilities> Runtime::authority() noexcept {
  const auto& trail = state_->scheduler.audit;
  const bool first = !state_->authority_given.exchange(true, relaxed);  // once
  if (!trail->count(sched::Right::authority, first)) return Errc::denied;
  auto all = detail::make_authority(trail);
  if (!all) state_->authority_given.store(false, relaxed);  // try again
  return all;
}

Status Runtime::shutdown(Deadline graceful_until) {
  auto& scheduler = state_->scheduler;
  check_owner(scheduler);
  if (scheduler.stopping()) return {};
  const auto until = time::nanoseconds(graceful_until);
  // Twice: who was admitted before the close is waited for as well.
  if (scheduler.wait_until_empty(until)) scheduler.close_admission();
  if (!scheduler.wait_until_empty(until)) {
    std::fprintf(stderr,
                 "weft: %zu fibers still run at shutdown; cancelling them\n",
                 scheduler.live());
    return shutdown_now();
  }
  stop(scheduler);
  return {};
}

Status Runtime::shutdown_now(Deadline deadline) {
  auto& scheduler = state_->scheduler;
  check_owner(scheduler);
  if (scheduler.stopping()) return {};
  scheduler.close_admission();
  // Again and again: a spawn that was admitted before may come up later.
  constexpr std::int64_t kSweep = 10'000'000;
  const auto until = time::nanoseconds(deadline);
  for (;;) {
    scheduler.cancel_all();
    const auto sweep = std::min(until, time::now() + kSweep);
    if (scheduler.wait_until_empty(sweep)) break;
    if (time::now() >= until) return Errc::timed_out;
  }
  stop(scheduler);
  return {};
}

void Runtime::abandon() noexcept {
  auto& scheduler = state_.release()->scheduler;
  runtime::unregister_scheduler(scheduler);
  scheduler.frames.for_each([](fiber::Fiber& frame) {
    if (frame.id.load(relaxed) == 0) return;  // free; nobody else runs
    context::keep_reachable(&frame, sizeof frame);
    if (frame.stack == nullptr) return;
    stack::Stack& its = *frame.stack;
    context::keep_stack_reachable(
        {&its.sanitizer, its.low,
         static_cast<std::size_t>(its.top() - its.low)});
  });
}

RuntimeRef Runtime::ref() const noexcept {
  return RuntimeRef(&state_->scheduler);
}

namespace detail {

int report_error(Error error) noexcept {
  std::fprintf(stderr, "weft: %s\n", error.message().c_str());
  return 1;
}

int report_exception(std::exception_ptr exception) noexcept {
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const std::exception& what) {
    std::fprintf(stderr, "weft: uncaught exception: %s\n", what.what());
  } catch (...) {
    std::fprintf(stderr, "weft: uncaught exception of unknown type\n");
  }
  return 1;
}

}  // namespace detail
}  // namespace weft
