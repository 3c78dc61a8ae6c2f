// wait_node.hpp: one place at which a fiber waits.
//
// Lives on the waiting fiber's stack; nothing is allocated to wait.
//
//   gone                 in list   who may touch the node
//   true (before link)   no        its owner
//   false                yes       whoever holds the source's lock
//   false, taken off     no        the waker that took it, until it stores gone
//   true                 no        its owner
//
// Invariants
//   W1  Of all wakers of one wait exactly one changes the claim from open. It
//       alone writes slot and reason, and enqueues.
//   W2  Who can still attempt a claim keeps the wait from returning.
//   W3  Before a wait returns every node is gone. After storing gone a waker
//       touches neither the node nor its owner's stack.
//   W4  slot and reason are written between claim and gone.
//
// Edges
//   [gone]  the waker's gone -> the owner's: slot, reason, end of its access.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"
#include "base/intrusive_list.hpp"
#include "fiber/control_word.hpp"

namespace weft::fiber {

class Fiber;

enum class Reason : std::uint8_t {
  none = 0,
  data = 1,
  cancel = 2,
  close = 3,
  signal = 4,
};

struct WaitNode : base::ListHook {
  Plain<Fiber*> fiber = nullptr;
  Plain<std::uint64_t> ticket = 0;
  void* slot = nullptr;  // where a value goes to or comes from
  Plain<std::uint16_t> index = 0;
  Plain<Reason> reason = Reason::none;

  // Owner only. False while some waker or list still has the node.
  bool gone() const noexcept {
    return gone_.load(acquire);  // [gone]
  }
  // Under the source's lock, or before the node is published.
  void linked() noexcept {
    gone_.store(false, relaxed);  // the lock or the slot orders it
  }
  void unlinked() noexcept {
    gone_.store(true, relaxed);  // the lock orders it
  }

  // A waker that took the node off its source: tries to end the wait by it.
  // True if won: then conclude(). owned: the fiber to enqueue, if any. False:
  // the last touch of the node.
  // near: see ControlWord::claim().
  [[nodiscard]] bool claim(Fiber*& owned, unsigned near = 0) noexcept;
  // Once what it waited for is in its slot. The last touch of the node.
  void conclude(Reason why) noexcept;
  // Both, where nothing is handed over.
  [[nodiscard]] bool settle(Reason why, Fiber*& owned) noexcept;

 private:
  Atomic<bool> gone_{true};
};

}  // namespace weft::fiber
