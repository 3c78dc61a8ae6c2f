#include "sched/scheduler.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/point.hpp"
#include "sched/spawn.hpp"
#include "time/clock.hpp"

namespace weft::sched {

namespace {

stack::GuardKind guard_kind(Guard guard) noexcept {
  switch (guard) {
    case Guard::automatic:
      break;
    case Guard::madvise:
      return stack::GuardKind::madvise;
    case Guard::mprotect:
      return stack::GuardKind::mprotect;
    case Guard::canary:
      return stack::GuardKind::canary;
  }
  return stack::GuardKind::automatic;
}

void introduce_stack(stack::Stack& stack) noexcept {
  context::introduce_stack(stack.sanitizer, stack.low, stack.top());
}
void forget_stack(stack::Stack& stack) noexcept {
  context::abandon_stack(stack.sanitizer);
}

std::size_t stack_bytes(const Config& config) noexcept {
  return config.stack_size == StackSize::automatic
             ? static_cast<std::size_t>(StackSize::standard)
             : static_cast<std::size_t>(config.stack_size);
}

}  // namespace

Scheduler::Scheduler(const Config& config)
    : stacks({.guard = guard_kind(config.guard),
              .default_size = stack_bytes(config),
              .after_map = &introduce_stack,
              .before_unmap = &forget_stack}),
      config_(config),
      default_stack_(stacks.default_size()),
      local_spawns_(config.spawn == SpawnPolicy::local && !config.spec_assert),
      asks_to_spawn_(config.max_fibers != 0 || config.deterministic_seed) {}

Scheduler::~Scheduler() {
  stop();
  std::size_t held = 0;
  frames.for_each([&held](const Fiber& fiber) {
    if (fiber.word.state_now() != fiber::State::free) ++held;
  });
  if (held == 0) return;
  WEFT_CHECK(fiber::Scope::lost() != lost_before_,
             "%zu tasks outlive their runtime: join or destroy every Task "
             "before its Runtime",
             held);
  leave_frames();
}

Status Scheduler::start() {
  if (!global.init(config_.global_queue) || !ranked.init())
    return Error::out_of(Resource::memory);
  workers.reserve(config_.workers);
  for (unsigned i = 0; i < config_.workers; ++i) {
    workers.push_back(std::make_unique<Worker>(*this, i));
    if (!workers.back()->queues.inbox.init(Worker::kInboxSlots)) {
      return Error::out_of(Resource::memory);
    }
  }
  if (config_.deterministic_seed) {
    if (carrier().worker != nullptr || carrier().simulator != nullptr) {
      std::fprintf(stderr,
                   "weft: a deterministic runtime needs a plain thread that "
                   "has none yet\n");
      return Errc::invalid;
    }
    seeded_.emplace(*config_.deterministic_seed, *this);
    simulator_ = std::make_unique<Simulator>(*this, *seeded_);
    return {};
  }
  for (auto& worker : workers) {
    if (const int error = worker->start()) return Error::os(error);
  }
  return {};
}

bool Scheduler::wait_until_empty(std::int64_t until) noexcept {
  if (simulator_ != nullptr) {
    check_thread();
    return simulator_->run_until(until, [this] { return live() == 0; });
  }
  return admission_.wait_until_empty(until, [this] { return live(); });
}

void Scheduler::cancel_all() noexcept {
  frames.for_each([](Fiber& fiber) {
    if (fiber.word.cancel() == fiber::Unparked::owns) make_runnable(fiber);
  });
  fiber::stops_begun().fetch_add(1, release);  // P5
}

void Scheduler::stop() noexcept {
  close_admission();
  stopping_.store(true, seq_cst);  // part of the idle scan
  for (auto& worker : workers) worker->rouse();
  for (auto& worker : workers) worker->join_thread();
  // A waker from outside may still be on its way out of notify().
  admission_.wait_for_visitors();
}

Fiber* Scheduler::new_frame() noexcept {
  Worker* const here = own_worker();
  if (here == nullptr || asks_to_spawn_ || !admits()) [[unlikely]] {
    return new_frame_slowly();
  }
  return here->frames.fill() ? take_frame(*here) : nullptr;
}

// From outside, counted against the limit, or simulated.
Fiber* Scheduler::new_frame_slowly() noexcept {
  check_thread();
  Worker* const here = own_worker();
  if (here != nullptr) interleave(Op::spawn, nullptr);
  const auto number = admission_.count_spawn();
  if (!admission_.admits(config_.max_fibers) ||
      (here != nullptr && simulator_ != nullptr &&
       simulator_->injects(testing::Fault::spawn_refused, *here->current))) {
    count_unspawned();
    return nullptr;
  }
  std::size_t got = 0;
  Fiber* const frame = frames.take(1, got);
  if (frame == nullptr) {
    count_unspawned();
    return nullptr;
  }
  prepare_frame(*frame, number, 0);
  return frame;
}

void Scheduler::abandon_frame(Fiber& frame) noexcept {
  frame.word.abandon();
  frame.id.store(0, relaxed);  // a stale handle finds nobody
  release_frame(frame);
  count_unspawned();
}

// Ids are not given twice: what was counted as spawned counts as ended.
void Scheduler::count_unspawned() noexcept {
  if (Worker* here = own_worker()) {
    here->counters.finished.add();
  } else {
    admission_.count_end();
  }
  one_less();
}

Worker* Scheduler::own_worker() const noexcept {
  Worker* here = worker_or_null();
  return here != nullptr && &here->scheduler() == this ? here : nullptr;
}

void Scheduler::release_frame(Fiber& frame) noexcept {
  if (Worker* here = own_worker()) {
    here->frames.put(frame);
  } else {
    frame.next = nullptr;
    frames.give(&frame);
  }
}

// Only what is runnable may enter a queue; asked for by the configuration,
// where debug builds assert it anyway.
void Scheduler::check_runnable(const Fiber& fiber) noexcept {
  const auto state = fiber.word.logical();
  WEFT_CHECK(state == fiber::Logical::runnable,
             "a fiber enters a queue in state %s", fiber::to_string(state));
}

void Scheduler::launch_otherwise(Fiber& frame) noexcept {
  if (config_.spawn == SpawnPolicy::local) {
    enqueue(frame);
  } else {
    place(frame);
  }
}

// Simulated workers are as many as there are on their thread: one at a time.
void Scheduler::check_thread() const noexcept {
  WEFT_CHECK(simulator_ == nullptr || Simulator::here() == simulator_.get(),
             "a deterministic runtime is used by another thread than the one "
             "that started it");
}

void Scheduler::enqueue(Fiber& fiber) noexcept {
  if (config_.spec_assert) [[unlikely]]
    check_runnable(fiber);
  if (fiber.pins != 0) {
    check_thread();
    const Admission::Visit visit(admission_);
    Worker& home = *workers[fiber.home];
    home.queues.pinned.push(fiber);
    if (idle.pop_target(home)) home.rouse();
  } else if (Worker* const here = own_worker();
             here != nullptr && fiber.rank == 0) {
    here->push_fresh(fiber);
    here->notify_local();
  } else {
    place(fiber);
  }
}

// From outside, or by the spawn policy: to some worker's inbox, or for all. Of
// high or low priority: for all.
void Scheduler::place(Fiber& fiber) noexcept {
  check_thread();
  const Admission::Visit visit(admission_);
  Worker* const target = config_.spawn == SpawnPolicy::global || fiber.rank != 0
                             ? nullptr
                             : next_place();
  if (target != nullptr && target->queues.inbox.push(&fiber)) {
    base::pass(base::Point::pushed);
    notify(*target);
    return;
  }
  if (fiber.rank != 0) {
    ranked.push(fiber);
  } else {
    global.push(&fiber);
  }
  base::pass(base::Point::pushed);
  notify();
}

void Scheduler::enqueue_list(Fiber* newest_first) noexcept {
  Worker* const here = worker_or_null();
  Fiber* elsewhere = nullptr;  // oldest first, by pushing at its front
  bool pushed = false;
  for (Fiber* fiber = newest_first; fiber != nullptr;) {
    Fiber* const rest = fiber->next;
    if (here != nullptr && &here->scheduler() == &of(*fiber) &&
        fiber->pins == 0 && fiber->rank == 0) {
      // Newest first into a LIFO: the oldest wake runs first. One notify: the
      // searcher that finds more rouses the next (S4).
      here->push_local(*fiber);
      pushed = true;
    } else {
      fiber->next = elsewhere;
      elsewhere = fiber;
    }
    fiber = rest;
  }
  if (pushed) here->notify_local();
  while (elsewhere != nullptr) {
    Fiber* const fiber = elsewhere;
    elsewhere = fiber->next;  // before it is out of our hands
    of(*fiber).enqueue(*fiber);
  }
}

// As Worker::watch_own_deadline(): whoever sleeps must know of it.
bool Scheduler::arm(time::TimerNode& timer, std::int64_t when) noexcept {
  auto& timers = workers[0]->queues.timers;
  if (!timers.arm(timer, when)) return false;
  if (Sleeper* const holder = alarm.too_late_for(timers.next_deadline())) {
    holder->rouse();
  } else if (!alarm.held()) {
    notify();
  }
  return true;
}

Worker* Scheduler::next_place() noexcept {
  const auto count = worker_count();
  const auto first = next_place_.fetch_add(1, relaxed);  // spreads, no order
  Worker& turn = *workers[first % count];
  if (idle.sleeping() != 0) {
    // A busy target is not used while somebody sleeps.
    for (unsigned i = 0; i < count; ++i) {
      Worker& other = *workers[(first + i) % count];
      if (other.wake.load(relaxed) == 1) return &other;  // a hint
    }
    return config_.spawn == SpawnPolicy::round_robin ? &turn : nullptr;
  }
  return turn.queues.inbox.size_hint() < kBacklog ? &turn : nullptr;
}

void Scheduler::notify(Worker& target) noexcept {
  if (idle.pop_target(target)) {
    target.rouse();
  } else {
    notify();
  }
}

std::size_t Scheduler::live() const noexcept {
  const auto sum = [this](auto counter) {
    std::uint64_t result = 0;
    for (const auto& worker : workers) {
      result += (worker->counters.*counter).get();
    }
    return result;
  };
  return admission_.live([&] { return sum(&Counters::finished); },
                         [&] { return sum(&Counters::spawned); });
}

void Scheduler::dump(std::FILE* out) const noexcept {
  std::fprintf(out,
               "runtime %.*s: %zu fibers alive, %u workers searching, %u "
               "asleep, global queue %zu, high %zu, low %zu\n",
               static_cast<int>(config_.name.size()), config_.name.data(),
               live(), idle.searching(), idle.sleeping(), global.size_hint(),
               ranked.high_hint(), ranked.low_hint());
  for (const auto& worker : workers) {
    const auto& q = worker->queues;
    char deadline[24] = "none";
    if (const auto next = q.timers.next_deadline(); next != time::kNever) {
      std::snprintf(deadline, sizeof deadline, "in %lld us",
                    static_cast<long long>((next - time::now()) / 1000));
    }
    std::fprintf(
        out,
        "  worker %u: wake word %u, recent %zu, deque %zu, turns %zu, "
        "inbox %zu, "
        "pinned %s, heartbeat %llu, dispatched %llu, next deadline "
        "%s\n",
        worker->index(), static_cast<unsigned>(worker->wake.load(relaxed)),
        q.recent.size_hint(), q.deque.size_hint(), q.turns.size_hint(),
        q.inbox.size_hint(), q.pinned.is_empty() ? "none" : "some",
        static_cast<unsigned long long>(worker->heartbeat()),
        static_cast<unsigned long long>(worker->counters.dispatched.get()),
        deadline);
  }
}

void Scheduler::print_stats(std::FILE* out) const noexcept {
  std::fprintf(out, "weft statistics of runtime %.*s\n",
               static_cast<int>(config_.name.size()), config_.name.data());
  std::fprintf(out, "%8s %12s %10s %10s %10s %10s %10s %10s %8s %8s\n",
               "worker", "dispatched", "spawned", "finished", "parked", "woken",
               "yielded", "in_place", "stolen", "sleeps");
  for (const auto& worker : workers) {
    const auto& c = worker->counters;
    const auto n = [](const auto& counter) {
      return static_cast<unsigned long long>(counter.get());
    };
    std::fprintf(
        out,
        "%8u %12llu %10llu %10llu %10llu %10llu %10llu %10llu %8llu %8llu\n",
        worker->index(), n(c.dispatched), n(c.spawned), n(c.finished),
        n(c.parked), n(c.woken), n(c.yielded), n(c.in_place), n(c.stolen),
        n(c.sleeps));
  }
  const auto counts = stacks.counts();
  std::fprintf(out,
               "stacks: %zu mapped, %zu with fibers or kept by workers for the "
               "next, %zu bytes reserved\n",
               counts.mapped, counts.in_use, counts.reserved_bytes);
}

}  // namespace weft::sched
