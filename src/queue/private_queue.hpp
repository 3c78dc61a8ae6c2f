// private_queue.hpp: fibers that one worker keeps to itself: those it queued
// last, newest first, and those that yielded, each in its turn.
//
// Both ends for its owner at the price of plain stores. Others come only when
// the owner is stuck in one fiber: a raid takes the oldest ones away.
//
//   busy_   raided_    who is inside
//   -----   -------    ---------------------------------------------------
//   false   false      nobody
//   true    false      the owner
//   false   true       a raider, or nobody: it gives up soon
//   true    true       who was first; the owner steps back, the raider waits
//                      a little
//
// Invariants
//   T1  head_, tail_ and the slots belong to who is inside.
//   T2  size_ grows by the owner alone: an owner that reads zero is right.
//
// Edges
//   [enter]  The owner writes busy_, then reads raided_; a raider writes
//            raided_, then reads busy_. One of them sees the other. The owner's
//            write is a light one, the raider pays for both.
//   [busy]   leave() busy_ -> raid() busy_: the raider sees the owner's queue.
//   [raid]   raid() raided_ -> enter() and the next raid(): what it left.
//   [hungry] push_back() size_, then the owner reads who is idle || a worker
//            writes that it is, heavy_barrier(), then size_hint().
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/asymmetric.hpp"
#include "base/atomic.hpp"

namespace weft::queue {

template <typename T, std::size_t Capacity = 256>
class PrivateQueue {
  static_assert(std::has_single_bit(Capacity), "slots are found by masking");

 public:
  PrivateQueue() = default;
  PrivateQueue(const PrivateQueue&) = delete;
  PrivateQueue& operator=(const PrivateQueue&) = delete;

  // Owner only. False if full: the caller overflows to GlobalQueue.
  [[nodiscard]] bool push_back(T* item) noexcept {
    enter();
    const bool room = tail_ - head_ < Capacity;
    if (room) {
      slots_[tail_++ & (Capacity - 1)] = item;
      base::light_store(size_, tail_ - head_);  // T2 [hungry]
    }
    leave();
    return room;
  }

  // Owner only. The newest item, or nullptr.
  [[nodiscard]] T* pop_back() noexcept {
    if (size_.load(relaxed) == 0) return nullptr;  // T2
    enter();
    T* item = nullptr;
    if (tail_ != head_) {
      item = slots_[--tail_ & (Capacity - 1)];
      size_.store(tail_ - head_, relaxed);  // T2
    }
    leave();
    return item;
  }

  // Owner only. The same, if wanted(item).
  template <typename Wanted>
  [[nodiscard]] T* pop_back_if(Wanted&& wanted) noexcept {
    enter();
    T* const newest = slots_[(tail_ - 1) & (Capacity - 1)];
    if (tail_ == head_ || !wanted(*newest)) {
      leave();
      return nullptr;
    }
    --tail_;
    size_.store(tail_ - head_, relaxed);  // T2
    leave();
    return newest;
  }

  // Owner only. What pop_back() may take next; to prefetch, not to use.
  [[nodiscard]] const T* newest_hint() const noexcept {
    return slots_[(tail_ - 1) & (Capacity - 1)];  // raiders only read slots
  }

  // Owner only. Takes this very item, if it is the newest or the oldest.
  [[nodiscard]] bool pop_at_end(T* item) noexcept {
    if (size_.load(relaxed) == 0) return false;  // T2
    enter();
    bool found = false;
    if (tail_ != head_) {
      if (slots_[(tail_ - 1) & (Capacity - 1)] == item) {
        --tail_;
        found = true;
      } else if (slots_[head_ & (Capacity - 1)] == item) {
        ++head_;
        found = true;
      }
      size_.store(tail_ - head_, relaxed);  // T2
    }
    leave();
    return found;
  }

  // Owner only. Calls change() while this item is the newest and nobody can
  // take it. False: it is not.
  template <typename Change>
  [[nodiscard]] bool if_newest(T* item, Change&& change) noexcept {
    if (size_.load(relaxed) == 0) return false;  // T2
    enter();
    const bool found =
        tail_ != head_ && slots_[(tail_ - 1) & (Capacity - 1)] == item;
    if (found) change();
    leave();
    return found;
  }

