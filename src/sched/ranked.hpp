// ranked.hpp: where fibers of high and of low priority wait, for any worker.
//
// Two queues that all workers share, as the global one; fibers of normal
// priority never enter them. That of the high ones has a hint in the idle word,
// which every dispatch reads anyway.
//
// Invariants
//   R1  The hint is cleared only by who found the queue empty, and who cleared
//       it looks at the queue once more. So of a push and a clear that meet,
//       the push sees the clear and sets the hint, or the second look sees the
//       push: [urgent]. Should one be lost all the same, the loop asks the
//       queue, not the hint.
//   R2  Nobody goes to sleep by the hint: the scan before it asks the queues,
//       whose push is seq_cst ([sleep] of global_queue.hpp).
#pragma once

#include <cstddef>

#include "fiber/fiber.hpp"
#include "queue/global_queue.hpp"
#include "sched/idle.hpp"

namespace weft::sched {

using fiber::Fiber;

class Ranked {
 public:
  explicit Ranked(Idle& idle) noexcept : idle_(idle) {}

  // Once, before anybody else sees it. False if there is no memory.
  [[nodiscard]] bool init() noexcept {
    return high_.init(kSlots) && low_.init(kSlots);
  }

  // Any thread that owns the fiber, which is not of normal priority; then
  // notify().
  void push(Fiber& fiber) noexcept {
    if (fiber.priority() != Priority::high) return low_.push(&fiber);
    high_.push(&fiber);
    idle_.say_high_waits();
  }
  // Any thread. The one that waits longest, or nullptr.
  [[nodiscard]] Fiber* take_high() noexcept {
    const auto taken = high_.take();
    if (taken.item == nullptr && !taken.busy && idle_.high_waits()) {
      idle_.say_none_waits();
      if (!high_.maybe_empty()) idle_.say_high_waits();  // R1
    }
    return taken.item;
  }
  [[nodiscard]] Fiber* take_low() noexcept { return low_.take().item; }

  // Any thread. False while anybody waits: the idle scan.
  [[nodiscard]] bool maybe_empty() const noexcept {
    return high_.maybe_empty() && low_.maybe_empty();
  }
  // Any thread. For statistics.
  [[nodiscard]] std::size_t high_hint() const noexcept {
    return high_.size_hint();
  }
  [[nodiscard]] std::size_t low_hint() const noexcept {
    return low_.size_hint();
  }

 private:
#if defined(WEFT_MODEL)  // small, as in worker.hpp
  static constexpr std::size_t kSlots = 2;
#else
  static constexpr std::size_t kSlots = 256;  // before the overflow
#endif

  Idle& idle_;
  queue::GlobalQueue<Fiber> high_;
  queue::GlobalQueue<Fiber> low_;
};

}  // namespace weft::sched
