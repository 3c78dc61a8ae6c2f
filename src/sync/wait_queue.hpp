// wait_queue.hpp: the waiters of one object, and what wakes them.
//
// A waker holds the object's lock while it claims, and enqueues what it won
// when the lock is free again (Woken).
//
// Invariants
//   Q1  A node is linked under the lock, after a look that found nothing.
//   Q2  Who is given something (Reason::data) has it: the object says so before
//       he is settled. Who is only told (Reason::signal) looks again.
//   Q3  A signal for a waiter that has given up goes to the next one.
#pragma once

#include <cstdint>

#include "base/intrusive_list.hpp"
#include "base/spin_lock.hpp"
#include "fiber/fiber.hpp"
#include "sched/carrier.hpp"
#include "sched/simulator.hpp"
#include "wait/wait.hpp"

namespace weft::sync {

using fiber::Fiber;
using fiber::Reason;
using fiber::WaitNode;

// Fibers that the current thread made runnable; they come into a queue when
// this goes. Declare it before the lock.
class Woken {
 public:
  Woken() noexcept = default;
  Woken(const Woken&) = delete;
  Woken& operator=(const Woken&) = delete;
  ~Woken() {
    if (first_ != nullptr) enqueue();
  }
  void add(Fiber* owned) noexcept {
    if (owned == nullptr) return;
    owned->next = first_;  // newest first
    first_ = owned;
  }

 private:
  void enqueue() noexcept;
  Fiber* first_ = nullptr;
};

class WaitQueue {
 public:
  constexpr WaitQueue() noexcept = default;

  bool empty() const noexcept { return nodes_.empty(); }
  void push_back(WaitNode& node) noexcept {
    node.linked();
    nodes_.push_back(node);
  }
  // In front of those who came after it: it was here before.
  void push_front(WaitNode& node) noexcept {
    node.linked();
    nodes_.push_front(node);
  }
  void remove(WaitNode& node) noexcept {
    if (!List::contains_hook(node)) return;
    nodes_.remove(node);
    node.unlinked();
  }
  WaitNode* front() noexcept { return nodes_.front(); }
  WaitNode* pop_front() noexcept { return nodes_.pop_front(); }
  // How many stand here, as far as that is no more than `most`.
  std::size_t count(std::size_t most) noexcept {
    std::size_t count = 0;
    WaitNode* node = nodes_.front();
    for (; node != nullptr && count < most; ++count) node = nodes_.after(*node);
    return count;
  }
  // Does anybody else than this fiber stand here?
  bool has_other_than(const Fiber& self) noexcept {
    WaitNode* node = nodes_.front();
    while (node != nullptr && node->fiber == &self) node = nodes_.after(*node);
    return node != nullptr;
  }

  // The first who still waits, taken off and claimed: the caller hands over,
  // and then concludes. nullptr: nobody does.
  // near(fiber): see ControlWord::claim().
  template <typename Near>
  [[gnu::always_inline]] WaitNode* claim_first(Fiber*& owned,
                                               Near&& near) noexcept {
    while (WaitNode* const node = nodes_.pop_front()) {
      if (node->claim(owned, near(*node->fiber))) [[likely]]
        return node;
    }
    return nullptr;
  }
  // Ends the wait of the first who still waits. False: nobody does.
  bool wake_one(Reason reason, Woken& woken) noexcept {
    while (WaitNode* const node = nodes_.pop_front()) {
      if (finish(*node, reason, woken)) return true;
    }
    return false;
  }
  // Answers how many.
  std::size_t wake_all(Reason reason, Woken& woken) noexcept {
    std::size_t count = 0;
    while (wake_one(reason, woken)) ++count;
    return count;
  }
  // Ends the wait of a node that is off the list. False: it had given up.
  static bool finish(WaitNode& node, Reason reason, Woken& woken) noexcept {
    Fiber* owned = nullptr;
    const bool won = node.settle(reason, owned);  // last touch of the node
    woken.add(owned);
    return won;
  }

 private:
  using List = base::IntrusiveList<WaitNode>;
  List nodes_;
};

// Whoever destroys an object. True: nobody waits. Who was woken may be here
// before his waker has left the lock: so this waits for that.
inline bool is_left(base::SpinLock& lock, const WaitQueue& queue) noexcept {
  lock.lock();
  const bool result = queue.empty();
  lock.unlock();
  return result;
}

// How an attempt to go on without waiting ended.
enum class Entered : std::uint8_t { linked, done, closed };

// After a park, before the object is used again: in a simulation that is a step
// which conflicts with whatever others do.
inline void came_back() noexcept {
  if (auto* const simulator = sched::carrier().simulator) [[unlikely]] {
    simulator->touch_all();
  }
}

template <typename Attempt>
void leave(Attempt& attempt, WaitNode& node, bool told) noexcept {
  Woken woken;
  attempt.lock.lock();
  attempt.queue.remove(node);
  attempt.leave(told, woken);
  attempt.lock.unlock();
}

// One wait of the current fiber or thread:
//
//   attempt.lock, attempt.queue      of the object: its lock, its WaitQueue
//   attempt.enter(node, again)       under the lock: done, or links the node.
//                                    again: it was here before, and was told
//   attempt.leave(told, woken)       under the lock: it ends without result.
//                                    told: it was, and may wait no more; if
//                                    the next would not hear of it, tells him
//   Attempt::is_ready(&attempt)      asked by a simulation in which nobody can
//                                    go on: would enter() be done now?
//
//   Errors: closed, cancelled (not if shielded), timed_out, exhausted (memory).
template <typename Attempt>
Status wait_at(Attempt& attempt, const void* object, bool shield,
               Deadline deadline) noexcept {
  WaitNode node;
  for (bool again = false;; again = true) {
    waiting::Wait wait;
    if (wait.begin(shield) == waiting::Begun::cancelled) {
      if (again) leave(attempt, node, /*told=*/true);
      return waiting::refuse_stopped(wait.self());
    }
    wait.own(node);
    attempt.lock.lock();
    const Entered entered = attempt.enter(node, again);
    attempt.lock.unlock();
    if (entered != Entered::linked) {
      (void)wait.withdraw();
      wait.end();
      if (entered == Entered::closed) return Errc::closed;
      return {};
    }
    if (auto* const simulator = sched::carrier().simulator) [[unlikely]] {
      simulator->note(sched::Op::wait, object, {&Attempt::is_ready, &attempt});
    }
    const auto who = wait.park(deadline);
    came_back();
    const bool woken = who == fiber::source(0);
    if (!woken) leave(attempt, node, /*told=*/false);
    waiting::until_gone(node);
    wait.end();
    if (!woken) return waiting::outcome(who);
    if (node.reason == Reason::data) return {};
  }
}

}  // namespace weft::sync
