// mistakes_model.cpp: how others lost wakes, stacks and nodes, and how not to.
//
// Each mistake was made, or written down, by somebody; its row is named. The
// checker must find it. Beside it stands the same program done right, where
// there is one over the real headers.
#include "fiber/control_word.hpp"
#include "fiber/fiber.hpp"
#include "fiber/join_word.hpp"
#include "protocol.hpp"

namespace weft::model {

namespace {

using fiber::Committed;
using fiber::ControlWord;
using fiber::JoinWord;
using fiber::Unparked;
using fiber::WaitNode;

// What the orders of a mistake are, and what they must be.
struct Weak {
  static constexpr auto load = acquire;
  static constexpr auto store = release;
  static constexpr auto change = acq_rel;
};
struct Strong {
  static constexpr auto load = seq_cst;
  static constexpr auto store = seq_cst;
  static constexpr auto change = seq_cst;
};

// C-09: the latch of specification 003, 4.2 and 4.3, in a word of its own. The
// waker reads parking; the parker commits and finds no latch; the waker sets
// it, and nobody will ever look. seq_cst does not help.
template <typename Orders, bool kLooksAgain>
struct TwoWords {
  enum : int { parking, parked, runnable };
  Atomic<int> state{parking};
  Atomic<int> wake_pending{0};
  Atomic<int> queued{0};

  bool claim() {
    int expected = parked;
    return state.compare_exchange_strong(expected, runnable, Orders::change);
  }
  void park() {
    int expected = parking;
    (void)state.compare_exchange_strong(expected, parked, Orders::change);
    if (wake_pending.exchange(0, Orders::change) == 1 && claim()) return;
    while (queued.load(acquire) == 0) pause();
  }
  void wake() {
    if (state.load(Orders::load) == parking) {
      wake_pending.store(1, Orders::store);
      // The repair: had it committed meanwhile, its look at the latch may have
      // come too early.
      if (!kLooksAgain || state.load(Orders::load) != parked) return;
    }
    if (claim()) queued.store(1, release);
  }
};

template <typename Orders, bool kLooksAgain>
void latch(Program& p) {
  auto& fiber = p.make<TwoWords<Orders, kLooksAgain>>("fiber");
  p.thread("parker", [&] { fiber.park(); });
  p.thread("waker", [&] { fiber.wake(); });
}

// The latch is a bit of the word: a commit that did not see it fails.
void latch_in_the_word(Program& p) {
  auto& word = p.make<ControlWord>("word");
  auto& queued = p.make<Atomic<int>>("queued", 0);
  word.reserve();
  word.publish();
  (void)word.start(1);
  (void)word.begin_park(1);
  p.thread("parker", [&] {
    if (word.commit() == Committed::resume_now) return;
    while (queued.load(acquire) == 0) pause();
  });
  p.thread("waker", [&] {
    if (word.unpark() == Unparked::owns) queued.store(1, release);
  });
}

// B-01: the child stores done and then looks for a waiter, the parent enters
// itself and then looks for done. Both may miss the other.
template <typename Orders>
struct TwoWordJoin {
  Atomic<int> done{0};
  Atomic<int> waiter{0};
  Atomic<int> woken{0};

  void end() {
    done.store(1, Orders::store);
    if (waiter.load(Orders::load) != 0) woken.store(1, release);
  }
  void join() {
    waiter.store(1, Orders::store);
    if (done.load(Orders::load) != 0) return;
    while (woken.load(acquire) == 0) pause();
  }
};

template <typename Orders>
void join_in_two_words(Program& p) {
  auto& child = p.make<TwoWordJoin<Orders>>("child");
  p.thread("child", [&] { child.end(); });
  p.thread("parent", [&] { child.join(); });
}

// One word holds the waiter or the end: who comes second sees the first.
void join_in_one_word(Program& p) {
  auto& join = p.make<JoinWord>("join");
  auto& node = p.make<WaitNode>("node");
  auto& woken = p.make<Atomic<int>>("woken", 0);
  p.thread("child", [&] {
    if (join.finish().joiner != nullptr) woken.store(1, release);
  });
  p.thread("parent", [&] {
    if (join.enter(node) != JoinWord::Entered::waiting) return;
    while (woken.load(acquire) == 0) pause();
  });
}

// B-02: what a thread waits at is made by the first join, after it looked for
// the end. A child that ends in between finds nothing to signal. Everything is
// seq_cst; only a second look helps.
struct Condition {
  Atomic<int> signalled{0};
};
template <bool kLooksAgain>
struct LazyCondition {
  Atomic<int> done{0};
  Atomic<Condition*> condition{nullptr};
  Condition made;

