// sequencer_core.hpp: a counter that only grows, and futures that are set when
// it has come to their token.
//
// Waits and cancels are pushed onto stacks without a lock. One thread at a
// time, the combiner, takes them, keeps those who wait in a heap and finds who
// is reached; who comes meanwhile says so and leaves:
//
//   free     nobody combines
//   busy     somebody does
//   pending  and has to look again: something came while he was at it
//
// Of one wait (State):
//
//   idle -> requested -> in_heap ------------> done     reached
//                |          '----> giving_up -> done    cancelled, by its stack
//                '-> cancelled --------------> done     cancelled, as a request
//
// Invariants
//   X1  The heap belongs to the combiner.
//   X2  A wait is completed by the combiner that makes it done, once, after it
//       has left: so that what is set may come here again.
//   X3  giving_up: it is on the stack of cancels, or about to be, and completed
//       by who takes it from there, reached or not.
//
// Edges
//   [count]    advance() -> value(), wait(), pass(): what came before. Who
//              counts then changes the combiner's word, and so does who leaves
//              it: the later one of the two has seen the other. wait() changes
//              requests_ before it reads the counter, and so does pass(): the
//              same. Only exchanges, no stores: with a store to that word
//              acquire and release would lose the last wake.
//   [request]  wait() -> pass(): the wait.
//   [cancel]   cancel() -> pass(): the same, once more.
//   [combine]  leave() -> enter(): the heap.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"
#include "sync/future_core.hpp"
#include "sync/token_heap.hpp"

namespace weft::sync {

class SequencerCore;

struct SequencerWait : TokenHook<SequencerWait> {
  enum class State : std::uint32_t {
    idle,
    requested,
    in_heap,
    cancelled,
    giving_up,
    done,
  };
  FutureCore& future;
  Plain<std::uint64_t> token = 0;
  Plain<SequencerCore*> sequencer = nullptr;
  Plain<SequencerWait*> link = nullptr;         // request, then what is done
  Plain<SequencerWait*> cancel_link = nullptr;  // beside the heap's links
  Atomic<State> state{State::idle};
  Plain<bool> in_heap = false;  // the combiner's

  explicit SequencerWait(FutureCore& its_future) noexcept
      : future(its_future) {}
  // Any fiber or thread. When it returns it is set, by this or before.
  void cancel() noexcept;
  // Not known to a sequencer any more, or never was. Done is not enough: until
  // it is set, who completes it has it in a list.
  bool is_idle() const noexcept {
    const auto now = state.load(relaxed);  // whoever uses it again
    return now == State::idle || (now == State::done && future.is_set());
  }
};

class SequencerCore {
 public:
  explicit SequencerCore(std::uint64_t start) noexcept : counter_(start) {}

  // Any thread.
  std::uint64_t value() const noexcept {
    return counter_.load(acquire);  // [count]
  }
  void increment() noexcept;
  // No-op if not greater.
  void advance(std::uint64_t value) noexcept;
  // Any thread. Sets `wait` when the counter has come to the token.
  void wait(std::uint64_t token, SequencerWait& wait) noexcept;
  // Any fiber or thread. Errors: cancelled, timed_out, exhausted (memory).
  Status wait(std::uint64_t token, Deadline deadline) noexcept;

  // Whoever destroys it.
  bool unused() const noexcept {
    // Nobody else is here.
    return heap_.empty() && requests_.load(relaxed) == nullptr &&
           cancels_.load(relaxed) == nullptr &&
           combiner_.load(relaxed) == Combiner::free;
  }

 private:
  friend struct SequencerWait;
  using State = SequencerWait::State;
  enum class Combiner : std::uint32_t { free, busy, pending };
  // What became done, in order.
  struct Done;

  void combine() noexcept;
  bool enter() noexcept;
  bool leave() noexcept;
  void pass(Done& done) noexcept;

  Atomic<std::uint64_t> counter_;
  Atomic<SequencerWait*> requests_{nullptr};
  Atomic<SequencerWait*> cancels_{nullptr};
  Atomic<Combiner> combiner_{Combiner::free};
  TokenHeap<SequencerWait> heap_;  // X1
};

}  // namespace weft::sync
