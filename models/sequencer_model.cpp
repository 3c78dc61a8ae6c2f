// sequencer_model.cpp: the combiner of a sequencer, and who waits at it.
//
// When all have left, who waits for what was reached is set, once, and has seen
// what came before; and who was cancelled is set when cancel() returns.
#include "plain_thread.hpp"
#include "protocol.hpp"
#include "sync/sequencer_core.hpp"

namespace weft::model {

namespace {

using sync::FutureCore;
using sync::SequencerCore;
using sync::SequencerWait;

// A wait whose end is told by a call.
struct Waiter : sync::Callback {
  FutureCore future;
  SequencerWait wait{future};
  Plain<int> calls = 0;
  std::function<void()> then;

  Waiter() : Callback{&Waiter::called} { (void)future.subscribe(*this); }
  static void called(Callback& it) noexcept {
    auto& self = static_cast<Waiter&>(it);
    self.calls = self.calls + 1;
    if (self.then) self.then();
  }
};

struct Scene {
  explicit Scene(Program& p)
      : sequencer(p.make<SequencerCore>("sequencer", 0)),
        waiters(p.make<std::array<Waiter, 2>>("waiters")),
        said(p.make<std::array<Plain<int>, 3>>("said")) {}

  void wait(std::size_t i, std::uint64_t token) const {
    sequencer.wait(token, waiters[i].wait);
  }
  // Before the threads run: known to the combiner, not only requested.
  void wait_in_heap(std::size_t i, std::uint64_t token) const {
    wait(i, token);
    if (sequencer.value() == 0) sequencer.increment();
  }
  void increment(std::size_t i) const {
    said[i] = 7;
    sequencer.increment();
  }
  // When this one is told: so many have been here before.
  void expect_said(std::size_t i, std::size_t count) const {
    waiters[i].then = [s = *this, count] {
      for (std::size_t k = 0; k < count; ++k) {
        expect(s.said[k] == 7, "what came before is seen");
      }
    };
  }
  void cancel(std::size_t i) const {
    waiters[i].wait.cancel();
    expect(waiters[i].future.is_set(), "set when it returns");
  }
  void expect_told(std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      expect(waiters[i].calls == 1, "told once");
      expect(waiters[i].wait.is_idle(), "no sequencer knows it");
    }
    expect(sequencer.unused(), "nobody is left");
  }
  bool is_reached(std::size_t i) const {
    return waiters[i].future.result().has_value();
  }

  SequencerCore& sequencer;
  std::array<Waiter, 2>& waiters;
  std::array<Plain<int>, 3>& said;
};

// C-22, B-09: who comes last finds the combiner at its last look.
void incrementers(Program& p, std::size_t count) {
  const Scene s(p);
  s.wait(0, count);
  s.expect_said(0, count);
  constexpr const char* kNames[] = {"first", "second", "third"};
  for (std::size_t i = 0; i < count; ++i) {
    p.thread(kNames[i], [=] { s.increment(i); });
  }
  p.finally([=] { s.expect_told(1); });
}
void two_incrementers(Program& p) { incrementers(p, 2); }
void three_incrementers(Program& p) { incrementers(p, 3); }

void request_or_increment(Program& p) {
  const Scene s(p);
  s.expect_said(0, 1);
  p.thread("waiter", [=] { s.wait(0, 1); });
  p.thread("incrementer", [=] { s.increment(0); });
  p.finally([=] { s.expect_told(1); });
}

// The request comes between the two, or while one combines.
void request_or_two(Program& p) {
  const Scene s(p);
  s.expect_said(0, 2);
  p.thread("waiter", [=] { s.wait(0, 2); });
  p.thread("first", [=] { s.increment(0); });
  p.thread("second", [=] { s.increment(1); });
  p.finally([=] { s.expect_told(1); });
}

// [count] of wait(): the combiner knows of one more only by the order of
// seq_cst, and a request that it just missed looks by itself.
void increment_and_request(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] {
    s.increment(0);
    s.wait(0, 3);
  });
  p.thread("first", [=] { s.increment(1); });
  p.thread("second", [=] { s.increment(2); });
  p.finally([=] { s.expect_told(1); });
}

