#include "sched/idle.hpp"

#include <mutex>

#include "base/futex.hpp"

namespace weft::sched {

void Sleeper::rouse() noexcept {
  if (wake.exchange(2, acq_rel) == 1) base::futex_wake(wake);  // [rouse]
}

void Sleeper::sleep_until(std::int64_t until) noexcept {
  std::uint32_t awake = 0;
  if (wake.compare_exchange_strong(awake, 1, acq_rel, acquire)) {  // [rouse]
    base::futex_wait(wake, 1, until);
  }
  wake.exchange(0, acq_rel);  // [rouse]
}

Sleeper* Idle::pop() noexcept {
  std::lock_guard hold(lock_);
  auto w = word_.load(seq_cst);  // [sleep] [search]
  do {
    if (searching(w) != 0 || sleeping(w) == 0)
      return nullptr;  // another was faster
    // [search]
  } while (!word_.compare_exchange_weak(w, w + kSearcher - kAsleep, seq_cst));
  return sleepers_.pop_front();  // S5
}

bool Idle::pop_target(Sleeper& target) noexcept {
  if (sleeping(word_.load(seq_cst)) == 0) return false;  // [sleep]
  std::lock_guard hold(lock_);
  if (!base::IntrusiveList<Sleeper>::contains_hook(target)) return false;
  sleepers_.remove(target);
  word_.fetch_add(kSearcher - kAsleep, seq_cst);  // S5 [search]
  return true;
}

bool Idle::start_search(unsigned workers) noexcept {
  auto w = word_.load(relaxed);  // the exchange decides
  do {
    if (2 * searching(w) >= workers) return false;
    // [search]
  } while (!word_.compare_exchange_weak(w, w + kSearcher, seq_cst, relaxed));
  return true;
}

void Idle::announce(Sleeper& self, bool was_searching) noexcept {
  std::lock_guard hold(lock_);
  sleepers_.push_front(self);
  // [sleep] [search]
  word_.fetch_add(was_searching ? kAsleep - kSearcher : kAsleep, seq_cst);
}

void Idle::withdraw(Sleeper& self) noexcept {
  std::lock_guard hold(lock_);
  if (!base::IntrusiveList<Sleeper>::contains_hook(self)) return;  // S5
  sleepers_.remove(self);
  word_.fetch_add(kSearcher - kAsleep, seq_cst);  // [search]
}

}  // namespace weft::sched
