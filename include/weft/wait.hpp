// wait.hpp: the one wait protocol, open to primitives of your own.
//
// A waitable is any class with the three functions of concept Waitable. weft
// parks the fiber and adds deadline, cancel and plain threads; see
// examples/tutorial/04_own_primitive.cpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "weft/detail/atomic_word.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

class Waiter;
class WaitList;

enum class WakeReason : std::uint8_t { none, data, cancel, close, signal };

namespace detail {

// ready: not linked, try again. never: not linked, nothing will come.
enum class Published : std::uint8_t { linked, ready, never };

struct WaitOps {
  bool (*try_complete)(void* waitable, Waiter& waiter) noexcept;
  Published (*publish)(void* waitable, Waiter& waiter) noexcept;
  void (*unpublish)(void* waitable, Waiter& waiter) noexcept;
};

Status wait_on(const WaitOps& ops, void* waitable, void* io,
               Deadline deadline) noexcept;

class SelectCase;
struct WaiterAccess;

}  // namespace detail

// One wait of one fiber. Lives on its stack while the wait lasts.
class Waiter {
 public:
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // What the waiting call passed as io.
  template <typename T>
  T& slot() const noexcept {
    return *static_cast<T*>(io());
  }
  // Why it was woken last; none before that.
  WakeReason reason() const noexcept;

 private:
  friend class WaitList;
  friend class detail::SelectCase;
  friend struct detail::WaiterAccess;
  friend Status detail::wait_on(const detail::WaitOps&, void*, void*,
                                Deadline) noexcept;
  Waiter() noexcept;
  ~Waiter();
  void* io() const noexcept;

  alignas(void*) std::byte node_[48];
};

// A spin lock for a few instructions. Wake-ups made under it are delivered
// when it is released; waiting while holding one is reported and aborts.
//   Callers: fibers and threads.
class SpinLock {
 public:
  void lock() noexcept;
  bool try_lock() noexcept;
  void unlock() noexcept;

 private:
  detail::AtomicWord word_{0};
};

// Waiters in arrival order. Guarded by the waitable's own SpinLock.
class WaitList {
 public:
  WaitList() noexcept;
  ~WaitList();  // misuse while somebody waits
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;

  void push_back(Waiter& waiter) noexcept;
  void remove(Waiter& waiter) noexcept;  // no-op if it is not linked
  bool empty() const noexcept;
  // Claims and unlinks the first waiter that is still waiting: of this wake,
  // its deadline and a cancel exactly one wins. False: nobody waits.
  bool wake_one(WakeReason reason = WakeReason::signal) noexcept;
  // Answers how many it woke.
  std::size_t wake_all(WakeReason reason = WakeReason::signal) noexcept;

 private:
  alignas(void*) std::byte list_[8];
};

template <typename W>
concept Waitable = requires(W& waitable, Waiter& waiter) {
  // Finishes without parking, if it can. Called again after each wake-up.
  { waitable.try_complete(waiter) }
  noexcept->std::same_as<bool>;
  // Under the lock: links the waiter, then looks again, and wakes if there is
  // something now. False, not linked: nothing will ever come (closed).
  { waitable.publish(waiter) }
  noexcept->std::same_as<bool>;
  // Unlinks, if still linked. Idempotent.
  { waitable.unpublish(waiter) }
  noexcept->std::same_as<void>;
};

namespace detail {

template <typename W>
inline constexpr WaitOps kWaitOps{
    [](void* waitable, Waiter& waiter) noexcept {
      return static_cast<W*>(waitable)->try_complete(waiter);
    },
    [](void* waitable, Waiter& waiter) noexcept {
      return static_cast<W*>(waitable)->publish(waiter) ? Published::linked
                                                        : Published::never;
    },
    [](void* waitable, Waiter& waiter) noexcept {
      static_cast<W*>(waitable)->unpublish(waiter);
    }};

}  // namespace detail

// Waits until the waitable completes. io: where a value goes to or comes from.
//
//   Suspends:  until try_complete() succeeds. Always a cancel point.
//   Errors:    closed (publish() refused), cancelled, timed_out.
//   Ordering:  what the waker did before it woke is visible.
//   Callers:   any fiber or thread, any number at once.
template <Waitable W>
Status wait(W& waitable, Deadline deadline = Deadline::never()) {
  return detail::wait_on(detail::kWaitOps<W>, &waitable, nullptr, deadline);
}
template <Waitable W, typename T>
requires(!std::is_same_v<T, Deadline>) Status
    wait(W& waitable, T& io, Deadline deadline = Deadline::never()) {
  return detail::wait_on(detail::kWaitOps<W>, &waitable, &io, deadline);
}

}  // namespace weft