  // Owner only. Takes at most `max` of the oldest items, oldest first, and
  // says how many.
  [[nodiscard]] std::size_t pop_oldest(T** out, std::size_t max) noexcept {
    enter();
    const auto count = take(out, max);
    leave();
    return count;
  }

  // Owner only. What pop_front() would take now.
  [[nodiscard]] T* peek_front() noexcept {
    if (size_.load(relaxed) == 0) return nullptr;  // T2
    enter();
    T* const item = tail_ != head_ ? slots_[head_ & (Capacity - 1)] : nullptr;
    leave();
    return item;
  }

  // Owner only. The oldest item, or nullptr.
  [[nodiscard]] T* pop_front() noexcept {
    if (size_.load(relaxed) == 0) return nullptr;  // T2
    enter();
    T* item = nullptr;
    if (tail_ != head_) {
      item = slots_[head_++ & (Capacity - 1)];
      size_.store(tail_ - head_, relaxed);  // T2
    }
    leave();
    return item;
  }

  // Owner only. Takes the oldest item and stays inside until end_turn() puts
  // another behind all the rest: one visit for both. nullptr: empty, and the
  // owner is not inside.
  [[nodiscard]] T* begin_turn() noexcept {
    if (size_.load(relaxed) == 0) return nullptr;  // T2
    enter();
    if (tail_ != head_) [[likely]]
      return slots_[head_++ & (Capacity - 1)];
    leave();
    return nullptr;
  }
  // Owner only. size_ counted the item that went, now the one that came.
  void end_turn(T* item) noexcept {
    slots_[tail_++ & (Capacity - 1)] = item;
    leave();
  }

  // Any thread but the owner. Takes at most `max` of the oldest items, oldest
  // first, and says how many. 0 also if the owner or another raider is inside:
  // then the queue is not stuck.
  [[nodiscard]] std::size_t raid(T** out, std::size_t max) noexcept {
    if (size_.load(relaxed) == 0) return 0;         // nothing to disturb for
    if (raided_.exchange(true, seq_cst)) return 0;  // [enter] [raid]
    base::heavy_barrier();
    const auto count = owner_is_out() ? take(out, max) : 0;
    raided_.store(false, release);  // [raid]
    return count;
  }

  // Any thread. How many wait; a worker about to sleep asks after announcing
  // that and a heavy barrier.
  [[nodiscard]] std::size_t size_hint() const noexcept {
    return size_.load(seq_cst);  // [hungry]
  }

  static constexpr std::size_t capacity() noexcept { return Capacity; }

 private:
#if defined(WEFT_MODEL)
  static constexpr int kPatience = 2;  // enough to see both answers
#else
  static constexpr int kPatience = 128;  // rounds; a visit takes nanoseconds
#endif

  // Inside only.
  std::size_t take(T** out, std::size_t max) noexcept {
    const auto count = std::min<std::size_t>(max, tail_ - head_);
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = slots_[head_++ & (Capacity - 1)];
    }
    size_.store(tail_ - head_, relaxed);  // T1
    return count;
  }

  void enter() noexcept {
    base::light_store(busy_, true);  // [enter]
    if (raided_.load(seq_cst)) [[unlikely]]
      step_back();  // [enter] [raid]
  }

  // Only waits, then tries again. A raider may have lost its CPU.
  [[gnu::noinline, gnu::cold]] void step_back() noexcept {
    do {
      leave();
      for (int i = 0; raided_.load(relaxed); ++i) {
        if (i < kPatience) {
          pause();
        } else {
          yield_cpu();
        }
      }
      base::light_store(busy_, true);  // [enter]
    } while (raided_.load(seq_cst));   // [enter] [raid]
  }

  void leave() noexcept {
    busy_.store(false, release);  // [busy]
  }

  bool owner_is_out() const noexcept {
    for (int i = 0; i < kPatience; ++i) {
      if (!busy_.load(seq_cst)) return true;  // [enter] [busy]
#if !defined(WEFT_MODEL)  // where it would wait for a change
      pause();
#endif
    }
    return false;
  }

  Atomic<bool> busy_{false};
  Plain<std::uint32_t> head_ = 0;  // T1
  Plain<std::uint32_t> tail_ = 0;  // T1
  Atomic<std::uint32_t> size_{0};  // T2
  alignas(kCacheLine) Atomic<bool> raided_{false};
  alignas(kCacheLine) std::array<Plain<T*>, Capacity> slots_{};  // T1
};

}  // namespace weft::queue
