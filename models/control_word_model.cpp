// control_word_model.cpp: a fiber parks while others wake, tell and time out.
//
// The fiber waits with ticket 1 on worker 1. Who owns it after a claim puts it
// into a queue of one word, from which worker 2 takes it. Whatever happens, the
// fiber goes on exactly once for each wait, and sees what its waker wrote.
#include "base/spin_lock.hpp"
#include "fiber/control_word.hpp"
#include "protocol.hpp"

namespace weft::model {

namespace {

using fiber::Begun;
using fiber::Claimed;
using fiber::Committed;
using fiber::ControlWord;
using fiber::source;
using fiber::Unparked;
using fiber::Who;

struct Frame {
  ControlWord word;
  Plain<int> registers = 0;  // saved when it leaves its stack
  Plain<int> ended = 0;      // how often its wait ended
  Plain<int> by = 0;         // what ended it
  Atomic<int> queued{0};
  std::array<Plain<int>, 4> said{};  // by each waker
  std::array<bool, 4> won{};         // by each waker
};
constexpr std::size_t kDeadline = 2;
constexpr std::size_t kCancel = 3;

class Scene {
 public:
  // A running fiber.
  explicit Scene(Program& p) : frame(p.make<Frame>("frame")) {
    frame.word.reserve();
    frame.word.publish();
    (void)frame.word.start(1);
  }
  const Scene& waits(bool shield = false) {
    shielded = shield;
    (void)frame.word.begin_wait(1, shield);
    return *this;
  }

  void enqueue() const { frame.queued.fetch_add(1, release); }
  void claim(std::size_t i, Who who) const {
    frame.said[i] = 7;
    const auto answer = frame.word.claim(1, who);
    frame.won[i] = answer != Claimed::lost;
    if (answer == Claimed::won_and_owns) enqueue();
  }
  void wake(std::size_t i) const { claim(i, source(static_cast<unsigned>(i))); }
  void deadline() const { claim(kDeadline, Who::deadline); }
  void cancel() const {
    frame.said[kCancel] = 7;
    if (frame.word.cancel() == Unparked::owns) enqueue();
  }
  // Somebody whose scope the fiber is not in.
  void nudge() const {
    if (frame.word.nudge() == Unparked::owns) enqueue();
  }
  void unpark(std::size_t i) const {
    frame.said[i] = 7;
    if (frame.word.unpark() == Unparked::owns) enqueue();
  }

  // Worker 1: the fiber leaves its stack.
  void park() const {
    frame.registers = 1;
    if (frame.word.commit() == Committed::resume_now) go_on();
  }
  // The fiber, after its wait was interrupted.
  void go_on() const {
    expect(frame.registers == 1, "the registers came");
    auto who = frame.word.rewait();
    if (who == Who::open && frame.word.must_look() && !shielded)
      who = look_up();
    if (who == Who::open) return park();  // woken for nothing
    end(who);
    frame.word.end_wait();
  }
  // As Wait::again(); only the fiber itself can be cancelled here.
  Who look_up() const {
    if (!frame.word.cancelled()) {
      frame.word.begin_look();
      if (!frame.word.cancelled()) return Who::open;
      frame.word.look_again();
    }
    return frame.word.withdraw(Who::cancelled);
  }
  void end(Who who) const {
    frame.ended = frame.ended + 1;
    frame.by = static_cast<int>(who);
    const auto first = static_cast<std::size_t>(Who::first_source);
    const auto n = static_cast<std::size_t>(who);
    if (n >= first) {
      expect(frame.said[n - first] == 7, "what the waker wrote came");
    } else if (who == Who::deadline) {
      expect(frame.said[kDeadline] == 7, "what the timer wrote came");
    } else if (who == Who::cancelled) {
      expect(frame.said[kCancel] == 7, "what the canceller wrote came");
    }
  }
  // Worker 2: takes the fiber if it is there.
  void look(int& taken) const {
    progress();
    if (frame.queued.load(acquire) <= taken) return;
    ++taken;
    frame.word.resume(2);
    go_on();
  }
  // In finally().
  void expect_one_winner(int taken) const {
    while (frame.queued.load(relaxed) > taken) look(taken);
    expect(frame.ended == 1, "the wait ended once");
    int winners = 0;
    for (std::size_t i = 0; i < kCancel; ++i) {
      if (!frame.won[i]) continue;
      ++winners;
      const auto who =
          i == kDeadline ? Who::deadline : source(static_cast<unsigned>(i));
      expect(frame.by == static_cast<int>(who), "C5: the winner ended it");
    }
    const bool cancelled = frame.by == static_cast<int>(Who::cancelled);
    const bool withdrawn = frame.by == static_cast<int>(Who::withdrawn);
    expect(winners == (cancelled || withdrawn ? 0 : 1), "C5: one winner");
  }

  Frame& frame;
  bool shielded = false;
};

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

// It stands linked under a lock, which is free when it has begun its wait and
// left its stack. Its waker is worker 2, and keeps it. `also` is what a third
// one does, who runs what he finds in the queue then.
template <typename Also>
void leaves_locked(Program& p, Also&& also) {
  const Scene s(p);
  auto& lock = p.make<base::SpinLock>("lock");
  auto& taken = p.make<int>("taken", 0);
  (void)lock.try_lock();
  p.thread("worker1", [=, &lock] {
    s.frame.registers = 1;
    const auto committed = s.frame.word.commit_wait(1);
    lock.unlock();
    if (committed == Committed::resume_now) s.go_on();
  });
  p.thread("worker2", [=, &lock] {
    lock.lock();
    s.frame.said[0] = 7;
    const auto answer = s.frame.word.claim(1, source(0), 2);
    s.frame.won[0] = answer != Claimed::lost;
    lock.unlock();
    if (answer != Claimed::won_and_owns) return;
    expect(s.frame.word.is_running_on(2), "C3: it is that worker's");
    s.go_on();
  });
  p.thread("other", [=, &taken] {
    also(s);
    s.look(taken);
  });
  p.finally([=, &taken] { s.expect_one_winner(taken); });
}
void near_waker(Program& p) {
  leaves_locked(p, [](const Scene&) {});
}
void near_waker_and_cancel(Program& p) {
  leaves_locked(p, [](const Scene& s) { s.cancel(); });
}
void near_waker_and_teller(Program& p) {
  leaves_locked(p, [](const Scene& s) { s.nudge(); });
}

// Another raids the private queue of worker 2 before that runs it.
void taken_over(Program& p) {
  const auto s = Scene(p).waits();
  p.thread("worker1", [=] { s.park(); });
  p.thread("worker2", [=] {
    s.frame.said[0] = 7;
    const auto answer = s.frame.word.claim(1, source(0), 2);
    s.frame.won[0] = answer != Claimed::lost;
    if (answer != Claimed::won_and_owns) return;
    s.frame.word.yielded();
    s.enqueue();
  });
  p.thread("canceller", [=] { s.cancel(); });
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
      {"commit_wait acquire", kFile, "::commit_wait(", kExchange, acquire},
      {"commit_wait not written", kFile, "::commit_wait(", kExchange, relaxed,
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
                        {"near waker", near_waker, weak},
                        {"near waker, cancel", near_waker_and_cancel},
                        {"near waker, told for nothing", near_waker_and_teller},
                        {"taken over", taken_over},
                        {"shielded", shielded},
                        {"stray unpark", stray_unpark},
                        {"told for nothing", told_for_nothing},
                        {"changing hands", changing_hands},
                        {"waker, deadline, cancel", waker_deadline_cancel}},
          .mutations = mutations()};
}

}  // namespace weft::model
