// wait_list_model.cpp: a waitable of the public interface, from wait() down.
//
// The waitable is a semaphore over the real WaitList; its waiters are plain
// threads, so that everything from weft::wait() to the futex is the real code.
// Whatever happens, a permit is taken by one who waits or is still there, and a
// waiter's stack is its own again when its wait returns.
#include <mutex>
#include <new>

#include "base/futex.hpp"
#include "plain_thread.hpp"
#include "protocol.hpp"
#include <weft/wait.hpp>

namespace weft::model {

namespace {

// The fewest steps that exclude: what is under it is the subject.
class Lock {
 public:
  void lock() noexcept {
    for (bool held = false;
         !held_.compare_exchange_strong(held, true, acquire, relaxed);
         held = false) {
      pause();
    }
  }
  void unlock() noexcept { held_.store(false, release); }

 private:
  Atomic<bool> held_{false};
};

using fiber::WaitNode;
using fiber::Who;

class Semaphore {
 public:
  Semaphore() noexcept { ::new (static_cast<void*>(&list_)) WaitList(); }
  ~Semaphore() {}  // an execution that is given up leaves waiters in the list

  bool try_complete(Waiter&) noexcept {
    const std::lock_guard guard(lock_);
    if (permits_ == 0) return false;
    permits_ = permits_ - 1;
    return true;
  }
  bool publish(Waiter& waiter) noexcept {
    const std::lock_guard guard(lock_);
    if (closed_) return false;
    list_.push_back(waiter);
    if (permits_ != 0) list_.wake_one();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    const std::lock_guard guard(lock_);
    list_.remove(waiter);
  }
  void post() noexcept {
    const std::lock_guard guard(lock_);
    permits_ = permits_ + 1;
    list_.wake_one(WakeReason::data);
  }
  void close() noexcept {
    const std::lock_guard guard(lock_);
    closed_ = true;
    list_.wake_all(WakeReason::close);
  }

  int permits() const { return permits_; }
  bool nobody_waits() const { return list_.empty(); }

 private:
  Lock lock_;
  Plain<int> permits_ = 0;  // guarded by lock_, as all below
  Plain<bool> closed_ = false;
  union {
    WaitList list_;
  };
};

class Scene {
 public:
  explicit Scene(Program& p)
      : semaphore(p.make<Semaphore>("semaphore")),
        threads(p.make<std::array<PlainThread, 2>>("threads")),
        said(p.make<Plain<int>>("said", 0)),
        got(p.make<std::array<Status, 2>>("got")) {}

  void wait(std::size_t i, Deadline deadline = Deadline::never()) const {
    threads[i].begin();
    got[i] = weft::wait(semaphore, deadline);
  }
  int taken() const { return (got[0] ? 1 : 0) + (got[1] ? 1 : 0); }
  void expect_all_told(int posted) const {
    expect(taken() + semaphore.permits() == posted, "no permit is lost");
    expect(semaphore.nobody_waits(), "W3: no node is left");
  }

  Semaphore& semaphore;
  std::array<PlainThread, 2>& threads;
  Plain<int>& said;
  std::array<Status, 2>& got;
};

// The one who does not wait counts as told nothing.
void alone(const Scene& s) { s.got[1] = Errc::would_block; }

void one_post(Program& p) {
  const Scene s(p);
  alone(s);
  p.thread("waiter", [=] {
    s.wait(0);
    expect(s.said == 7, "what the poster wrote came");
  });
  p.thread("poster", [=] {
    s.said = 7;
    s.semaphore.post();
  });
  p.finally([=] { s.expect_all_told(1); });
}

// The deadline comes at any time: one of the two has the permit.
void post_or_deadline(Program& p) {
  const Scene s(p);
  alone(s);
  p.thread("waiter", [=] {
    s.wait(0, passed());
    expect(s.got[0] || s.got[0].error() == Errc::timed_out, "one or the other");
  });
  p.thread("poster", [=] { s.semaphore.post(); });
  p.finally([=] { s.expect_all_told(1); });
}

void post_or_cancel(Program& p) {
  const Scene s(p);
  alone(s);
  p.thread("waiter", [=] {
    s.wait(0);
    expect(s.got[0] || s.got[0].error() == Errc::cancelled, "one or the other");
  });
  p.thread("poster", [=] { s.semaphore.post(); });
  p.thread("canceller", [=] { s.threads[0].cancel(); });
  p.finally([=] { s.expect_all_told(1); });
}

// Two wakers, the deadline and one waiter: one permit stays.
void two_posts_or_deadline(Program& p) {
  const Scene s(p);
  alone(s);
  p.thread("waiter", [=] { s.wait(0, passed()); });
  for (const char* name : {"poster1", "poster2"}) {
    p.thread(name, [=] { s.semaphore.post(); });
  }
  p.finally([=] { s.expect_all_told(2); });
}

// Two that wait already, the hasty one first: what comes then is small enough
// for three more threads.
struct Parked {
  PlainThread thread;
  WaitNode node;
  Plain<int> by = 0;

  explicit Parked(Semaphore& semaphore) {
    auto& word = thread.proxy.word;
    (void)word.begin_wait(1, false);
    node.fiber = &thread.proxy;
    node.ticket = 1;
    (void)semaphore.publish(waiter());
    (void)word.commit();
  }
  // A Waiter is the place of its node, and only wait() may make one.
  Waiter& waiter() { return reinterpret_cast<Waiter&>(node); }