  void end() {
    done.store(1, seq_cst);
    if (Condition* there = condition.load(seq_cst)) {
      there->signalled.store(1, seq_cst);
    }
  }
  void join() {
    if (done.load(seq_cst) != 0) return;
    condition.store(&made, seq_cst);
    if (kLooksAgain && done.load(seq_cst) != 0) return;
    while (made.signalled.load(seq_cst) == 0) pause();
  }
};

template <bool kLooksAgain>
void lazy_condition(Program& p) {
  auto& child = p.make<LazyCondition<kLooksAgain>>("child");
  p.thread("child", [&] { child.end(); });
  p.thread("thread", [&] { child.join(); });
}

// B-03: the worker says that the fiber ended while it is still on its stack;
// the joiner gives the stack to the next one. J3 has it the other way round.
template <bool kLeavesFirst>
void end_on_its_stack(Program& p) {
  auto& join = p.make<JoinWord>("join");
  auto& stack = p.make<Plain<int>>("stack", 0);
  p.thread("worker", [&] {
    if (kLeavesFirst) stack = 1;
    (void)join.finish();
    if (!kLeavesFirst) stack = 1;
  });
  p.thread("joiner", [&] {
    if (join.is_done()) stack = 2;
  });
}

// B-04: the fiber commits itself before it has left its stack. A waker owns it
// at once, and a second worker resumes registers that are not yet saved, on a
// stack that the first one is on. C2 has it the other way round.
template <bool kLeavesFirst>
void commit_on_its_stack(Program& p) {
  auto& word = p.make<ControlWord>("word");
  auto& registers = p.make<Plain<int>>("registers", 0);
  word.reserve();
  word.publish();
  (void)word.start(1);
  (void)word.begin_park(1);
  p.thread("worker1", [&] {
    if (kLeavesFirst) registers = 1;
    const auto committed = word.commit();
    if (!kLeavesFirst) registers = 1;
    if (committed == Committed::resume_now) registers = 2;
  });
  p.thread("worker2", [&] {
    if (word.unpark() != Unparked::owns) return;
    word.resume(2);
    registers = 2;
  });
}

// B-35: the waker stores notified and then asks the node whom to enqueue. The
// owner has seen notified, and its stack is something else by now.
struct Notified {
  Plain<int> fiber = 1;
  Atomic<int> notified{0};
  Plain<int> enqueued = 0;

  void wake() {
    notified.store(1, release);
    enqueued = fiber;
  }
  void wait() {
    while (notified.load(acquire) == 0) pause();
    fiber = 0;  // its frame is left
  }
};

void touch_after_notified(Program& p) {
  auto& node = p.make<Notified>("node");
  p.thread("waker", [&] { node.wake(); });
  p.thread("owner", [&] { node.wait(); });
}

// settle() has copied what it needs: gone is its last touch.
void gone_is_the_last_touch(Program& p) {
  auto& fiber = p.make<fiber::Fiber>("fiber");
  auto& node = p.make<WaitNode>("node");
  auto& enqueued = p.make<Plain<fiber::Fiber*>>("enqueued", nullptr);
  fiber.word.reserve();
  fiber.word.publish();
  (void)fiber.word.start(1);
  (void)fiber.word.begin_wait(1, false);
  (void)fiber.word.commit();
  node.fiber = &fiber;
  node.ticket = 1;
  node.linked();
  p.thread("waker", [&] {
    fiber::Fiber* owned = nullptr;
    (void)node.settle(fiber::Reason::signal, owned);
    enqueued = owned;
  });
  p.thread("owner", [&] {
    while (!node.gone()) pause();
    expect(node.reason == fiber::Reason::signal, "W4: the reason came");
    node.fiber = nullptr;  // its frame is left
  });
  p.finally([&] { expect(enqueued == &fiber, "the waker owns the fiber"); });
}

// C-22, B-09: the combiner of specification 001. Who finds `pending` leaves its
// work to the combiner, which takes `pending` back before it looks again. With
// release and acquire the increment that came last and that look may miss each
// other, and nobody wakes who waits for the last token.
template <typename Orders>
struct Sequencer {
  enum : int { free, busy, pending };
  explicit Sequencer(int waits_for) : token(waits_for) {}

