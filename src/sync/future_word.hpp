// future_word.hpp: whether a future is set, and who is told when it is.
//
//   bits 2-63  whom     the node of the one who waits, or a callback; 0: nobody
//   bit  1     callback what whom is
//   bit  0     set
//
// A wait for several futures has a node at each (wait_any).
//
// Invariants
//   P1  Set once: the exchange that sets it takes whom, and is the setter's
//       last touch of the future.
//   P2  Who waits leaves with his node: takes it back, or sees it gone.
//
// Edges
//   [set]   set() -> is_set(), enter(), leave(): the result.
//   [whom]  enter(), subscribe() -> set(): the node, the callback.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"
#include "fiber/wait_node.hpp"

namespace weft::sync {

using fiber::WaitNode;

class FutureWord {
 public:
  enum class Entered : std::uint8_t { waiting, set, taken };
  struct Told {
    bool first = false;  // it was not set before
    WaitNode* node = nullptr;
    void* callback = nullptr;
  };

  constexpr FutureWord() noexcept = default;

  // The setter, and its last touch.
  [[nodiscard]] Told set() noexcept {
    const auto w = word_.exchange(kSet, acq_rel);  // [set] [whom]
    if ((w & kSet) != 0) return {};
    if ((w & kCallback) != 0) {
      return {true, nullptr, reinterpret_cast<void*>(w & ~kFlags)};
    }
    return {true, reinterpret_cast<WaitNode*>(w), nullptr};
  }

  // Any thread.
  bool is_set() const noexcept {
    return (word_.load(acquire) & kSet) != 0;  // [set]
  }

  // The one who waits. taken: somebody does already.
  [[nodiscard]] Entered enter(WaitNode& node) noexcept {
    return install(reinterpret_cast<std::uintptr_t>(&node));
  }
  // The same who is told by a call: word-aligned.
  [[nodiscard]] Entered subscribe(void* callback) noexcept {
    return install(reinterpret_cast<std::uintptr_t>(callback) | kCallback);
  }
  // The one who waits. False: a setter has the node, wait for gone.
  [[nodiscard]] bool leave(WaitNode& node) noexcept {
    auto w = reinterpret_cast<std::uintptr_t>(&node);
    // [set]
    return word_.compare_exchange_strong(w, 0, acq_rel, acquire);
  }

  // Whoever has both sides. False: somebody is to be told.
  [[nodiscard]] bool reset() noexcept {
    if (!unused()) return false;
    word_.store(0, relaxed);  // both sides are the caller's
    return true;
  }
  bool unused() const noexcept {
    return (word_.load(relaxed) & ~kSet) == 0;  // as reset()
  }

 private:
  static constexpr std::uintptr_t kSet = 1;
  static constexpr std::uintptr_t kCallback = 2;
  static constexpr std::uintptr_t kFlags = kSet | kCallback;

  Entered install(std::uintptr_t whom) noexcept {
    std::uintptr_t w = 0;
    // [whom] [set]
    if (word_.compare_exchange_strong(w, whom, acq_rel, acquire)) {
      return Entered::waiting;
    }
    return (w & kSet) != 0 ? Entered::set : Entered::taken;
  }

  Atomic<std::uintptr_t> word_{0};
};

}  // namespace weft::sync