void advance(Program& p) {
  const Scene s(p);
  s.wait(0, 2);
  p.thread("far", [=] { s.sequencer.advance(2); });
  p.thread("near", [=] { s.sequencer.advance(1); });
  p.thread("waiter", [=] { s.wait(1, 1); });
  p.finally([=] {
    s.expect_told(2);
    expect(s.sequencer.value() == 2, "it only grows");
  });
}

// Who finds the value there, without a wait, has seen what came before.
void look(Program& p) {
  const Scene s(p);
  p.thread("advancer", [=] {
    s.said[0] = 7;
    s.sequencer.advance(1);
  });
  p.thread("looker", [=] {
    if (s.sequencer.value() == 1)
      expect(s.said[0] == 7, "and what came before");
  });
}

// B-10: reached or cancelled, once.
void cancel_or_reach(Program& p, bool in_heap) {
  const Scene s(p);
  in_heap ? s.wait_in_heap(0, 2) : s.wait(0, 1);
  p.thread("incrementer", [=] { s.increment(0); });
  p.thread("canceller", [=] { s.cancel(0); });
  p.finally([=] { s.expect_told(1); });
}
void cancel_request_or_reach(Program& p) { cancel_or_reach(p, false); }
void cancel_in_heap_or_reach(Program& p) { cancel_or_reach(p, true); }

void two_cancels(Program& p, bool in_heap, bool of_one) {
  const Scene s(p);
  s.wait(0, 2);
  if (!of_one) s.wait(1, 3);
  if (in_heap) s.sequencer.increment();
  p.thread("first", [=] { s.cancel(0); });
  p.thread("second", [=] { s.cancel(of_one ? 0 : 1); });
  p.finally([=] {
    s.expect_told(of_one ? 1 : 2);
    expect(!s.is_reached(0), "cancelled");
  });
}
void two_cancel_a_request(Program& p) { two_cancels(p, false, true); }
void two_cancel_one(Program& p) { two_cancels(p, true, true); }
void two_cancel_two(Program& p) { two_cancels(p, true, false); }

// One is cancelled while the other one is reached.
void cancel_beside_reach(Program& p) {
  const Scene s(p);
  s.wait(0, 3);
  s.wait_in_heap(1, 2);
  p.thread("incrementer", [=] { s.increment(0); });
  p.thread("canceller", [=] { s.cancel(0); });
  p.finally([=] {
    s.expect_told(2);
    expect(!s.is_reached(0) && s.is_reached(1), "each has its own");
  });
}

// X2: what is set may come here again.
void from_a_callback(Program& p) {
  const Scene s(p);
  s.wait(0, 1);
  s.waiters[0].then = [=] {
    s.wait(1, 3);
    s.increment(2);
  };
  p.thread("first", [=] { s.increment(0); });
  p.thread("second", [=] { s.increment(1); });
  p.finally([=] { s.expect_told(2); });
}

// Of two that are reached at once each cancels the other when it is told: the
// first does not wait for the second, which comes after it on the same stack.
void callback_cancels_next(Program& p) {
  const Scene s(p);
  auto& thread = p.make<PlainThread>("thread");
  for (std::size_t i = 0; i < 2; ++i) {
    s.wait(i, 1);
    s.waiters[i].then = [=] { s.waiters[1 - i].wait.cancel(); };
  }
  p.thread("incrementer", [=, &thread] {
    thread.begin();
    s.increment(0);
  });
  p.finally([=] { s.expect_told(2); });
}

