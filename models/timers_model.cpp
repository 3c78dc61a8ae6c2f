// timers_model.cpp: no deadline is slept through, and each ends one wait.
//
// A model has no clock. Time stands just before kSoon, and comes there when
// nothing else is left to do: a sleep until kSoon or earlier may end by itself,
// one until kLate does not. So a deadline that nobody watches is a deadlock.
// What workers do is that of sched/worker.cpp, with the names it has there.
#include <algorithm>
#include <mutex>
#include <utility>

#include "base/futex.hpp"
#include "fiber/fiber.hpp"
#include "protocol.hpp"
#include "sched/alarm.hpp"
#include "sched/idle.hpp"

namespace weft::model {

namespace {

using time::TimerHeap;
using time::TimerNode;

constexpr std::int64_t kSoon = 50;
constexpr std::int64_t kLate = 100;

struct Worker : sched::Sleeper {
  TimerHeap timers;
  TimerNode node;
  bool searching = false;
  bool watched_for_all = false;

  Worker() { (void)timers.grow(); }
};

class Scene {
 public:
  explicit Scene(Program& p)
      : idle(p.make<sched::Idle>("idle")),
        alarm(p.make<sched::Alarm>("alarm")),
        workers(p.make<std::array<Worker, 3>>("workers")),
        fired(p.make<Atomic<bool>>("fired", false)) {}

  void arm(Worker& self, std::int64_t when) const {
    (void)self.timers.arm(self.node, when);
  }
  std::int64_t earliest_deadline() const {
    auto earliest = time::kNever;
    for (const auto& other : workers) {
      earliest = std::min(earliest, other.timers.next_deadline());
    }
    return earliest;
  }
  bool clock_unwatched() const {
    return !alarm.held() && earliest_deadline() != time::kNever;
  }
  void notify() const {
    if (sched::Sleeper* sleeper = idle.pop_for_push()) sleeper->rouse();
  }

  // True: the deadline came.
  bool block(Worker& self) const {
    if (!alarm.try_take_role(self)) {
      const auto mine = self.timers.next_deadline();
      if (sched::Sleeper* holder = alarm.too_late_for(mine)) holder->rouse();
      self.sleep_until(base::kForever);
      return false;
    }
    const auto until = alarm.arm([this] { return earliest_deadline(); });
    const bool ends = until <= kSoon;
    self.sleep_until(ends ? until : base::kForever);
    alarm.release_role();
    self.watched_for_all = true;
    return ends;
  }
  // A worker without work, until somebody was awake when the deadline came.
  void watch(Worker& self) const {
    while (!fired.load(acquire)) {
      progress();
      if (block(self)) fire();
    }
  }
  void fire() const {
    fired.store(true, release);
    for (auto& other : workers) other.rouse();
  }

  // The same with the list of those who sleep.
  bool sleep(Worker& self) const {
    idle.announce(self, std::exchange(self.searching, false));
    const bool came = !fired.load(seq_cst) && block(self);
    idle.withdraw(self);
    self.searching = true;
    return came;
  }
  void sleep_until_fired(Worker& self) const {
    while (!fired.load(acquire)) {
      progress();
      if (sleep(self)) fire();
    }
  }
  // From now on it runs one fiber, for long.
  void found(Worker& self) const {
    if (std::exchange(self.searching, false)) {
      if (idle.stop_search() && clock_unwatched()) notify();
    }
    if (std::exchange(self.watched_for_all, false) &&
        earliest_deadline() != time::kNever) {
      notify();
    }
  }
  void watch_own_deadline(Worker& self) const {
    const auto next = self.timers.next_deadline();
    if (next == time::kNever || idle.sleeping() == 0) return;
    if (sched::Sleeper* holder = alarm.too_late_for(next)) {
      holder->rouse();
    } else if (clock_unwatched()) {
      notify();
    }
  }

