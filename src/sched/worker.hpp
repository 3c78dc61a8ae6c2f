// worker.hpp: one OS thread that runs fibers.
//
// A fiber that leaves switches straight to the next one where that is known,
// else to the worker's loop on the thread's own stack. What must happen once a
// stack is quiescent (commit a park, queue a yield, give a stack back) is the
// After of the switch: whoever arrives does it first.
//
// A body that ended leaves its stack to the worker; the next fresh fiber runs
// on it at once, so a burst of short fibers costs neither switch nor stack.
//
// Edges
//   [hungry]  a push to a private queue, then load idle || announce, then
//             heavy_barrier() and load every private queue's size.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "base/thread.hpp"
#include "context/context.hpp"
#include "context/sanitizer.hpp"
#include "fiber/family.hpp"
#include "fiber/fiber.hpp"
#include "fiber/frame_pool.hpp"
#include "queue/private_queue.hpp"
#include "queue/ring.hpp"
#include "queue/work_deque.hpp"
#include "sched/carrier.hpp"
#include "sched/idle.hpp"
#include "sched/pinned_list.hpp"
#include "sched/stats.hpp"
#include "sched/victims.hpp"
#include "stack/stack.hpp"
#include "time/timer_heap.hpp"

namespace weft::sched {

class Scheduler;
using fiber::Family;

class alignas(kCacheLine) Worker final : public Carrier, public Sleeper {
 public:
#if defined(WEFT_MODEL)  // small: full queues and overflow are the rule
  static constexpr std::size_t kRecentSlots = 4;
  static constexpr std::size_t kDequeSlots = 8;
  static constexpr std::size_t kInboxSlots = 16;
#else
  static constexpr std::size_t kRecentSlots = 1024;
  static constexpr std::size_t kDequeSlots = 4096;
  static constexpr std::size_t kInboxSlots = 256;
#endif
  static constexpr unsigned kFairInterval = 61;  // dispatches between looks
  static constexpr unsigned kHighInARow = 16;    // then another has a turn
  static constexpr unsigned kLooksUntilOverdue = 64;  // see look_at_oldest()
  static constexpr unsigned kSkippedLooks = 8;        // see count_as_dispatch()

  Worker(Scheduler& scheduler, unsigned index);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Scheduler& scheduler() const noexcept { return scheduler_; }
  unsigned index() const noexcept { return index_; }
  unsigned id() const noexcept { return index_ + 1; }  // in control words
  // Of which fibers those that are woken here may run here next, without being
  // asked for more: home_of() their frames. nullptr: of none.
  const void* near_home() const noexcept { return near_home_; }

  // 0, or an errno value.
  [[nodiscard]] int start() noexcept;
  void join_thread() noexcept { thread_.join(); }

  // ---- On the stack of its current fiber. `this` may be another thread's
  // worker when they return.

  // Lets others run; returns at once if there is nobody.
  void yield_current() noexcept;
  // The same at the end of a turn of checked code, with a look at the clock.
  void pass_turn() noexcept;
  // The current fiber's word is parking: leaves its stack until resumed.
  void suspend_current() noexcept;
  // The current fiber stands linked where the lock keeps others away: begins
  // its wait and leaves its stack, and then the lock is free. Only for a fiber
  // that was woken here, and is next. False: there is none, nothing happened.
  [[nodiscard]] bool suspend_locked(base::SpinLock& lock) noexcept;
  // The current fiber, which has closed its scopes, ends where it stands. What
  // is on its stack is not destroyed, and the stack is not used again.
  [[noreturn]] void abandon_current(Error why) noexcept;
  // Before what a fiber might do in a loop without ever leaving its stack.
  void count_as_dispatch() noexcept {
    if (until_fair_ > 1) [[likely]] {
      --until_fair_;
    } else {
      look_if_due(After::yielded);
    }
  }
  // After many such things: a fair look is due, if anybody may be waiting.
  void count_as_many() noexcept {
    until_fair_ = 1;
    look_if_due(After::yielded);
  }
  // The same of values that went through a buffer at once.
  void count_as_batch() noexcept {
    ++batches_;
    until_fair_ = 1;
    look_if_due(After::looked);
  }
  // Runs `child` as a call, if it has not started and is the newest or the
  // oldest that this worker keeps to itself. False: nothing happened.
  [[nodiscard]] bool run_in_place(Fiber& joiner, Fiber& child) noexcept;
  // The same for any child of the joiner's family.
  [[nodiscard]] bool run_any_in_place(Fiber& joiner, Family& family) noexcept;

