// timer_heap.hpp: the deadlines of one worker, earliest first.
//
// A 4-ary heap of {deadline, node}: the four children of an entry share a cache
// line. Nodes live in the frames of the fibers that wait; the heap owns only
// its array. Equal deadlines expire in the order of their insertion.
//
// The caller holds `lock` around everything but next_deadline(), grow() and
// arm(). The array grows outside of the lock: insert() refuses when it is full,
// the caller unlocks, calls grow() and tries again; arm() is that loop.
//
// Invariants
//   H1  entries_[i] is not later than its children entries_[4i+1 .. 4i+4].
//   H2  entries_[i].node->index == i; a node in no heap has kOut.
//   H3  next_ is the deadline of entries_[0], or kNever.
//
// Edges
//   [rearm]  A worker that goes to sleep writes its next_, then reads until
//            when the driver sleeps; the driver writes that, then reads every
//            next_ through next_deadline(). In the seq_cst order one of them
//            sees the other, so nobody sleeps past a deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "time/clock.hpp"

namespace weft::time {

class TimerHeap;

// What waits for a deadline. Guarded by heap->lock while it is in one.
struct TimerNode {
  static constexpr std::uint32_t kOut = UINT32_MAX;

  Plain<std::int64_t> when = kNever;  // fixed while it is in a heap
  Plain<std::uint32_t> index = kOut;
  Plain<std::uint32_t> sequence = 0;  // orders equal deadlines, in steps of
                                      // two; wraps. Odd: a scope's
  Plain<TimerHeap*> heap = nullptr;   // the last one it was in

  // Whose is it: a fiber's that waits, or a scope's? Fixed before it is armed.
  void be_scope() noexcept { sequence = 1; }
  bool is_scope() const noexcept { return (sequence & 1u) != 0; }
};

class TimerHeap {
 public:
  TimerHeap() = default;
  TimerHeap(const TimerHeap&) = delete;
  TimerHeap& operator=(const TimerHeap&) = delete;

  base::SpinLock lock;

  // Under lock. `node` is in no heap, its `when` is set. False if the array is
  // full: nothing has happened.
  [[nodiscard]] bool insert(TimerNode& node) noexcept;

  // Under lock. False if the node was not here (any more).
  bool remove(TimerNode& node) noexcept;

  // Under lock. Takes out the earliest node that is due; nullptr: none is.
  [[nodiscard]] TimerNode* pop_expired(std::int64_t now) noexcept;

  // Any thread, without lock. Doubles the array, unless another did so
  // meanwhile. False if there is no memory: nothing has happened.
  [[nodiscard]] bool grow() noexcept;

  // Any thread, without lock. insert(), growing if need be. False if there is
  // no memory.
  [[nodiscard]] bool arm(TimerNode& node, std::int64_t when) noexcept;

  // Any thread, without lock. True if the node was there: it did not expire.
  bool disarm(TimerNode& node) noexcept;

  // Any thread, without lock. The earliest deadline, or kNever.
  [[nodiscard]] std::int64_t next_deadline() const noexcept {
    return next_.load(seq_cst);  // [rearm]
  }

  // Under lock.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Entry {
    std::int64_t when;
    TimerNode* node;
  };
  static constexpr std::uint32_t kFirstCapacity = 64;

  static bool before(const Entry& a, const Entry& b) noexcept {
    if (a.when != b.when) return a.when < b.when;
    // The difference, not the numbers: the sequence wraps.
    return static_cast<std::int32_t>(a.node->sequence - b.node->sequence) < 0;
  }
  void place(std::uint32_t index, const Entry& entry) noexcept;
  void sift_up(std::uint32_t hole, const Entry& entry) noexcept;
  void sift_down(std::uint32_t hole, const Entry& entry) noexcept;
  void take_out(std::uint32_t index) noexcept;
  void publish_next() noexcept;

  std::unique_ptr<Entry[]> entries_;  // guarded by lock, as all below
  Plain<std::uint32_t> size_ = 0;
  Plain<std::uint32_t> capacity_ = 0;
  std::uint32_t sequence_ = 0;
  Atomic<std::int64_t> next_{kNever};  // H3; written under lock
};

}  // namespace weft::time
