// ring.hpp: a bounded FIFO for any number of producers and consumers.
//
// Each slot carries a sequence number that says whose turn it is. For the
// position p, with n slots:
//
//   sequence    the slot is                        next step
//   --------    ------------------------------     ---------------------------
//   p           free                               push() reserves: tail_ = p+1
//   p           reserved, not yet filled (busy)    push() fills: sequence = p+1
//   p + 1       filled                             take() claims: head_ = p+1
//   p + 1       claimed, not yet read              take() frees: sequence = p+n
//
// A reserved slot is not empty and not takeable: take() answers `busy` and
// nobody waits for it. Its producer tells the sleepers after the fill.
//
// Invariant
//   G1  head_ <= tail_ <= head_ + n, and both only grow.
//
// Edges
//   [fill]   push() sequence -> take() sequence: the item and its contents.
//   [free]   take() sequence -> push() sequence: the item has been read.
//   [sleep]  push() writes tail_, then its caller reads who sleeps (or whether
//            the ring's owner lives); a worker says that it sleeps (or ends),
//            then maybe_empty() reads tail_. One of them sees the other.
//
// Algorithm: Vyukov, bounded MPMC queue, 2010.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "base/atomic.hpp"
#include "base/check.hpp"
#include "base/fault.hpp"

namespace weft::queue {

// What a take() gave.
template <typename T>
struct Taken {
  T* item = nullptr;
  bool busy = false;  // no item, yet not empty: somebody is about to fill one
};

struct QueueProbe;  // of the tests: stops a producer between its two steps

template <typename T>
class Ring {
 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Once, before anybody else sees the ring. False if there is no memory.
  // With a single slot `filled` and `free` would be the same number.
  [[nodiscard]] bool init(std::size_t slots) noexcept {
    WEFT_CHECK(slots >= 2 && std::has_single_bit(slots),
               "a ring of %zu slots: not a power of two", slots);
    if (base::refused(base::FaultPoint::queue_array)) return false;
    slots_.reset(new (std::nothrow) Slot[slots]);
    if (slots_ == nullptr) return false;
    for (std::size_t i = 0; i < slots; ++i) {
      slots_[i].sequence.store(i, relaxed);  // nobody else is here yet
    }
    mask_ = slots - 1;
    return true;
  }

  // Any thread. False if full: the caller puts it elsewhere.
  [[nodiscard]] bool push(T* item) noexcept {
    std::size_t position = 0;
    if (!reserve(position)) return false;
    fill(position, item);
    return true;
  }

  // Any thread. The oldest item.
  [[nodiscard]] Taken<T> take() noexcept {
    auto position = head_.load(relaxed);  // a guess; the exchange decides
    for (;;) {
      Slot& slot = slots_[position & mask_];
      const auto turn = slot.sequence.load(acquire);  // [fill]
      const auto lead = static_cast<std::int64_t>(turn - (position + 1));
      if (lead < 0) {
        // Not filled, so head_ is still here; G1 leaves two cases.
        return {.busy = tail_.load(seq_cst) != position};  // [sleep]
      }
      if (lead > 0) {
        position = head_.load(relaxed);  // others were faster
        continue;
      }
      // Relaxed: the item came by [fill], the slot goes back by [free].
      if (head_.compare_exchange_weak(position, position + 1, relaxed)) {
        T* item = slot.item;
        slot.sequence.store(position + mask_ + 1, release);  // [free]
        return {.item = item};
      }
    }
  }

  // Any thread. False while a slot is filled or reserved: the idle scan. Head
  // before tail: if they are equal, the ring was empty when tail was read.
  [[nodiscard]] bool maybe_empty() const noexcept {
    const auto head = head_.load(seq_cst);  // [sleep]
    return tail_.load(seq_cst) == head;     // [sleep]
  }

  // Any thread. For statistics.
  [[nodiscard]] std::size_t size_hint() const noexcept {
    const auto head = head_.load(relaxed);
    const auto tail = tail_.load(relaxed);
    return tail > head ? tail - head : 0;
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return mask_ + 1; }

 private:
  friend struct QueueProbe;

  struct Slot {
    Atomic<std::size_t> sequence;
    Plain<T*> item;
  };

  bool reserve(std::size_t& position) noexcept {
    position = tail_.load(relaxed);  // a guess; the exchange decides
    for (;;) {
      const auto turn =
          slots_[position & mask_].sequence.load(acquire);  // [free]
      const auto lead = static_cast<std::int64_t>(turn - position);
      if (lead < 0) return false;  // still holds the item of the last lap
      if (lead > 0) {
        position = tail_.load(relaxed);  // others were faster
        continue;
      }
      // [sleep]
      if (tail_.compare_exchange_weak(position, position + 1, seq_cst,
                                      relaxed)) {
        return true;
      }
    }
  }

  void fill(std::size_t position, T* item) noexcept {
    Slot& slot = slots_[position & mask_];
    slot.item = item;
    slot.sequence.store(position + 1, release);  // [fill]
  }

  std::unique_ptr<Slot[]> slots_;  // immutable after init()
  std::size_t mask_ = 0;           // immutable after init()
  alignas(kCacheLine) Atomic<std::size_t> head_{0};
  alignas(kCacheLine) Atomic<std::size_t> tail_{0};
};

}  // namespace weft::queue