  // ---- Owner only.

  // A fiber this thread owns, fresh or queued, to its own queue; then
  // notify_local(), once for several. [hungry]
  void push_local(Fiber& fiber) noexcept;
  void push_fresh(Fiber& fiber) noexcept {
    has_fresh_ = true;
    push_local(fiber);
  }
  // Of its private queue, for others to take.
  static void leave_private(Fiber& fiber) noexcept;
  // After a push_local() of one that was woken.
  void notify_woken() noexcept;
  void notify_local() noexcept;
  // Drops the handle of the fiber spawned last, if it is still here. False:
  // nothing happened.
  [[nodiscard]] bool drop_newest(Fiber& child) noexcept {
    return queues.recent.if_newest(&child,
                                   [&child] { child.join.drop_unstarted(); });
  }
  // The current fiber's timer. False: out of memory.
  [[nodiscard]] bool arm(time::TimerNode& timer, std::int64_t when) noexcept;
  // Somebody who sleeps shall know of a deadline that was armed here.
  void watch_own_deadline() noexcept;

  // ---- The thread of a simulator, which is the loop of all its workers.

  // Once, in place of start().
  void simulate(Simulator& simulator) noexcept;
  enum class Left : std::uint8_t { stopped, yielded, otherwise };
  // Lets the fiber run until it leaves.
  [[nodiscard]] Left simulate_step(Fiber& fiber, bool was_stopped) noexcept;
  // Its current fiber leaves as it is, and goes on by simulate_step().
  void stop_current() noexcept;
  void simulate_timers(std::int64_t now) noexcept {
    (void)poll_timers(*this, now);
  }
  // Calls take(fiber) for all that is runnable here; this worker has none then.
  template <typename Take>
  void give_all(Take&& take) noexcept {
    if (Fiber* fiber = std::exchange(next_up_, nullptr)) take(*fiber);
    while (Fiber* fiber = queues.pinned.take()) take(*fiber);
    while (Fiber* fiber = queues.recent.pop_front()) take(*fiber);
    while (Fiber* fiber = queues.deque.steal().task) take(*fiber);
    while (Fiber* fiber = queues.turns.pop_front()) take(*fiber);
    while (Fiber* fiber = queues.inbox.take().item) take(*fiber);
  }

  struct Queues {  // ---- Any thread, as each queue allows.
    queue::PrivateQueue<Fiber, kRecentSlots> recent;  // while nobody is hungry
    queue::WorkDeque<Fiber, kDequeSlots> deque;
    queue::PrivateQueue<Fiber> turns;
    queue::Ring<Fiber> inbox;
    PinnedList pinned;
    time::TimerHeap timers;
  } queues;
  Counters counters;

  fiber::FrameCache frames;
  // Any thread, a hint: it is the same as before if the worker sits in one
  // fiber. One that goes from fiber to fiber turns seldom, and is not stuck.
  std::uint64_t progress() const noexcept {
    return heartbeat() + counters.dispatched.get() + counters.in_place.get();
  }
  std::uint64_t heartbeat() const noexcept {
    return heartbeat_.load(relaxed);  // a hint
  }

 private:
  friend class Scheduler;
  // Of another worker: what it has done so far, and since when nothing more.
  struct Watch {
    std::uint64_t beat = 0;
    std::int64_t since = 0;
  };

