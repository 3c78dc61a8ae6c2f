// admission.hpp: who may come in, how many are in, and when all are out.
//
// A worker counts the fibers it starts and ends by itself, without sharing a
// word with others. What starts outside, and all if there is a limit, is
// counted here.
//
// Edges
//   [admit]  a spawn from outside: count, then load admits_ || close admission,
//            then load the count.
//   [ended]  count_end() -> live(): the spawn that it takes back. Workers: see
//            stats.hpp.
//   [visit]  ~Visit() -> wait_for_visitors(): the visitor's last touch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/atomic.hpp"
#include "base/futex.hpp"
#include "time/clock.hpp"

namespace weft::sched {

class Admission {
 public:
  // Owner only. Refuses newcomers, from now on.
  void close() noexcept {
    admits_.store(false, seq_cst);  // [admit]
  }
  bool is_open() const noexcept {
    return admits_.load(relaxed);  // closing races with spawning anyway
  }

  // Any thread: the number of a fiber that is about to start. It counts before
  // it asks: who closes admission and then counts none may end.
  [[nodiscard]] std::uint64_t count_spawn() noexcept {
    return outside_spawns_.fetch_add(1, seq_cst) + 1;  // [admit]
  }
  // Any thread. How many count_spawn() has counted.
  std::uint64_t spawned() const noexcept {
    return outside_spawns_.load(relaxed);  // a count
  }
  // Whoever counted it. False: it must be counted out again.
  [[nodiscard]] bool admits(std::uint64_t limit) noexcept {
    const bool too_many =
        limit != 0 && static_cast<std::uint64_t>(capped_live_.fetch_add(
                          1, relaxed)) >= limit;  // a limit, orders nothing
    return !too_many && admits_.load(seq_cst);    // [admit]
  }
  // Any thread that is no worker: what was counted did not start.
  void count_end() noexcept {
    outside_ends_.fetch_add(1, release);  // [ended]
  }
  // Whoever counted the end of a fiber, here or in its worker.
  void one_less(std::uint64_t limit) noexcept {
    if (limit != 0) capped_live_.fetch_sub(1, relaxed);  // orders nothing
    if (!draining_.load(relaxed)) [[likely]]
      return;                        // see wait_until_empty()
    drained_.fetch_add(1, release);  // see wait_until_empty()
    base::futex_wake(drained_);
  }

  // Any thread. The sums of what the workers have counted.
  template <typename Ended, typename Spawned>
  std::uint64_t live(Ended&& ended, Spawned&& spawned) const noexcept {
    // Ends first: a fiber counted as spawned only is alive.
    const auto out = outside_ends_.load(acquire) + ended();     // [ended]
    const auto in = outside_spawns_.load(seq_cst) + spawned();  // [admit]
    return in > out ? in - out : 0;
  }

  // Owner only. False: some are still there at the deadline.
  template <typename Live>
  [[nodiscard]] bool wait_until_empty(std::int64_t until,
                                      Live&& live) noexcept {
    // The wake is a courtesy: a missed one costs a tick, so that the end of a
    // fiber need not pay for a full barrier.
    constexpr std::int64_t kTick = 1'000'000;
    draining_.store(true, seq_cst);  // see one_less()
    while (live() != 0) {
      const auto now = time::now();
      if (now >= until) return false;
      const auto seen = drained_.load(acquire);  // see one_less()
      if (live() == 0) break;
      base::futex_wait(drained_, seen, std::min(until, now + kTick));
    }
    return true;
  }

  // Somebody who is no worker of this runtime and holds no fiber of it any more
  // once it has pushed one: the runtime may not go before it is through.
  class Visit {
   public:
    explicit Visit(Admission& where) noexcept : where_(where) {
      where_.visits_.fetch_add(1, relaxed);  // the fiber in hand keeps it alive
    }
    ~Visit() {
      where_.visits_.fetch_sub(1, release);  // [visit]
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Admission& where_;
  };
  // Owner only; no fiber is left, and the workers have ended.
  void wait_for_visitors() noexcept {
    while (visits_.load(acquire) != 0) pause();  // [visit]
  }

 private:
  Atomic<bool> admits_{true};
  Atomic<bool> draining_{false};
  Atomic<std::uint32_t> drained_{0};  // futex of wait_until_empty()
  Atomic<std::uint32_t> visits_{0};
  Atomic<std::uint64_t> outside_spawns_{0};
  Atomic<std::uint64_t> outside_ends_{0};
  Atomic<std::int64_t> capped_live_{0};  // only if there is a limit
};

}  // namespace weft::sched
