// control_word_scene.hpp: a fiber that waits, and those who wake it.
//
// The fiber waits with ticket 1 on worker 1. Who owns it after a claim puts it
// into a queue of one word, from which worker 2 takes it. Whatever happens, the
// fiber goes on exactly once for each wait, and sees what its waker wrote.
#pragma once

#include <array>

#include "fiber/control_word.hpp"
#include "protocol.hpp"

namespace weft::model {

using fiber::Begun;
using fiber::Claimed;
using fiber::Committed;
using fiber::ControlWord;
using fiber::source;
using fiber::Unparked;
using fiber::Who;

struct WordFrame {
  ControlWord word;
  Plain<int> registers = 0;  // saved when it leaves its stack
  Plain<int> ended = 0;      // how often its wait ended
  Plain<int> by = 0;         // what ended it
  Atomic<int> queued{0};
  std::array<Plain<int>, 4> said{};  // by each waker
  std::array<bool, 4> won{};         // by each waker
};
inline constexpr std::size_t kDeadline = 2;
inline constexpr std::size_t kCancel = 3;

class WordScene {
 public:
  // A running fiber.
  explicit WordScene(Program& p) : frame(p.make<WordFrame>("frame")) {
    frame.word.reserve();
    frame.word.publish();
    (void)frame.word.start(1);
  }
  const WordScene& waits(bool shield = false) {
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

  WordFrame& frame;
  bool shielded = false;
};

}  // namespace weft::model