  enum class After : std::uint8_t {
    nothing,
    yielded,
    looked,     // the same, but for the sake of others: see count_as_dispatch()
    took_turn,  // yielded, to the fiber whose place in turns is now free
    parking,
    waiting_locked,  // the same, its wait not begun, under after_lock_
    stopped,         // by a simulator, and still running
    ended,
    lost,  // the same, and nothing on the stack was destroyed
  };

  static void thread_main(void* self) noexcept;
  void settle_on_thread() noexcept;
  static void fiber_main(void* unused) noexcept;
  static void fiber_returned() noexcept;

  // The loop, on the thread's stack.
  void loop() noexcept;
  Fiber* next() noexcept;
  Fiber* look() noexcept;
  Fiber* look_fairly() noexcept;
  Fiber* search() noexcept;
  Fiber* steal_from(Worker& victim) noexcept;
  Fiber* rest_after_crumbs() noexcept;
  Fiber* take_expired(std::int64_t now) noexcept;
  Fiber* take_over_stale() noexcept;
  Fiber* watch_other() noexcept;
  Fiber* take_over(Worker& stuck) noexcept;
  Fiber* take_high() noexcept;
  Fiber* take_its_like(const Fiber& yielding) noexcept;
  bool others_have_work() const noexcept;
  Fiber* found(Fiber* fiber) noexcept;
  void note_heartbeats() noexcept;
  unsigned watch_timers() noexcept;
  bool look_at_oldest() noexcept;
  Fiber* take_overdue() noexcept;
  void judge() noexcept;
  bool may_keep() noexcept;
  unsigned poll_timers(Worker& slot, std::int64_t now) noexcept;
  std::int64_t earliest_deadline() const noexcept;
  void sleep() noexcept;
  void block() noexcept;
  bool anything_visible() noexcept;
  bool has_own_work() const noexcept;
  bool clock_unwatched() const noexcept;
  bool foreign_backlog() noexcept;

  // Dispatch.
  Fiber* pick(stack::Stack* reuse) noexcept;
  void look_if_due(After as) noexcept;
  Fiber* take_next_up(stack::Stack* reuse) noexcept;
  Fiber* pop_newest() noexcept;
  Fiber* pop_own() noexcept;
  Fiber* pop_otherwise() noexcept;
  Fiber* refill() noexcept;
  void expose() noexcept;
  void spill() noexcept;
  Fiber* ready(Fiber* entry, stack::Stack* reuse) noexcept;
  Fiber* begin(Fiber& fresh, stack::Stack* reuse) noexcept;
  stack::Stack* stack_for(const Fiber& fresh, std::size_t size) noexcept;
  void yield_otherwise(Fiber& self, After as) noexcept;
  void leave_fiber(After after, Fiber& self, Fiber* next) noexcept;
  bool nobody_waits() noexcept;
  bool has_chores() const noexcept {
    return leaving_ != nullptr || next_up_ != nullptr || new_deadline_;
  }
  void before_leaving(const Fiber* to) noexcept;
  void leave(context::Context& here, stack::Stack* from, bool ends,
             Fiber* to) noexcept;
  context::Ground ground_of(stack::Stack* stack) noexcept;
  void arrive() noexcept;
  void arrive_otherwise() noexcept;
  static void look_for_hosts(Fiber& guest) noexcept;
  bool wakes_for_nothing(const Fiber& parked) noexcept;
  bool wake_for_nothing(Fiber& parked) noexcept;
  void check_canary(const stack::Stack& stack) const noexcept;
  bool has_canaries() const noexcept;
  // Before a guest is out of this worker's hands: it may end elsewhere, and
  // go back to its hosts there.
  static void mark_hosts(const Fiber& guest) noexcept {
    for (Fiber* host = guest.host; host != nullptr && host->word.host();) {
      host = host->host;
    }
  }
  void keep(Fiber& mine, bool may_stay = false) noexcept;
  void give_away(Fiber& mine) noexcept;
  void push_next_up() noexcept;

