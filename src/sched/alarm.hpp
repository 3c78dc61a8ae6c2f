// alarm.hpp: which sleeping worker wakes for the next deadline of all.
//
// Deadlines sit in one heap per worker. An awake worker looks after its own.
// Of those asleep one holds the role: it sleeps until the earliest deadline of
// all heaps; the others sleep without limit.
//
// Edges
//   [rearm]  a heap's next deadline, then load armed_ || armed_, then load
//            every heap's next deadline; all four seq_cst.
//   [role]   release_role() -> try_take_role().
#pragma once

#include <cstdint>

#include "base/atomic.hpp"
#include "sched/idle.hpp"
#include "time/clock.hpp"

namespace weft::sched {

class Alarm {
 public:
  [[nodiscard]] bool try_take_role(Sleeper& self) noexcept {
    if (held_.exchange(true, acquire)) return false;  // [role]
    holder_.store(&self, relaxed);                    // a hint: who to rouse
    return true;
  }
  void release_role() noexcept {
    armed_.store(kComputing, seq_cst);  // [rearm]
    holder_.store(nullptr, relaxed);    // a hint
    held_.store(false, release);        // [role]
  }

  // Holder only. earliest(): over all heaps. Until when to sleep.
  template <typename Earliest>
  std::int64_t arm(Earliest&& earliest) noexcept {
    for (;;) {
      const std::int64_t until = earliest();
      armed_.store(until, seq_cst);  // [rearm]
      if (earliest() >= until) return until;
    }
  }

  // A worker that goes to sleep without the role: does its own deadline come
  // before the one that the holder sleeps for? Then rouse the answer.
  [[nodiscard]] Sleeper* too_late_for(std::int64_t deadline) const noexcept {
    if (deadline >= armed_.load(seq_cst)) return nullptr;  // [rearm]
    return holder_.load(relaxed);  // a hint; nullptr: just leaving, awake
  }

  // Does anybody watch? A hint: who is about to take the role looks at every
  // deadline anyway; who has just left it found something to run, and looks at
  // them after stop_search(), a change of the idle word that the asker has
  // read.
  bool held() const noexcept {
    return held_.load(relaxed);  // a hint
  }

 private:
  static constexpr std::int64_t kComputing = 0;  // it will look again

  Atomic<bool> held_{false};
  Atomic<std::int64_t> armed_{kComputing};
  Atomic<Sleeper*> holder_{nullptr};
};

}  // namespace weft::sched
