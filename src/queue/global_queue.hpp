// global_queue.hpp: the run queue that all workers share; it is never full.
//
// A ring takes what comes; when it is full, a list linked through T::next takes
// the rest. While the list holds anything, newcomers go behind it, and whoever
// finds the ring empty takes the oldest of the list and moves the next ones
// into the ring.
//
// Order: what one thread pushed is taken in that order, unless a producer was
// stopped between reserving and filling a slot of the ring; then the list does
// not wait for it.
//
// Invariants
//   Q1  The list is not empty <=> overflow_ != nullptr. That word is the only
//       hint; there is no flag that could be cleared too late.
//   Q2  Items move from the list to the ring, never back, and are in the ring
//       before they are off the list. So who looks at the list first and at
//       the ring second misses nothing.
//
// Edges
//   [order]  refill() overflow_ -> push(): pushes behind what was moved.
//   [sleep]  push() writes overflow_, then the pusher reads who sleeps; a
//            worker says that it sleeps, then maybe_empty() reads overflow_.
//            In the seq_cst order one of them sees the other. Ring: the same.
#pragma once

#include <cstddef>
#include <mutex>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "queue/ring.hpp"

namespace weft::queue {

// T has a member `T* next`, which belongs to the queue while the item is in it.
template <typename T>
class GlobalQueue {
 public:
  static constexpr std::size_t kDefaultSlots = 4096;

  // Once, before anybody else sees the queue. False if there is no memory.
  [[nodiscard]] bool init(std::size_t slots = kDefaultSlots) noexcept {
    return ring_.init(slots);
  }

  // Any thread. Never fails.
  void push(T* item) noexcept {
    if (!overflows() && ring_.push(item)) return;
    append(item, item);
  }

  // Any thread. The chain first -> ... -> last, in this order. Never fails.
  void push_list(T* first, T* last) noexcept {
    while (!overflows()) {
      T* const rest = first == last ? nullptr : first->next;
      if (!ring_.push(first)) break;  // it keeps its link
      if (rest == nullptr) return;
      first = rest;
    }
    append(first, last);
  }

  // Any thread. The oldest item.
  [[nodiscard]] Taken<T> take() noexcept {
    const bool listed = overflows();  // before the ring: Q2
    const auto taken = ring_.take();
    if (taken.item != nullptr || !listed) return taken;
    return take_overflow();
  }

  // Any thread. False while anything is in the queue: the idle scan.
  [[nodiscard]] bool maybe_empty() const noexcept {
    return !overflows() && ring_.maybe_empty();  // in this order: Q2
  }

  // Any thread. For statistics.
  [[nodiscard]] std::size_t size_hint() const noexcept {
    return ring_.size_hint() + listed_.load(relaxed);
  }

 private:
  friend struct QueueProbe;

  static constexpr int kRefill = 64;  // bounds how long the lock is held

  bool overflows() const noexcept {
    return overflow_.load(seq_cst) != nullptr;  // [sleep] [order]
  }

  void append(T* first, T* last) noexcept {
    std::size_t count = 1;
    for (T* item = first; item != last; item = item->next) ++count;
    last->next = nullptr;
    const std::lock_guard guard(lock_);
    if (overflow_.load(relaxed) == nullptr) {  // guarded by lock_
      overflow_.store(first, seq_cst);         // [sleep]
    } else {
      newest_->next = first;
    }
    newest_ = last;
    listed_.store(listed_.load(relaxed) + count, relaxed);
  }

  Taken<T> take_overflow() noexcept {
    const std::lock_guard guard(lock_);
    // The ring again: it may have been filled, and the list with what is
    // younger, since we looked.
    const auto taken = ring_.take();
    if (taken.item != nullptr) return taken;
    T* const item = overflow_.load(relaxed);  // guarded by lock_
    if (item == nullptr) return taken;
    // Behind a reserved slot of the ring nobody could take them.
    refill(item->next, taken.busy ? 0 : kRefill);
    return {.item = item};
  }

  // Under lock_, after the first item was taken. Moves the next ones.
  void refill(T* oldest, int most) noexcept {
    std::size_t left = listed_.load(relaxed) - 1;
    for (; most > 0 && oldest != nullptr; --most, --left) {
      T* const rest = oldest->next;  // once in the ring, it is not ours
      if (!ring_.push(oldest)) break;
      oldest = rest;
    }
    listed_.store(left, relaxed);
    overflow_.store(oldest, seq_cst);  // [order]
  }

  Ring<T> ring_;
  alignas(kCacheLine) Atomic<T*> overflow_{nullptr};  // written under lock_
  base::SpinLock lock_;
  Plain<T*> newest_ = nullptr;     // guarded by lock_
  Atomic<std::size_t> listed_{0};  // written under lock_
};

}  // namespace weft::queue
