// wait_list.cpp: the public face of the wait protocol (weft/wait.hpp).
//
// Edges
//   [lock]  unlock() -> lock(), try_lock(): all that was done under the lock.

#include <new>

#include "base/atomic.hpp"
#include "base/check.hpp"
#include "base/intrusive_list.hpp"
#include "fiber/fiber.hpp"
#include "sched/simulator.hpp"
#include "wait/wait.hpp"
#include "wait/waiter_access.hpp"
#include <weft/wait.hpp>

namespace weft {

namespace {

using fiber::WaitNode;
using List = base::IntrusiveList<WaitNode>;
static_assert(sizeof(List) == 8);

// One is cast to the other; the numbers are those of the specification.
constexpr bool is(WakeReason shown, fiber::Reason kept, int number) {
  return static_cast<int>(shown) == number && static_cast<int>(kept) == number;
}
static_assert(is(WakeReason::none, fiber::Reason::none, 0));
static_assert(is(WakeReason::data, fiber::Reason::data, 1));
static_assert(is(WakeReason::cancel, fiber::Reason::cancel, 2));
static_assert(is(WakeReason::close, fiber::Reason::close, 3));
static_assert(is(WakeReason::signal, fiber::Reason::signal, 4));

WaitNode& node_of(Waiter& waiter) noexcept {
  return detail::WaiterAccess::node(waiter);
}
List& list_in(std::byte* place) noexcept {
  return *std::launder(reinterpret_cast<List*>(place));
}

}  // namespace

Waiter::Waiter() noexcept { ::new (static_cast<void*>(node_)) WaitNode(); }
Waiter::~Waiter() {
  WEFT_CHECK(node_of(*this).gone(),
             "a wait ended while its waiter was still linked: unpublish() must "
             "remove it");
}
void* Waiter::io() const noexcept {
  return detail::WaiterAccess::node(*this).slot;
}
WakeReason Waiter::reason() const noexcept {
  const fiber::Reason why = detail::WaiterAccess::node(*this).reason;
  return static_cast<WakeReason>(why);
}

void SpinLock::lock() noexcept {
  sched::interleave(sched::Op::lock, this);
  constexpr int kSpins = 64;
  for (int round = 0; word_.exchange(1, acquire) != 0;) {  // [lock]
    while (word_.load(relaxed) != 0) {  // only waits; the exchange decides
      if (++round < kSpins) {
        pause();
      } else {
        yield_cpu();  // the holder may have lost its CPU
      }
    }
  }
  sched::carrier().hold(this, __builtin_return_address(0));
}

bool SpinLock::try_lock() noexcept {
  sched::interleave(sched::Op::lock, this);
  if (word_.exchange(1, acquire) != 0) return false;  // [lock]
  sched::carrier().hold(this, __builtin_return_address(0));
  return true;
}

void SpinLock::unlock() noexcept {
  WEFT_CHECK(word_.load(relaxed) != 0, "a spin lock is unlocked that is free");
  word_.store(0, release);  // [lock]
  auto& here = sched::carrier();
  WEFT_CHECK(here.lock_depth != 0,
             "a spin lock is unlocked by a thread that holds none");
  here.let_go();
}

WaitList::WaitList() noexcept { ::new (static_cast<void*>(list_)) List(); }
WaitList::~WaitList() {
  WEFT_CHECK(empty(), "a WaitList is destroyed while somebody waits in it");
}

void WaitList::push_back(Waiter& waiter) noexcept {
  auto& node = node_of(waiter);
  node.linked();
  list_in(list_).push_back(node);
}

void WaitList::remove(Waiter& waiter) noexcept {
  auto& node = node_of(waiter);
  if (!List::contains_hook(node)) return;
  list_in(list_).remove(node);
  node.unlinked();
}

bool WaitList::empty() const noexcept {
  return list_in(const_cast<std::byte*>(list_)).empty();
}

bool WaitList::wake_one(WakeReason reason) noexcept {
  // A waiter that lost its claim elsewhere passes the signal on.
  while (WaitNode* node = list_in(list_).pop_front()) {
    sched::Fiber* owned = nullptr;
    const bool won = node->settle(static_cast<fiber::Reason>(reason), owned);
    if (owned != nullptr) sched::make_runnable(*owned);
    if (won) return true;
  }
  return false;
}

std::size_t WaitList::wake_all(WakeReason reason) noexcept {
  std::size_t count = 0;
  while (wake_one(reason)) ++count;
  return count;
}

namespace detail {

namespace {

struct Parked {
  const WaitOps* ops;
  void* waitable;
  Waiter* waiter;

  static bool is_ready(void* it) noexcept {
    const auto& self = *static_cast<const Parked*>(it);
    return self.ops->try_complete(self.waitable, *self.waiter);
  }
};

}  // namespace

Status wait_on(const WaitOps& ops, void* waitable, void* io,
               Deadline deadline) noexcept {
  auto& here = sched::carrier();
  sched::check_may_park(here);
  sched::interleave(here, sched::Op::wait, waitable);
  Waiter waiter;
  node_of(waiter).slot = io;
  if (auto& self = waiting::Wait().self(); waiting::must_stop(self)) {
    return waiting::refuse_stopped(self);
  }
  for (;;) {
    // After a won wake the waitable completes, cancelled or not: else what it
    // was woken for would be lost.
    waiting::Wait wait;
    if (ops.try_complete(waitable, waiter)) return {};
    if (wait.begin(false) == waiting::Begun::cancelled) {
      return waiting::refuse_stopped(wait.self());
    }
    wait.own(node_of(waiter));
    const auto published = ops.publish(waitable, waiter);
    if (published != Published::linked) {
      (void)wait.withdraw();
      wait.end();
      if (published == Published::never) return Errc::closed;
      continue;
    }
    Parked parked{&ops, waitable, &waiter};
    if (auto* const simulator = sched::carrier().simulator) [[unlikely]] {
      simulator->note(sched::Op::wait, waitable, {&Parked::is_ready, &parked});
    }
    const auto who = wait.park(deadline);
    ops.unpublish(waitable, waiter);
    wait.end();
    if (const auto end = waiting::outcome(who); !end) return end;
  }
}

}  // namespace detail
}  // namespace weft
