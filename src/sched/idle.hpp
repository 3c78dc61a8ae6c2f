// idle.hpp: who sleeps, who searches, and whom a new fiber wakes.
//
// One word holds two counts: searching (16 bits) and sleeping (16 bits).
// sleeping changes together with the list of sleepers, under its lock;
// searching alone changes by read-modify-write. A bit above them says that
// fibers of high priority wait: a dispatch asks for both by one load.
//
// Invariants
//   S2  A worker sleeps only after announce() and a complete scan that found
//       nothing.
//   S3  searching counts those who will still do a complete scan after their
//       decrement, or find work first.
//   S4  Who takes searching to zero because it found work scans again, and
//       notifies if anything is visible.
//   S5  One popped sleeper = one searching share, given by the notifier.
//       Membership in the list decides, not the wake word.
//   S6  No system call unless searching == 0 and sleeping > 0.
//
// Edges (the other ends are the indices of the queues)
//   [sleep]   push, then load idle || announce, then load every index.
//   [search]  push, then load idle || stop searching, then load every index.
//             After a light push: change idle || stop searching, then look.
//   [rouse]   rouse() -> sleep_until(): the notifier's writes.
//   [urgent]  push, then load the bit || clear it, then load the index.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"
#include "base/intrusive_list.hpp"
#include "base/spin_lock.hpp"

namespace weft::sched {

// The part of a worker that sleeps.
struct Sleeper : base::ListHook {
  // 0 awake, 1 asleep, 2 notified.
  Atomic<std::uint32_t> wake{0};

  // Any thread that popped it, or that must interrupt its sleep.
  void rouse() noexcept;
  // Owner only, announced. Sleeps until roused or `until`; may wake early.
  void sleep_until(std::int64_t until) noexcept;
};

class Idle {
 public:
  // Any thread, after a push. The sleeper to rouse(), or nullptr.
  [[nodiscard]] Sleeper* pop_for_push() noexcept {
    const auto w = word_.load(seq_cst);  // [sleep] [search]
    if (searching(w) != 0 || sleeping(w) == 0) [[likely]]
      return nullptr;  // S6
    return pop();
  }
  // Any thread, after a push that a light store shows. Who falls asleep passes
  // a heavy barrier before its scan; who stops searching does not, so it must
  // come before or after this in the order of changes.
  [[nodiscard]] Sleeper* pop_for_light_push() noexcept {
    const auto w = word_.load(seq_cst);  // [sleep]
    if (sleeping(w) == 0) return nullptr;
    // [search]
    if (searching(w) != 0 && searching(word_.fetch_add(0, release)) != 0) {
      return nullptr;  // S6
    }
    return pop();
  }
  // Any thread, after a push that only `target` may take. True: rouse() it.
  [[nodiscard]] bool pop_target(Sleeper& target) noexcept;

  // Owner only: may it search? At most half of the workers do.
  [[nodiscard]] bool start_search(unsigned workers) noexcept;
  // Owner only: it found work. True: it was the last, see S4.
  [[nodiscard]] bool stop_search() noexcept {
    return searching(word_.fetch_sub(kSearcher, seq_cst)) == 1;  // [search]
  }
  // Owner only: into the list. was_searching gives its share up.
  void announce(Sleeper& self, bool was_searching) noexcept;
  // Owner only: out of the list; afterwards it searches, by its own share or
  // by the notifier's (S5).
  void withdraw(Sleeper& self) noexcept;

  // Any thread, after a push: is anybody without work?
  bool hungry() const noexcept {
    const auto w = word_.load(seq_cst);  // [sleep] [search]
    return static_cast<std::uint32_t>(w) != 0;
  }
  // Nobody is hungry, nobody of high priority waits.
  bool calm() const noexcept {
    return word_.load(seq_cst) == 0;  // [sleep] [search]
  }
  unsigned sleeping() const noexcept {
    return sleeping(word_.load(seq_cst));  // [sleep]
  }
  unsigned searching() const noexcept {
    return searching(word_.load(relaxed));  // a hint
  }

  // Any thread: a hint, whose protocol is in ranked.hpp.
  bool high_waits() const noexcept {
    return (word_.load(relaxed) & kHighWaits) != 0;  // a hint
  }
  void say_high_waits() noexcept {
    if ((word_.load(seq_cst) & kHighWaits) != 0) return;  // [urgent]
    word_.fetch_or(kHighWaits, seq_cst);                  // part of [urgent]
  }
  void say_none_waits() noexcept {
    word_.fetch_and(~kHighWaits, seq_cst);  // [urgent]
  }

 private:
  static constexpr std::uint64_t kSearcher = 1;
  static constexpr std::uint64_t kAsleep = 1u << 16;
  static constexpr std::uint64_t kHighWaits = std::uint64_t{1} << 32;

  static constexpr unsigned searching(std::uint64_t w) noexcept {
    return static_cast<unsigned>(w & 0xFFFF);
  }
  static constexpr unsigned sleeping(std::uint64_t w) noexcept {
    return static_cast<unsigned>((w >> 16) & 0xFFFF);
  }

  Sleeper* pop() noexcept;

  alignas(kCacheLine) Atomic<std::uint64_t> word_{0};
  alignas(kCacheLine) base::SpinLock lock_;
  base::IntrusiveList<Sleeper> sleepers_;  // guarded by lock_; newest first
};

}  // namespace weft::sched