  sched::Idle& idle;
  sched::Alarm& alarm;
  std::array<Worker, 3>& workers;
  Atomic<bool>& fired;
};

// B-25: a worker arms a nearer deadline than the one that the holder sleeps
// for, and goes to sleep.
void nearer_deadline(Program& p) {
  const Scene s(p);
  s.arm(s.workers[0], kLate);
  p.thread("first", [=] { s.watch(s.workers[0]); });
  p.thread("second", [=] {
    s.arm(s.workers[1], kSoon);
    s.watch(s.workers[1]);
  });
}

// The holder has left, and comes back with a nearer deadline; meanwhile another
// holds the role.
void role_changes_hands(Program& p) {
  const Scene s(p);
  s.arm(s.workers[1], kLate);
  (void)s.alarm.try_take_role(s.workers[0]);
  (void)s.alarm.arm([=] { return s.earliest_deadline(); });
  p.thread("first", [=] {
    s.alarm.release_role();
    s.arm(s.workers[0], kSoon);
    s.watch(s.workers[0]);
  });
  p.thread("second", [=] { s.watch(s.workers[1]); });
}

// The holder leaves to run something, while another goes to sleep without the
// role: that one must hear that nobody watches any more.
void holder_leaves(Program& p) {
  const Scene s(p);
  s.arm(s.workers[0], kSoon);
  p.thread("leaver", [=] {
    (void)s.sleep(s.workers[0]);
    s.found(s.workers[0]);
  });
  p.thread("sleeper", [=] { s.sleep_until_fired(s.workers[1]); });
}

// A worker arms a deadline and runs on, for long; the only other one sleeps
// without a deadline, or is about to.
void runs_on(Program& p) {
  const Scene s(p);
  p.thread("runner", [=] {
    s.arm(s.workers[0], kSoon);
    s.watch_own_deadline(s.workers[0]);
  });
  p.thread("sleeper", [=] { s.sleep_until_fired(s.workers[1]); });
}

// The holder was woken for work and leaves the role, with no deadline to hand
// on; meanwhile another worker arms one and runs on. The third sleeps, and must
// hear of it from one of them.
template <bool kPopped>
void both_run_on(Program& p) {
  const Scene s(p);
  for (const auto i : {0u, 2u}) s.idle.announce(s.workers[i], false);
  (void)s.alarm.try_take_role(s.workers[0]);
  (void)s.alarm.arm([=] { return s.earliest_deadline(); });
  if (kPopped) (void)s.idle.pop_target(s.workers[0]);
  p.thread("leaver", [=] {
    s.alarm.release_role();
    s.workers[0].watched_for_all = true;
    s.idle.withdraw(s.workers[0]);
    s.workers[0].searching = true;
    s.found(s.workers[0]);
  });
  p.thread("runner", [=] {
    s.arm(s.workers[1], kSoon);
    s.watch_own_deadline(s.workers[1]);
  });
  p.finally([=] {
    expect(s.workers[2].wake.load(relaxed) == 2, "the sleeper was roused");
  });
}

// B-26: the wait of one fiber: its deadline, a waker, and the worker that looks
// at the heap for others.
struct Frame {
  fiber::Fiber fiber;
  TimerHeap timers;
  Atomic<int> queued{0};
  Plain<int> registers = 0;
  Plain<int> taken = 0;

