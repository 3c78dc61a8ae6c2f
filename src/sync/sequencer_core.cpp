#include "sync/sequencer_core.hpp"

#include "base/check.hpp"
#include "sched/carrier.hpp"

namespace weft::sync {

namespace {

// As long as it lives nobody is switched away from here: callbacks run, which
// must not wait, and a simulation stops nobody in the middle. Wakes come when
// it goes, all at once.
class Delivery {
 public:
  Delivery() noexcept : here_(sched::carrier_or_null()) {
    // A model's thread has none, and nothing there can wait.
    if (here_ != nullptr) here_->hold(this, __builtin_return_address(0));
  }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  ~Delivery() {
    if (here_ != nullptr) here_->let_go();
  }
  // A delivery may be under way below, on this very stack.
  static bool is_possible() noexcept {
    const auto* const here = sched::carrier_or_null();
    return here != nullptr && here->lock_depth != 0;
  }

 private:
  sched::Carrier* const here_;
};

}  // namespace

// Waits that are done, reached ones as they came, linked by `link`.
struct SequencerCore::Done {
  SequencerWait* first = nullptr;
  SequencerWait* last = nullptr;
  SequencerWait* first_cancelled = nullptr;

  void reached(SequencerWait& wait) noexcept {
    wait.link = nullptr;
    if (last != nullptr) {
      last->link = &wait;
    } else {
      first = &wait;
    }
    last = &wait;
  }
  void cancelled(SequencerWait& wait) noexcept {
    wait.link = first_cancelled;
    first_cancelled = &wait;
  }
  // X2. Each may be gone once it is set.
  void set_all() const noexcept {
    if (first == nullptr && first_cancelled == nullptr) return;
    const Delivery delivery;
    set(first, Errc{});
    set(first_cancelled, Errc::cancelled);
  }
  static void set(SequencerWait* wait, Error error) noexcept {
    while (wait != nullptr) {
      SequencerWait* const rest = wait->link;
      wait->future.set(error);
      wait = rest;
    }
  }
};

void SequencerCore::increment() noexcept {
  counter_.fetch_add(1, acq_rel);  // [count]
  combine();
}

void SequencerCore::advance(std::uint64_t value) noexcept {
  auto now = counter_.load(relaxed);  // the exchange decides
  do {
    if (now >= value) return;
    // [count]
  } while (!counter_.compare_exchange_weak(now, value, acq_rel, relaxed));
  combine();
}

void SequencerCore::wait(std::uint64_t token, SequencerWait& wait) noexcept {
  WEFT_CHECK(wait.is_idle() && !wait.future.is_set(),
             "a sequencer's future is used again before it was reset");
  wait.sequencer = this;
  if (value() >= token) {
    wait.state.store(State::done, relaxed);  // nobody knows it
    wait.future.set(Errc{});
    return;
  }
  wait.token = token;
  wait.state.store(State::requested, relaxed);  // published with the request
  auto* newest = requests_.load(relaxed);       // the exchange decides
  do {
    wait.link = newest;
    // [request] [count]
  } while (!requests_.compare_exchange_weak(newest, &wait, acq_rel, relaxed));
  if (counter_.load(acquire) >= token) combine();  // [count]
}

Status SequencerCore::wait(std::uint64_t token, Deadline deadline) noexcept {
  FutureCore reached;
  SequencerWait mine(reached);
  wait(token, mine);
  const auto end = reached.wait(deadline);
  if (end) return reached.result();
  mine.cancel();
  return reached.result() ? Status() : end;  // reached is reached
}

void SequencerWait::cancel() noexcept {
  auto now = state.load(relaxed);  // the exchange decides
  for (;;) {
    if (now != State::requested && now != State::in_heap) break;
    const bool known = now == State::in_heap;
    const auto then = known ? State::giving_up : State::cancelled;
    // Decides; the stacks order the rest.
    if (!state.compare_exchange_weak(now, then, relaxed, relaxed)) continue;
    SequencerCore& its = *sequencer;
    if (known) {
      auto* newest = its.cancels_.load(relaxed);  // the exchange decides
      do {
        cancel_link = newest;
        // [cancel]
      } while (
          !its.cancels_.compare_exchange_weak(newest, this, release, relaxed));
    }
    its.combine();
    break;
  }
  // Done, by another combiner: it sets this as soon as it has left. If that is
  // below on this stack it goes on when this returns.
  if (now == State::idle || Delivery::is_possible()) return;
  spin_until([this] { return future.is_set(); });
}

// True: this thread combines. Else somebody does, and will look again.
bool SequencerCore::enter() noexcept {
  auto now = Combiner::free;
  for (;;) {
    const auto next =
        now == Combiner::free ? Combiner::busy : Combiner::pending;
    // Also from pending to pending: a look that came later than mine must see
    // my count. [count] [combine]
    if (combiner_.compare_exchange_weak(now, next, acq_rel, relaxed)) {
      return now == Combiner::free;
    }
  }
}

// False: something came meanwhile, and somebody must look again.
bool SequencerCore::leave() noexcept {
  // [combine]; who said pending is seen by the next to enter.
  return combiner_.exchange(Combiner::free, release) != Combiner::pending;
}

// What one pass found is set before the next: however many come, it does not
// wait for them.
void SequencerCore::combine() noexcept {
  for (bool over = false; !over && enter();) {
    Done done;
    pass(done);
    over = leave();
    done.set_all();  // X2
  }
}

void SequencerCore::pass(Done& done) noexcept {
  auto* cancelled = cancels_.exchange(nullptr, acquire);  // [cancel]
  while (cancelled != nullptr) {
    SequencerWait& wait = *cancelled;
    cancelled = wait.cancel_link;
    if (wait.in_heap) heap_.remove(wait);
    wait.in_heap = false;
    wait.state.store(State::done, relaxed);  // X3
    done.cancelled(wait);
  }
  auto* requested = requests_.exchange(nullptr, acq_rel);  // [request]
  while (requested != nullptr) {
    SequencerWait& wait = *requested;
    requested = wait.link;
    auto now = State::requested;
    // Decides; the stacks order the rest.
    if (wait.state.compare_exchange_strong(now, State::in_heap, relaxed,
                                           relaxed)) {
      wait.in_heap = true;
      heap_.insert(wait);
    } else {
      wait.state.store(State::done, relaxed);  // cancelled
      done.cancelled(wait);
    }
  }
  const auto reached = counter_.load(acquire);  // [count]
  while (SequencerWait* const wait = heap_.smallest()) {
    if (wait->token > reached) break;
    heap_.remove(*wait);
    wait->in_heap = false;
    auto now = State::in_heap;
    // Decides; the stacks order the rest.
    if (wait->state.compare_exchange_strong(now, State::done, relaxed,
                                            relaxed)) {
      done.reached(*wait);
    }  // else giving up: X3
  }
}

}  // namespace weft::sync