  Atomic<int> counter{0};
  Atomic<int> state{free};
  const int token;  // of the one future in the tree
  Plain<bool> is_set = false;

  void increment() {
    counter.fetch_add(1, Orders::change);
    drain();
  }
  void drain() {
    auto seen = state.load(Orders::load);
    do {
      if (seen == pending) return;  // the combiner will look again
    } while (!state.compare_exchange_strong(seen, seen == free ? busy : pending,
                                            Orders::change, Orders::load));
    if (seen == busy) return;
    for (;;) {
      if (counter.load(Orders::load) >= token) is_set = true;
      seen = busy;
      if (state.compare_exchange_strong(seen, free, acq_rel, acquire)) return;
      state.store(busy, Orders::store);
    }
  }
};

template <typename Orders>
void combiner(Program& p) {
  auto& sequencer = p.make<Sequencer<Orders>>("sequencer", 3);
  for (const char* name : {"first", "second", "third"}) {
    p.thread(name, [&] { sequencer.increment(); });
  }
  p.finally([&] { expect(sequencer.is_set, "who waits for 3 is woken"); });
}

constexpr const char* kFile = "models/mistakes_model.cpp";

}  // namespace

Protocol mistakes() {
  constexpr auto kLost = Verdict::deadlock;
  return {
      .name = "mistakes",
      .files = {kFile},
      .scenarios =
          {{"C-09 latch, seq_cst", latch<Strong, false>, {}, kLost},
           {"C-09 looks again, acq_rel", latch<Weak, true>, {}, kLost},
           {"C-09 looks again, seq_cst", latch<Strong, true>},
           {"C-09 right: one word", latch_in_the_word},
           {"B-01 two words, acq_rel", join_in_two_words<Weak>, {}, kLost},
           {"B-01 two words, seq_cst", join_in_two_words<Strong>},
           {"B-01 right: one word", join_in_one_word},
           {"B-02 lazy condition", lazy_condition<false>, {}, kLost},
           {"B-02 right: looks again", lazy_condition<true>},
           {"B-03 end on its stack",
            end_on_its_stack<false>,
            {},
            Verdict::race},
           {"B-03 right: leaves first", end_on_its_stack<true>},
           {"B-04 commit on its stack",
            commit_on_its_stack<false>,
            {},
            Verdict::race},
           {"B-04 right: leaves first", commit_on_its_stack<true>},
           {"B-35 touch after notified",
            touch_after_notified,
            {},
            Verdict::race},
           {"B-35 right: copies first", gone_is_the_last_touch},
           {"C-22 combiner, acq_rel", combiner<Weak>, {}, Verdict::failed},
           {"C-22 combiner, seq_cst", combiner<Strong>}},
      // One weaker order in what is right makes the mistake again.
      .mutations = {
          {"latch: set release", kFile, "::wake(", "wake_pending.store",
           release},
          {"latch: looks again acquire", kFile, "::wake(", "if (!kLooksAgain",
           acquire},
          {"latch: commit acq_rel", kFile, "::park(", "(expected, parked,",
           acq_rel},
          {"latch: look acq_rel", kFile, "::park(", "wake_pending.exchange",
           acq_rel},
          {"join: done release", kFile, "::end(", "done.store", release},
          {"join: waiter acquire", kFile, "::end(", "waiter.load", acquire},
          {"join: waiter release", kFile, "::join(", "waiter.store", release},
          {"join: done acquire", kFile, "::join(", "done.load", acquire},
          {"combiner: counter acq_rel", kFile, "::increment(",
           "counter.fetch_add", acq_rel},
          {"combiner: pending acquire", kFile, "::drain(",
           "auto seen = state.load", acquire},
          {"combiner: busy release", kFile, "::drain(", "state.store(busy",
           release},
          {"combiner: look acquire", kFile, "::drain(", "counter.load",
           acquire},
      }};
}

}  // namespace weft::model