  // As Wait::park_thread() goes on at its deadline, then wait_on().
  void time_out(Semaphore& semaphore) {
    auto& word = thread.proxy.word;
    if (word.claim(1, Who::deadline) != fiber::Claimed::won_and_owns) {
      (void)sched::sleep_as_proxy(thread.proxy, base::kForever);
    }
    end(semaphore);
  }
  void end(Semaphore& semaphore) {
    auto& word = thread.proxy.word;
    word.resume(0);
    by = static_cast<int>(word.rewait());
    semaphore.unpublish(waiter());
    word.end_wait();
    expect(node.gone(), "W3: its node is gone");
    const bool by_source = by == static_cast<int>(fiber::source(0));
    expect(by_source == (node.reason != fiber::Reason::none), "W4");
    node.fiber = nullptr;  // its stack is left
  }
  bool is_woken() { return thread.proxy.storage.wake.load(relaxed) != 0; }
};

struct Queue {
  explicit Queue(Program& p)
      : semaphore(p.make<Semaphore>("semaphore")),
        hasty(p.make<Parked>("hasty", semaphore)),
        patient(p.make<Parked>("patient", semaphore)) {}

  void end() const {
    if (patient.is_woken()) patient.end(semaphore);
  }
  int by_source() const {
    const int source = static_cast<int>(fiber::source(0));
    return (hasty.by == source ? 1 : 0) + (patient.by == source ? 1 : 0);
  }

  Semaphore& semaphore;
  Parked& hasty;
  Parked& patient;
};

// A post that finds a waiter whose deadline was faster goes to the other one.
void pass_it_on(Program& p) {
  const Queue q(p);
  p.thread("hasty", [=] { q.hasty.time_out(q.semaphore); });
  p.thread("poster", [=] { q.semaphore.post(); });
  p.finally([=] {
    q.end();
    expect(q.by_source() == 1, "one signal, one woken");
  });
}

// The same while the other one is cancelled: the permit may stay, if both had
// something else.
void pass_it_on_or_keep(Program& p) {
  const Queue q(p);
  p.thread("hasty", [=] { q.hasty.time_out(q.semaphore); });
  p.thread("poster", [=] { q.semaphore.post(); });
  p.thread("canceller", [=] { q.patient.thread.cancel(); });
  p.finally([=] {
    q.end();
    const bool both_else = q.hasty.by == static_cast<int>(Who::deadline) &&
                           q.patient.by == static_cast<int>(Who::cancelled);
    expect(q.by_source() == (both_else ? 0 : 1), "one signal, one woken");
  });
}

// Two signals and two that wait, one of whom does not want it any more.
void two_posters(Program& p) {
  const Queue q(p);
  p.thread("hasty", [=] { q.hasty.time_out(q.semaphore); });
  for (const char* name : {"poster1", "poster2"}) {
    p.thread(name, [=] { q.semaphore.post(); });
  }
  p.finally([=] {
    q.end();
    const bool late = q.hasty.by == static_cast<int>(Who::deadline);
    expect(q.by_source() == (late ? 1 : 2), "each signal wakes one");
  });
}

// B-35: the second wait has its node where the first one had it. Who woke, or
// came too late for, the first may not touch the second.
void wait_again(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] {
    s.wait(0, passed());
    progress();
    s.wait(1, passed());
  });
  p.thread("poster", [=] { s.semaphore.post(); });
  p.finally([=] { s.expect_all_told(1); });
}

void close(Program& p) {
  const Scene s(p);
  alone(s);
  p.thread("waiter", [=] { s.wait(0); });
  p.thread("closer", [=] { s.semaphore.close(); });
  p.finally([=] {
    s.expect_all_told(0);
    expect(s.got[0].error() == Errc::closed, "it is told");
  });
}

// Nobody is left: neither who waits nor who would have waited for the deadline.
void close_for_all(Program& p) {
  const Queue q(p);
  p.thread("hasty", [=] { q.hasty.time_out(q.semaphore); });
  p.thread("closer", [=] { q.semaphore.close(); });
  p.finally([=] {
    expect(q.patient.is_woken(), "all are told");
    expect(q.semaphore.nobody_waits(), "W3: no node is left");
  });
}

constexpr const char* kNode = "fiber/fiber.hpp";
constexpr const char* kWord = "fiber/control_word.hpp";
constexpr const char* kCarrier = "sched/carrier.cpp";
constexpr const char* kNodeHead = "fiber/wait_node.hpp";

}  // namespace

Protocol wait_list() {
  return {
      .name = "wait list",
      .files = {"wait/wait_list.cpp", "wait/wait.cpp"},
      .scenarios = {{"one post", one_post},
                    {"post or deadline", post_or_deadline},
                    {"post or cancel", post_or_cancel},
                    {"two posts or deadline", two_posts_or_deadline,
                     Options{.spurious_failures = 0}},
                    {"pass it on", pass_it_on},
                    {"pass it on or keep it", pass_it_on_or_keep},
                    {"two posters", two_posters},
                    {"wait again", wait_again},
                    {"close", close},
                    {"close for all", close_for_all}},
      .mutations = {{"conclude: gone not written", kNode, "::conclude(",
                     "gone_.store", relaxed, Effect::skip},
                    {"remove: gone not written", kNodeHead, "::unlinked(",
                     "gone_.store", relaxed, Effect::skip},
                    {"claim not written", kWord, "::claim(",
                     "compare_exchange_weak", relaxed, Effect::skip},
                    {"commit not written", kWord, "::commit(",
                     "compare_exchange_weak", relaxed, Effect::skip},
                    {"make_runnable not written", kCarrier, "make_runnable(",
                     "wake.store(1", relaxed, Effect::skip}}};
}

}  // namespace weft::model
