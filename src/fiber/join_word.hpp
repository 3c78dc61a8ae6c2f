// join_word.hpp: who reclaims a fiber's frame, and who waits for its end.
//
//   value     means
//   none      running, the handle is held
//   a node    running, the holder waits at that node
//   dropped   running, nobody holds the handle
//   in place  running, on the stack of the holder, who waits that way
//   done      ended
//
// Invariants
//   J1  A frame is reclaimed by exactly one party, decided here, never by
//       looking at the control word.
//   J2  After finish() the worker touches the frame only if it got dropped.
//   J3  Stack given up and DONE published before finish().
//
// Edges
//   [done]      finish() -> is_done(), enter(), drop(): result, exception.
//   [joiner]    enter() -> finish(): the node.
//   [dropped]   drop() -> finish(): the holder's last use of the frame.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"
#include "base/check.hpp"
#include "fiber/wait_node.hpp"

namespace weft::fiber {

class JoinWord {
 public:
  enum class Entered : std::uint8_t { waiting, done, taken };
  struct Finished {
    WaitNode* joiner = nullptr;
    bool reclaim = false;
  };

  // Spawner only, frame exclusive.
  void reset() noexcept {
    word_.store(kNone, relaxed);  // published with the frame
  }

  // Worker only: the fiber has ended. What it now owes.
  [[nodiscard]] Finished finish() noexcept {
    const auto seen = word_.exchange(kDone, acq_rel);  // [done] [joiner]
    if (seen == kDropped) return {nullptr, true};      // [dropped]
    if (seen == kNone) return {};
    return {reinterpret_cast<WaitNode*>(seen), false};
  }

  // The holder is about to run the fiber on its own stack: nobody else waits
  // from now on. False: somebody does. No exchange: who enters at this very
  // moment is a second thread at the same handle.
  [[nodiscard]] bool begin_in_place() noexcept {
    if (word_.load(relaxed) != kNone) return false;  // the holder's
    word_.store(kInPlace, relaxed);                  // the holder's
    return true;
  }
  // The same, when it has ended.
  void finish_in_place() noexcept {
    word_.store(kDone, release);  // [done]
  }

  // Holder only: wait at this node. taken: somebody waits already.
  [[nodiscard]] Entered enter(WaitNode& node) noexcept {
    auto seen = kNone;
    const auto value = reinterpret_cast<std::uintptr_t>(&node);
    // [joiner] [done]
    if (word_.compare_exchange_strong(seen, value, acq_rel, acquire)) {
      return Entered::waiting;
    }
    return seen == kDone ? Entered::done : Entered::taken;
  }

  // Holder only: no longer wait. False: a waker has the node, wait for gone.
  [[nodiscard]] bool leave(WaitNode& node) noexcept {
    auto seen = reinterpret_cast<std::uintptr_t>(&node);
    // [done]
    return word_.compare_exchange_strong(seen, kNone, acq_rel, acquire);
  }

  // Holder only, and the last use of the handle. True: the caller reclaims.
  [[nodiscard]] bool drop() noexcept {
    auto seen = kNone;
    // [dropped] [done]
    if (word_.compare_exchange_strong(seen, kDropped, acq_rel, acquire)) {
      return false;
    }
    WEFT_CHECK(seen == kDone,
               "a Task is destroyed while somebody waits for it");
    return true;
  }

  // Holder only, as drop(), while nobody can start the fiber.
  void drop_unstarted() noexcept {
    WEFT_CHECK(word_.load(relaxed) == kNone,  // the holder's
               "a Task is destroyed while somebody waits for it");
    word_.store(kDropped, relaxed);  // published with the queue it is in
  }
  // The worker that reclaims it, and goes on with it first.
  void drop_again() noexcept {
    word_.store(kDropped, relaxed);  // nobody else is left to look
  }
  // Whoever runs the fiber: nobody will ever wait for it.
  bool is_dropped() const noexcept {
    return word_.load(acquire) == kDropped;  // [dropped]
  }

  bool is_done() const noexcept {
    return word_.load(acquire) == kDone;  // [done]
  }

 private:
  static constexpr std::uintptr_t kNone = 0;
  static constexpr std::uintptr_t kDropped = 1;
  static constexpr std::uintptr_t kDone = 2;
  static constexpr std::uintptr_t kInPlace = 3;

  Atomic<std::uintptr_t> word_{kNone};
};

}  // namespace weft::fiber
