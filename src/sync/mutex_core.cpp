#include "sync/mutex_core.hpp"

#include "base/point.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"
#include "time/clock.hpp"

namespace weft::sync {

namespace {

#if defined(WEFT_MODEL)
constexpr int kSpins = 1;  // enough to see both answers
#else
constexpr int kSpins = 16;
#endif
constexpr std::int64_t kPatience = 1'000'000;  // ns until a waiter insists

// Does this fiber run on another worker of this runtime right now? A thread
// knows of no worker, and takes it for granted; so does a simulation, where
// whoever comes first may get in first.
bool runs_elsewhere(const Fiber* owner) noexcept {
  const auto* const here = sched::worker_or_null();
  if (here == nullptr || here->simulator != nullptr) return true;
  for (const auto& other : here->scheduler().workers) {
    if (other.get() != here && other->current == owner) return true;
  }
  return false;
}

// M3: of him who was told.
bool is_counted_on(const Fiber& waiter) noexcept { return waiter.pins == 0; }

}  // namespace

// A try to lock, under the mutex's own lock.
struct MutexCore::Attempt {
  MutexCore& mutex;
  Fiber& self;
  std::int64_t since = 0;  // when it was told for the first time
  bool insisted = false;   // once is for good
  base::SpinLock& lock = mutex.lock_;
  WaitQueue& queue = mutex.queue_;

  Entered enter(WaitNode& node, bool again) noexcept {
    auto& word = mutex.word_;
    if (again) arrive();
    for (auto w = word.load(relaxed);;) {  // the exchange decides
      Fiber* const owner = owner_of(w);
      if (owner == &self) return Entered::closed;  // by itself
      if (owner == nullptr) {
        const auto mine = owned_by(self) | (is_bit_due() ? kWaiters : 0);
        // [lock]
        if (word.compare_exchange_weak(w, mine, acquire, relaxed)) {
          return Entered::done;
        }
      } else if (mutex.told_ || mark(w)) {  // M2
        node.slot = insists(owner, again) ? this : nullptr;
        again ? queue.push_front(node) : queue.push_back(node);
        return Entered::linked;
      }
    }
  }

  void leave(bool told, Woken& woken) noexcept {
    if (!told) return;
    arrive();
    for (auto w = mutex.word_.load(relaxed); is_bit_due();) {
      if (owner_of(w) == nullptr) {
        (void)mutex.tell_first(woken);
      } else if (mark(w)) {
        return;
      }
    }
  }

  // He was told, and is here: M3.
  void arrive() noexcept {
    mutex.on_their_way_ = mutex.on_their_way_ - 1;
    if (is_counted_on(self)) mutex.told_ = false;
  }
  // M2: somebody waits, and only an unlock would tell him.
  bool is_bit_due() const noexcept { return !queue.empty() && !mutex.told_; }
  // Of one that is held, as `w` says. False: not any more, look at `w` again.
  bool mark(std::uintptr_t& w) noexcept {
    return (w & kWaiters) != 0 ||
           // The lock orders it: the owner's unlock comes here, too.
           mutex.word_.compare_exchange_strong(w, w | kWaiters, relaxed,
                                               relaxed);
  }

  bool insists(const Fiber* owner, bool again) noexcept {
    if (insisted || !runs_elsewhere(owner)) return insisted = true;
    if (!again) return false;
    const auto now = time::now();
    if (since == 0) since = now;
    return insisted = now - since >= kPatience;
  }

  static bool is_ready(void* it) noexcept {
    return static_cast<const Attempt*>(it)->mutex.owner() == nullptr;
  }
};

// As long as the owner runs and nobody waits it may be free in an instant.
bool MutexCore::spin(Fiber& self) noexcept {
  for (int i = 0; i < kSpins; ++i) {
    const auto w = word_.load(relaxed);  // a guess
    if (w == 0) {
      if (try_lock(self)) return true;
    } else if ((w & kWaiters) != 0 || !runs_elsewhere(owner_of(w))) {
      return false;
    }
#if !defined(WEFT_MODEL)  // where it would wait for a change
    base::pass(base::Point::spinning);
    pause();
#endif
  }
  return false;
}

Status MutexCore::wait(Fiber& self, bool shield, Deadline deadline) noexcept {
  if (sched::carrier().simulator == nullptr && spin(self)) return {};
  Attempt attempt{*this, self};
  const auto end = wait_at(attempt, this, shield, deadline);
  if (end.error() == Errc::timed_out && try_lock(self)) return {};
  return end.error() == Errc::closed ? Errc::invalid : end;
}

bool MutexCore::unlock(Fiber& self) noexcept {
  auto w = word_.load(relaxed);  // the exchange decides
  if (owner_of(w) != &self) return false;
  // [lock]
  if (w == owned_by(self) &&
      word_.compare_exchange_strong(w, 0, release, relaxed)) {
    return true;
  }
  Woken woken;
  lock_.lock();
  const WaitNode* first = queue_.front();
  while (first != nullptr && first->slot == nullptr && !tell_first(woken)) {
    first = queue_.front();
  }
  if (first != nullptr && !told_) {
    give_to_next(woken);  // he insists
  } else {
    word_.store(0, release);  // [lock]
  }
  lock_.unlock();
  return true;
}

// True: he will come (M3). False: he had given up, or is not counted on.
bool MutexCore::tell_first(Woken& woken) noexcept {
  WaitNode& node = *queue_.pop_front();
  const bool counted_on = is_counted_on(*node.fiber);
  if (!WaitQueue::finish(node, Reason::signal, woken)) return false;
  on_their_way_ = on_their_way_ + 1;
  if (counted_on) told_ = true;
  return counted_on;
}

// The heir may run as soon as he is settled: he finds himself the owner (M1).
void MutexCore::give_to_next(Woken& woken) noexcept {
  while (WaitNode* const heir = queue_.pop_front()) {
    const auto waiters = queue_.empty() ? 0 : kWaiters;      // M2
    word_.store(owned_by(*heir->fiber) | waiters, release);  // [lock]
    if (WaitQueue::finish(*heir, Reason::data, woken)) return;
  }
  word_.store(0, release);  // [lock]
}

}  // namespace weft::sync
