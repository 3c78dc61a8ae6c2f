// work_deque.hpp: the run queue of one worker, a fixed-size Chase-Lev deque.
//
// The owner pushes and pops at the bottom (newest first); thieves steal at the
// top (oldest first). A full deque refuses: its caller knows a GlobalQueue.
//
// Invariants
//   D1  bottom_ is written by the owner alone.
//   D2  top_ only grows, by compare-exchange; the winner owns that slot.
//   D3  bottom_ - top_ <= Capacity: no slot is reused while a thief can win it.
//
// Edges
//   [publish]  push() bottom_ -> steal() bottom_: the task's contents.
//   [reuse]    steal() top_   -> push() top_: the thief has read its slot.
//   [last]     pop() writes bottom_, then reads top_; steal() reads top_, then
//              bottom_. In the seq_cst order one of them sees the other, so
//              both reach for the last task only through the compare-exchange.
//   [sleep]    push() writes bottom_, then the pusher reads who sleeps; a
//              worker says that it sleeps, then maybe_empty() reads bottom_.
//              One of them sees the other. For a deque alone release would do.
//
// seq_cst operations, not fences: ThreadSanitizer does not model fences.
// Algorithm: Chase & Lev, SPAA 2005; orderings after Le et al., PPoPP 2013.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/atomic.hpp"

namespace weft::queue {

template <typename T, std::size_t Capacity = 256>
class WorkDeque {
  static_assert(std::has_single_bit(Capacity), "slots are found by masking");

 public:
  struct Stolen {
    T* task = nullptr;
    bool lost_race = false;  // not empty: worth another try
  };

  WorkDeque() = default;
  WorkDeque(const WorkDeque&) = delete;
  WorkDeque& operator=(const WorkDeque&) = delete;

  // Owner only. False if full.
  [[nodiscard]] bool push(T* task) noexcept {
    const auto b = bottom_.load(relaxed);  // D1
    const auto t = top_.load(acquire);     // [reuse]
    if (b - t >= std::int64_t{Capacity}) return false;
    slot(b).store(task, relaxed);
    bottom_.store(b + 1, seq_cst);  // [publish] [sleep]
    return true;
  }

  // Owner only. `count` tasks, the newest last, for the price of one. False if
  // they do not all fit: nothing was pushed.
  [[nodiscard]] bool push_batch(T* const* tasks, std::size_t count) noexcept {
    const auto n = static_cast<std::int64_t>(count);
    const auto b = bottom_.load(relaxed);  // D1
    const auto t = top_.load(acquire);     // [reuse]
    if (b - t + n > std::int64_t{Capacity}) return false;
    for (std::int64_t i = 0; i < n; ++i) slot(b + i).store(tasks[i], relaxed);
    bottom_.store(b + n, seq_cst);  // [publish] [sleep]
    return true;
  }

  // Owner only. Up to `max` of the newest tasks for the price of one, the
  // newest last; 0 if there are fewer than two: use pop().
  [[nodiscard]] std::size_t pop_batch(T** out, std::size_t max) noexcept {
    const auto end = bottom_.load(relaxed);      // D1
    const auto held = end - top_.load(relaxed);  // D2: at most so many
    const auto n = std::min(held - 1, static_cast<std::int64_t>(max));
    if (n <= 0) return 0;
    const auto b = end - n;
    bottom_.store(b, seq_cst);      // [last]
    if (top_.load(seq_cst) >= b) {  // [last]
      bottom_.store(end, seq_cst);  // thieves came near: take none [sleep]
      return 0;
    }
    for (std::int64_t i = 0; i < n; ++i) out[i] = slot(b + i).load(relaxed);
    return static_cast<std::size_t>(n);  // no thief can reach b
  }

  // Owner only. The newest task, or nullptr.
  [[nodiscard]] T* pop() noexcept {
    const auto b = bottom_.load(relaxed) - 1;  // D1
    // An empty deque stays empty: only the owner adds. Saves the full barrier.
    if (top_.load(relaxed) > b) return nullptr;  // D2: what grew stays grown
    bottom_.store(b, seq_cst);                   // [last]
    auto t = top_.load(seq_cst);                 // [last]
    if (t < b) return slot(b).load(relaxed);     // no thief can reach b
    T* task = nullptr;
    // [last]
    if (t == b && top_.compare_exchange_strong(t, t + 1, seq_cst, relaxed)) {
      task = slot(b).load(relaxed);
    }
    bottom_.store(b + 1, relaxed);  // empty: a thief that reads this loses (D2)
    return task;
  }

  // Owner only. True: pop() has nothing, and will not unless the owner pushes.
  [[nodiscard]] bool drained() const noexcept {
    return bottom_.load(relaxed) <= top_.load(relaxed);  // D1, D2
  }

  // Owner only. What pop() would return unless a thief comes first: a hint,
  // the task may be running elsewhere already.
  [[nodiscard]] T* peek() const noexcept {
    const auto b = bottom_.load(relaxed) - 1;    // D1
    if (top_.load(relaxed) > b) return nullptr;  // D2
    return slot(b).load(relaxed);
  }

  // Owner only. What steal() would return unless a thief comes first: a hint.
  [[nodiscard]] T* peek_oldest() const noexcept {
    const auto t = top_.load(relaxed);  // a hint
    return t < bottom_.load(relaxed) ? slot(t).load(relaxed) : nullptr;  // D1
  }

  // Any thread. The oldest task.
  [[nodiscard]] Stolen steal() noexcept {
    auto t = top_.load(seq_cst);           // [last]
    const auto b = bottom_.load(seq_cst);  // [last] [publish]
    if (t >= b) return {};
    T* task = slot(t).load(relaxed);  // maybe stale; the exchange decides
    if (!top_.compare_exchange_strong(t, t + 1, seq_cst, relaxed)) {  // [reuse]
      return {.lost_race = true};
    }
    return {.task = task};
  }

  // Any thread. False while anybody could steal something: the idle scan.
  [[nodiscard]] bool maybe_empty() const noexcept {
    const auto t = top_.load(seq_cst);  // before bottom_, as steal()
    return t >= bottom_.load(seq_cst);  // [sleep]
  }

  // Any thread. For statistics and the choice of a victim.
  [[nodiscard]] std::size_t size_hint() const noexcept {
    const auto t = top_.load(relaxed);
    const auto b = bottom_.load(relaxed);
    return b > t ? static_cast<std::size_t>(b - t) : 0;
  }

  static constexpr std::size_t capacity() noexcept { return Capacity; }

 private:
  Atomic<T*>& slot(std::int64_t index) noexcept {
    return slots_[static_cast<std::size_t>(index) & (Capacity - 1)];
  }
  const Atomic<T*>& slot(std::int64_t index) const noexcept {
    return slots_[static_cast<std::size_t>(index) & (Capacity - 1)];
  }

  alignas(kCacheLine) Atomic<std::int64_t> top_{0};
  alignas(kCacheLine) Atomic<std::int64_t> bottom_{0};
  alignas(kCacheLine) std::array<Atomic<T*>, Capacity> slots_{};
};

}  // namespace weft::queue
