// control_word_model.cpp: a fiber parks while others wake, tell and time out.
#include "control_word_scene.hpp"

namespace weft::model {

namespace {

using Scene = WordScene;

// Worker 1 parks the fiber, worker 2 may resume it, and at the end all is told.
void workers(Program& p, const Scene& s) {
  auto& taken = p.make<int>("taken", 0);
  p.thread("worker1", [=] { s.park(); });
  p.thread("worker2", [=, &taken] {
    s.look(taken);
    s.look(taken);
  });
  p.finally([=, &taken] { s.expect_one_winner(taken); });
}

void one_waker(Program& p) {
  const auto s = Scene(p).waits();
  workers(p, s);
  p.thread("waker", [=] { s.wake(0); });
}

void waker_deadline_cancel(Program& p) {
  const auto s = Scene(p).waits();
  auto& taken = p.make<int>("taken", 0);
  p.thread("worker1", [=] { s.park(); });
  p.thread("waker", [=] { s.wake(0); });
  p.thread("timer", [=] { s.deadline(); });
  p.thread("canceller", [=] { s.cancel(); });
  p.finally([=, &taken] { s.expect_one_winner(taken); });
}

void cancel_alone(Program& p) {
  const auto s = Scene(p).waits();
  workers(p, s);
  p.thread("canceller", [=] { s.cancel(); });
}

// Told for nothing: it looks, and parks again.
void told_for_nothing(Program& p) {
  const auto s = Scene(p).waits();
  workers(p, s);
  p.thread("teller", [=] { s.nudge(); });
  p.thread("waker", [=] { s.wake(0); });
}

// Told for nothing, and cancelled: what came second is not lost by the look.
void told_and_cancelled(Program& p) {
  const auto s = Scene(p).waits();
  auto& taken = p.make<int>("taken", 0);
  p.thread("worker1", [=] { s.park(); });
  p.thread("teller", [=] { s.nudge(); });
  p.thread("canceller", [=] { s.cancel(); });
  p.finally([=, &taken] {
    s.expect_one_winner(taken);
    expect(s.frame.word.must_look(), "who must stop still says so");
  });
}

// A shield: the cancellation stays for later, the waker ends the wait.
void shielded(Program& p) {
  const auto s = Scene(p).waits(true);
  workers(p, s);
  p.thread("waker", [=] { s.wake(0); });
  p.thread("canceller", [=] {
    s.cancel();
    expect(s.frame.word.cancelled(), "C6: cancel stays");
    expect(s.frame.word.must_look(), "C6: and is looked at later");
  });
}

// Woken for nothing: it looks, and parks again.
void stray_unpark(Program& p) {
  const auto s = Scene(p).waits();
  workers(p, s);
  p.thread("stray", [=] { s.unpark(1); });
  p.thread("waker", [=] { s.wake(0); });
}

// The fiber finds its source ready and does not wait.
void withdraw(Program& p) {
  const auto s = Scene(p).waits();
  p.thread("fiber", [=] {
    s.end(s.frame.word.withdraw());
    s.frame.word.end_wait();
  });
  p.thread("waker", [=] { s.wake(0); });
  p.thread("timer", [=] { s.deadline(); });
  p.finally([=] { s.expect_one_winner(0); });
}

// A claim with an old ticket does nothing to the next wait.
void old_ticket(Program& p) {
  const auto s = Scene(p).waits();
  p.thread("fiber", [=] {
    s.end(s.frame.word.withdraw());
    s.frame.word.end_wait();
    expect(s.frame.word.begin_wait(2, false) == Begun::go_on, "it may wait");
    expect(s.frame.word.withdraw() == Who::withdrawn, "nobody ended wait 2");
    s.frame.word.end_wait();
  });
  p.thread("waker", [=] { s.wake(0); });
  p.finally([=] { s.expect_one_winner(0); });
}

// A raw park: one unpark wakes, whenever it comes.
void raw_park(Program& p) {
  const Scene s(p);
  auto& woken = p.make<Plain<int>>("woken", 0);
  const auto go_on = [=, &woken] {
    expect(s.frame.registers == 1, "the registers came");
    s.frame.word.end_park();
    expect(s.frame.said[0] == 7, "what the waker wrote came");
    woken = woken + 1;
  };
  p.thread("worker1", [=, &woken] {
    if (s.frame.word.begin_park(1) == Begun::had_token) {
      expect(s.frame.said[0] == 7, "what the waker wrote came");
      woken = woken + 1;
      return;
    }
    s.frame.registers = 1;
    if (s.frame.word.commit() == Committed::resume_now) go_on();
  });
  p.thread("waker", [=] { s.unpark(0); });
  p.finally([=, &woken] {
    if (s.frame.queued.load(relaxed) != 0) {
      s.frame.word.resume(2);
      go_on();
    }
    expect(woken == 1, "it was woken once");
  });
}

// Two unparks before one park: the writes of both come, so also an unpark that
// finds a token exchanges it.
void two_unparks(Program& p) {
  const Scene s(p);
  auto& words = p.make<std::array<Atomic<int>, 2>>("words");
  auto& read = p.make<std::array<int, 2>>("read");
  auto& had_token = p.make<bool>("had_token", false);
  p.thread("fiber", [=, &words, &read, &had_token] {
    had_token = s.frame.word.begin_park(1) == Begun::had_token;
    for (const std::size_t i : {0u, 1u}) read[i] = words[i].load(relaxed);
  });
  for (const std::size_t i : {0u, 1u}) {
    p.thread("waker" + std::to_string(i), [=, &words] {
      words[i].store(7, relaxed);
      (void)s.frame.word.unpark();
    });
  }
  p.finally([=, &read, &had_token] {
    if (!had_token) return;
    const bool both = s.frame.word.begin_park(2) != Begun::had_token;
    expect(read[0] == 7 || read[1] == 7, "what a waker wrote came");
    expect(!both || (read[0] == 7 && read[1] == 7), "what both wrote came");
  });
}

// What others set while the fiber changes hands stays.
void changing_hands(Program& p) {
  const Scene s(p);
  p.thread("worker1", [=] {
    s.frame.registers = 1;
    s.frame.word.yielded();
    s.frame.word.resume(2);
    expect(s.frame.word.host(), "it was running");
    s.frame.word.unhost(3);
  });
  p.thread("canceller", [=] { s.cancel(); });
  p.thread("waker", [=] { s.unpark(0); });
  p.finally([=] {
    expect(s.frame.word.cancelled() && s.frame.word.must_look(),
           "C6: cancel stays");
    expect(s.frame.word.begin_park(1) == Begun::had_token, "C6: token stays");
  });
}

// The fiber ends while others still reach for it.
void end_of_a_fiber(Program& p) {
  const Scene s(p);
  p.thread("worker1", [=] {
    s.frame.registers = 7;
    s.frame.word.done(false);
  });
  p.thread("canceller", [=] { s.cancel(); });
  p.thread("waker", [=] { s.unpark(0); });
  p.thread("asker", [=] {
    if (s.frame.word.is_done()) {
      expect(s.frame.registers == 7, "what the fiber did came");
    }
  });
  p.finally([=] {
    expect(s.frame.word.is_done(), "it stays done");
    expect(s.frame.queued.load(relaxed) == 0, "nobody owns it");
  });
}

constexpr const char* kFile = "fiber/control_word.hpp";

std::vector<Mutation> mutations() {
  constexpr const char* kExchange = "compare_exchange_weak";
  return {
      {"commit acquire", kFile, "::commit(", kExchange, acquire},
      {"commit not written", kFile, "::commit(", kExchange, relaxed,
       Effect::skip},
      {"claim acquire", kFile, "::claim(", kExchange, acquire},
      {"claim relaxed", kFile, "::claim(", kExchange},
      {"claim not written", kFile, "::claim(", kExchange, relaxed,
       Effect::skip},
      {"interrupt acquire", kFile, "::interrupt(", kExchange, acquire},
      {"interrupt relaxed", kFile, "::interrupt(", kExchange},
      {"interrupt not written", kFile, "::interrupt(", kExchange, relaxed,
       Effect::skip},
      {"rewait: load relaxed", kFile, "::rewait(", "word_.load(acquire)"},
      {"withdraw: load relaxed", kFile, "::withdraw(", "word_.load(acquire)"},
      {"withdraw: failure relaxed", kFile, "::withdraw(", kExchange, relaxed,
       Effect::weaken_failure},
      {"withdraw not written", kFile, "::withdraw(", kExchange, relaxed,
       Effect::skip},
      {"begin not written", kFile, "::begin(", kExchange, relaxed,
       Effect::skip},
      {"look_again not written", kFile, "::look_again(", "word_.fetch_or",
       relaxed, Effect::skip},
      {"yielded not written", kFile, "::yielded(", kExchange, relaxed,
       Effect::skip},
      {"done relaxed", kFile, "::done(", "word_.store"},
      {"is_done relaxed", kFile, "::is_done(", "word_.load"},
  };
}

}  // namespace

Protocol control_word() {
  const Options weak{.spurious_failures = 1};
  return {.name = "control word",
          .files = {kFile},
          .scenarios = {{"one waker", one_waker, weak},
                        {"cancel alone", cancel_alone, weak},
                        {"told and cancelled", told_and_cancelled, weak},
                        {"withdraw", withdraw, weak},
                        {"old ticket", old_ticket, weak},
                        {"raw park", raw_park, weak},
                        {"two unparks", two_unparks, weak},
                        {"end of a fiber", end_of_a_fiber, weak},
                        {"shielded", shielded},
                        {"stray unpark", stray_unpark},
                        {"told for nothing", told_for_nothing},
                        {"changing hands", changing_hands},
                        {"waker, deadline, cancel", waker_deadline_cancel}},
          .mutations = mutations()};
}

}  // namespace weft::model