  Frame() {
    (void)timers.grow();
    fiber.word.reserve();
    fiber.word.publish();
    (void)fiber.word.start(1);
    begin(kSoon);
  }
  void enqueue() { queued.fetch_add(1, release); }
  // As Worker::poll_timers().
  void poll() {
    if (timers.next_deadline() > kSoon) return;
    fiber::Fiber* due = nullptr;
    timers.lock.lock();
    while (TimerNode* node = timers.pop_expired(kSoon)) {
      auto& there = fiber::Fiber::of_timer(*node);
      if (there.word.claim(there.wait_ticket, fiber::Who::deadline) ==
          fiber::Claimed::won_and_owns) {
        due = &there;
      }
    }
    timers.lock.unlock();
    if (due != nullptr) enqueue();
  }
  void wake() {
    if (fiber.word.claim(1, fiber::source(0)) == fiber::Claimed::won_and_owns) {
      enqueue();
    }
  }
  // As Wait, with the worker's commit.
  void begin(std::int64_t when) {
    (void)fiber.word.begin_wait(++fiber.wait_ticket, false);
    (void)timers.arm(fiber.timer, when);
  }
  fiber::Who park() {
    registers = 1;
    if (fiber.word.commit() == fiber::Committed::parked) {
      while (queued.load(acquire) == taken) pause();
      taken = taken + 1;
      fiber.word.resume(1);
      expect(registers == 1, "the registers came");
    }
    auto who = fiber.word.rewait();
    if (who == fiber::Who::open) {
      expect(fiber.word.cancelled(), "nobody else wakes for nothing");
      who = fiber.word.withdraw(fiber::Who::cancelled);
    }
    return end(who);
  }
  fiber::Who end(fiber::Who who) {
    (void)fiber.timer.heap->disarm(fiber.timer);
    fiber.word.end_wait();
    return who;
  }
};

void expect_at_rest(Frame& f) {
  expect(f.queued.load(relaxed) == f.taken, "it is in no queue");
  expect(f.timers.size() == 0, "its timer is in no heap");
  expect(f.timers.next_deadline() == time::kNever, "H3");
}

void expiry_or_wake(Program& p) {
  auto& f = p.make<Frame>("frame");
  p.thread("fiber", [&] {
    const auto who = f.park();
    expect(who == fiber::Who::deadline || who == fiber::source(0), "C5");
    f.registers = 2;
  });
  p.thread("poller", [&] { f.poll(); });
  p.thread("waker", [&] { f.wake(); });
  p.finally([&] { expect_at_rest(f); });
}

void expiry_or_cancel(Program& p) {
  auto& f = p.make<Frame>("frame");
  p.thread("fiber", [&] {
    const auto who = f.park();
    expect(who == fiber::Who::deadline || who == fiber::Who::cancelled, "C5");
  });
  p.thread("poller", [&] { f.poll(); });
  p.thread("canceller", [&] {
    if (f.fiber.word.cancel() == fiber::Unparked::owns) f.enqueue();
  });
  p.finally([&] { expect_at_rest(f); });
}

// Who comes for the first wait may be late, and must not end the second. Its
// timer is the same node again.
void late_for_the_next(Program& p) {
  auto& f = p.make<Frame>("frame");
  p.thread("fiber", [&] {
    (void)f.park();
    progress();
    f.begin(kSoon);
    // Only who found the second wait's own timer may end it.
    const auto who = f.end(f.fiber.word.withdraw());
    expect(who != fiber::source(0), "the waker had the first ticket");
  });
  p.thread("poller", [&] { f.poll(); });
  p.thread("waker", [&] { f.wake(); });
  p.finally([&] { expect_at_rest(f); });
}

constexpr const char* kAlarm = "sched/alarm.hpp";
constexpr const char* kHeap = "time/timer_heap.cpp";
constexpr const char* kHeapHead = "time/timer_heap.hpp";
constexpr const char* kIdle = "sched/idle.hpp";
constexpr const char* kLock = "base/spin_lock.hpp";

}  // namespace

Protocol timers() {
  return {
      .name = "timers",
      .files = {kAlarm, kHeap, kHeapHead},
      .scenarios = {{"nearer deadline", nearer_deadline},
                    {"role changes hands", role_changes_hands},
                    {"holder leaves", holder_leaves},
                    {"runs on", runs_on},
                    {"both run on", both_run_on<true>},
                    {"both run on, woken early", both_run_on<false>},
                    {"expiry or wake", expiry_or_wake},
                    {"expiry or cancel", expiry_or_cancel},
                    {"late for the next wait", late_for_the_next}},
      .mutations = {
          {"arm: armed release", kAlarm, "::arm(", "armed_.store", release},
          {"next_deadline: nobody looks twice", kHeapHead, "::next_deadline(",
           "next_.load", relaxed, Effect::stale},
          {"arm: armed after the look", kAlarm, "::arm(", "armed_.store",
           relaxed, Effect::late},
          {"arm: armed not written", kAlarm, "::arm(", "armed_.store", relaxed,
           Effect::skip},
          {"too_late_for: armed acquire", kAlarm, "::too_late_for(",
           "armed_.load", acquire},
          {"next_deadline acquire", kHeapHead, "::next_deadline(", "next_.load",
           acquire},
          {"publish_next release", kHeap, "::publish_next(", "next_.store",
           release},
          {"publish_next not written", kHeap, "::publish_next(", "next_.store",
           relaxed, Effect::skip},
          {"holder not written", kAlarm, "::try_take_role(",
           "holder_.store(&self", relaxed, Effect::skip},
          {"role: taken relaxed", kAlarm, "::try_take_role(", "held_.exchange"},
          {"role: released relaxed", kAlarm, "::release_role(",
           "held_.store(false"},
          {"role: not released", kAlarm, "::release_role(", "held_.store(false",
           relaxed, Effect::skip},
          {"sleeping acquire", kIdle, "::sleeping(", "word_.load(seq_cst)",
           acquire},
          {"stop_search acq_rel", kIdle, "::stop_search(", "word_.fetch_sub",
           acq_rel},
          {"lock relaxed", kLock, "::try_lock(", "held_.exchange"},
          {"unlock relaxed", kLock, "::unlock(", "held_.store"}}};
}

}  // namespace weft::model