// The whole of a wait, with its end on the stack of who waits.
void wait_or_deadline(Program& p) {
  auto& sequencer = p.make<SequencerCore>("sequencer", 0);
  auto& thread = p.make<PlainThread>("thread");
  auto& said = p.make<Plain<int>>("said", 0);
  p.thread("waiter", [&] {
    thread.begin();
    const auto end = sequencer.wait(1, passed());
    if (end) expect(said == 7, "what came before is seen");
    expect(end || end.error() == Errc::timed_out, "one or the other");
  });
  p.thread("incrementer", [&] {
    said = 7;
    sequencer.increment();
  });
  p.finally([&] { expect(sequencer.unused(), "nobody is left"); });
}

constexpr const char* kFile = "sync/sequencer_core.cpp";

}  // namespace

Protocol sequencer() {
  constexpr auto kSkip = Effect::skip;
  return {
      .name = "sequencer",
      .files = {kFile, "sync/sequencer_core.hpp"},
      .scenarios = {{"two incrementers", two_incrementers},
                    {"request or increment", request_or_increment},
                    {"cancel a request or reach", cancel_request_or_reach},
                    {"cancel in heap or reach", cancel_in_heap_or_reach},
                    {"two cancel a request", two_cancel_a_request},
                    {"two cancel one", two_cancel_one},
                    {"two cancel two", two_cancel_two},
                    {"cancel beside reach", cancel_beside_reach},
                    {"from a callback", from_a_callback},
                    {"callback cancels the next", callback_cancels_next},
                    {"wait or deadline", wait_or_deadline},
                    {"increment and request", increment_and_request,
                     Options{.preemptions = 3, .spurious_failures = 0}},
                    {"three incrementers", three_incrementers,
                     Options{.max_seconds = 30}},
                    {"request or two", request_or_two,
                     Options{.max_seconds = 30}},
                    {"advance", advance},
                    {"look", look}},
      .mutations = {
          {"increment relaxed", kFile, "::increment(", "counter_.fetch_add"},
          {"advance relaxed", kFile, "::advance(", "counter_.compare_exchange"},
          {"request relaxed", kFile, "::wait(", "requests_.compare_exch"},
          {"request acquire", kFile, "::wait(", "requests_.compare_exch",
           acquire},
          {"request release", kFile, "::wait(", "requests_.compare_exch",
           release},
          {"request: nobody looks again", kFile, "::wait(",
           "(counter_.load(acquire)", relaxed, Effect::stale},
          {"cancel: not given up", kFile, "::cancel(", "(now, then,", relaxed,
           kSkip},
          {"cancel: push relaxed", kFile, "::cancel(", "cancels_.compare_exch"},
          {"cancel: not pushed", kFile, "::cancel(", "cancels_.compare_exch",
           relaxed, kSkip},
          {"enter release", kFile, "::enter(", "combiner_.compare_exch",
           release},
          {"enter acquire", kFile, "::enter(", "combiner_.compare_exch",
           acquire},
          {"enter: not said", kFile, "::enter(", "combiner_.compare_exch",
           relaxed, kSkip},
          {"leave acquire", kFile, "::leave(", "combiner_.exchange", acquire},
          {"leave: not written", kFile, "::leave(", "combiner_.exchange",
           relaxed, kSkip},
          {"pass: cancels relaxed", kFile, "::pass(", "cancels_.exchange"},
          {"pass: requests release", kFile, "::pass(", "requests_.exchange",
           release},
          {"pass: requests acquire", kFile, "::pass(", "requests_.exchange",
           acquire},
          {"pass: in heap not written", kFile, "::pass(",
           "(now, State::in_heap,", relaxed, kSkip},
          {"pass: done not written", kFile, "::pass(", "(now, State::done,",
           relaxed, kSkip},
          {"pass: cancelled not written", kFile, "::pass(",
           "wait.state.store(State::done", relaxed, kSkip},
          {"pass: count relaxed", kFile, "::pass(", "= counter_.load"}}};
}

}  // namespace weft::model