  // The end of a fiber.
  // It was stopped before it could start: whether its nursery has heard of that
  // or not.
  static bool must_skip(const Fiber& fresh, fiber::Started started) noexcept {
    return started == fiber::Started::run_cancelled ||
           stop_around_base(fresh) != fiber::Stop::none;
  }
  static void report_failure(Fiber& fiber) noexcept;
  static void wind_up(Fiber& self) noexcept;
  static Worker& settle_end(Fiber& self) noexcept;
  stack::Stack* take_stack_of(Fiber& ended) noexcept;
  bool finish(Fiber& fiber) noexcept;
  void settle_joiner(fiber::WaitNode& joiner, bool run_next) noexcept;
  void flush_leaves() noexcept;
  bool can_host(const Fiber& joiner, const Fiber& child) const noexcept;
  Worker& call_in_place(Fiber& joiner, Fiber& child,
                        fiber::Started started) noexcept;
  // As the scheduler's, into the own cache: of one without a result, whose
  // destructor might go elsewhere.
  void reclaim(Fiber& ended) noexcept {
    ended.clear();
    frames.put(ended);
  }
  bool take_unstarted(Fiber& child) noexcept;
  void put_back(Fiber& fiber) noexcept;

  Scheduler& scheduler_;
  const unsigned index_;
  const void* near_home_ = nullptr;  // fixed as it starts

  // Owner only from here.
  context::ExceptionState* exceptions_ = nullptr;  // the thread's
  context::Controls controls_;  // the thread's at its start: every fiber's
  After after_ = After::nothing;
  Fiber* after_fiber_ = nullptr;
  base::SpinLock* after_lock_ = nullptr;
  stack::Stack* after_stack_ = nullptr;
  Fiber* next_up_ = nullptr;   // owned, queued: runs before all others
  Family* leaving_ = nullptr;  // whose children ended here, not yet told
  std::int64_t leaves_ = 0;    // how many
  unsigned until_fair_ = kFairInterval;
  const Fiber* oldest_ = nullptr;        // of its own at the last fair look
  unsigned looks_at_oldest_ = 0;         // how many it has been that
  unsigned overdue_ = 0;                 // how often one was
  unsigned skipped_looks_ = 0;           // since the last fair one
  unsigned high_in_a_row_ = 0;           // taken since others had a turn
  unsigned fair_place_ = 0;              // where the next fair look begins
  std::int64_t judged_at_ = 0;           // when judge() last was
  std::uint64_t judged_dispatches_ = 0;  // and how many there had been
  std::uint64_t batches_ = 0;            // see count_as_batch()
  bool keeps_woken_ = false;             // see judge()
  bool has_fresh_ = false;               // some of `recent` may not have begun
  bool fair_due_ = false;
  bool woken_wait_ = false;  // timers woke some at a look that took another
  bool woken_ran_ = false;   // the last look took one of those
  bool searching_ = false;
  bool poll_all_ = false;         // look at every heap next time
  bool watched_for_all_ = false;  // slept for the earliest deadline of all
  stack::StackCache stacks_;
  context::Context loop_context_;
  context::Handle loop_handle_ = nullptr;
  const void* thread_low_ = nullptr;  // for ASan, as is its size
  std::size_t thread_size_ = 0;
  Victims victims_;
  std::int64_t stolen_at_ = 0;       // when the last steal ended
  std::int64_t crumbs_ = 0;          // how many it brought
  unsigned watched_ = 0;             // whose timers were watched last
  unsigned other_watched_ = 0;       // whose queues
  std::vector<std::uint64_t> seen_;  // heartbeats when the search began
  std::vector<Watch> watches_;
  bool new_deadline_ = false;  // armed since somebody was told to watch it
  Atomic<std::uint64_t> heartbeat_{0};
  base::Thread thread_;
};

// The current worker, for code that must run on one.
inline Worker& this_worker() noexcept { return *carrier_or_null()->worker; }

}  // namespace weft::sched
