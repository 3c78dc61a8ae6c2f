// pool.cpp: what a nursery's children share, and those who watch them.

#include <mutex>
#include <utility>

#include "sched/carrier.hpp"
#include "wait/purse.hpp"

namespace weft::waiting {

namespace {

// What a spawn costs who does it; a spawn of a pool of one's own, the pool.
Price price_of_spawn(bool of_own_pool) noexcept {
  if (of_own_pool) return {};
  return {.extra = Resource::spawns, .amount = 1};
}

}  // namespace

void Pool::count_exhausted(Purse& purse, Resource what,
                           bool for_ever) noexcept {
  const bool before = purse.out_of() != Resource::none;
  purse.out_of_.store(what, relaxed);  // guarded by lock_; others: a hint
  if (before) return;                  // it was woken for nothing: all know
  purse.stuck_ = for_ever;
  if (for_ever) ++stuck_;
  purse.told_ = false;
  if (purse.license_ != nullptr) purse.license_->lacks(what);
  (void)watchers_.wake_all();
}

void Pool::count_able(Purse& purse) noexcept {
  if (purse.out_of() == Resource::none) return;
  purse.out_of_.store(Resource::none, relaxed);  // as above
  if (purse.stuck_) --stuck_;
}

Budget Pool::left() const noexcept {
  const std::lock_guard guard(lock_);
  return left_;
}

std::size_t Pool::live() const noexcept {
  const std::lock_guard guard(lock_);
  return live_;
}

void Pool::put(const Budget& part) noexcept {
  const std::lock_guard guard(lock_);
  left_ = left_ + part;
}

Budget Pool::empty() noexcept {
  const std::lock_guard guard(lock_);
  return std::exchange(left_, Budget());
}

Result<Budget> Pool::draw(const Budget* asked, const Budget& usual, Purse* by,
                          bool owner) noexcept {
  const auto price = price_of_spawn(owner && own_);
  if (by != nullptr) {
    if (Status paid = by->take_refilled(price); !paid) return paid.error();
  }
  const auto refused = [&](Resource what) {
    if (by != nullptr) by->take_back(price);
    return Error::out_of(what);
  };
  if (own_) {
    const std::lock_guard guard(lock_);
    Budget part = asked != nullptr ? *asked : min(left_, usual);
    if (const auto what = left_.lacks(part); what != Resource::none) {
      return refused(what);
    }
    const Budget rest = left_ - part;
    if (rest.spawn_count == 0) return refused(Resource::spawns);
    left_ = rest - Budget{.spawn_count = 1};
    return part;
  }
  if (by == nullptr) return asked != nullptr ? *asked : usual;
  by->refill();
  Budget part = asked != nullptr ? *asked : min(by->givable(), usual);
  if (by->need_till() == nullptr) return refused(Resource::memory);
  if (Status given = by->give(part); !given) {
    return refused(given.error().resource());
  }
  return part;
}

void Pool::undraw(const Budget& part, Purse* by, bool owner) noexcept {
  if (own_) {
    put(part + Budget{.spawn_count = 1});
  } else if (by != nullptr) {
    by->put(part);
  }
  if (by != nullptr) by->take_back(price_of_spawn(owner && own_));
}

Status Pool::recharge(std::uint64_t fiber, const Budget& amount,
                      Purse* by) noexcept {
  if (!own_ && by != nullptr) {
    if (Status given = by->give(amount); !given) return given;
  }
  {
    const std::lock_guard guard(lock_);
    if (const auto what = left_.lacks(amount); own_ && what != Resource::none) {
      return Error::out_of(what);
    }
    for (Purse* purse = purses_.front(); purse != nullptr;
         purse = purses_.after(*purse)) {
      if (purse->fiber_ != fiber) continue;
      if (own_) left_ = left_ - amount;
      purse->incoming_ = purse->incoming_ + amount;
      count_able(*purse);  // it looks for itself whether that is enough
      (void)purse->waiting_.wake_one();
      return {};
    }
  }
  if (!own_ && by != nullptr) by->put(amount);
  return Errc::invalid;
}

// ---- Watching.

// Who is cancelled does not wait for long: it goes on, or is given up. Either
// ends with close(), which is told.
bool Pool::stands_still(const Fiber* joiner) noexcept {
  if (live_ == 0) return true;
  if (stuck_ != live_ || many_watch_) return false;
  if (watcher_ != nullptr && watcher_ != joiner) return false;
  for (Purse* purse = purses_.front(); purse != nullptr;
       purse = purses_.after(*purse)) {
    if (purse->frame_.word.cancelled()) return false;
  }
  return true;
}

Purse* Pool::untold() noexcept {
  for (Purse* purse = purses_.front(); purse != nullptr;
       purse = purses_.after(*purse)) {
    if (purse->out_of() != Resource::none && !purse->told_) return purse;
  }
  return nullptr;
}

struct Pool::Watch {  // concept Waitable
  bool try_complete(Waiter& waiter) noexcept {
    const std::lock_guard guard(pool.lock_);
    Purse* const found = pool.untold();
    if (found == nullptr) return false;
    found->told_ = true;
    waiter.slot<Exhausted>() = {{found->fiber_}, found->out_of()};
    return true;
  }
  bool publish(Waiter& waiter) noexcept {
    const std::lock_guard guard(pool.lock_);
    if (pool.live_ == 0) return false;
    pool.watchers_.push_back(waiter);
    if (pool.untold() != nullptr) (void)pool.watchers_.wake_all();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    const std::lock_guard guard(pool.lock_);
    pool.watchers_.remove(waiter);
  }

  Pool& pool;
};

struct Pool::Standstill {  // concept Waitable
  bool try_complete(Waiter& /*waiter*/) noexcept {
    const std::lock_guard guard(pool.lock_);
    return pool.stands_still(joiner);
  }
  bool publish(Waiter& waiter) noexcept {
    const std::lock_guard guard(pool.lock_);
    pool.watchers_.push_back(waiter);
    if (pool.stands_still(joiner)) (void)pool.watchers_.wake_all();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    const std::lock_guard guard(pool.lock_);
    pool.watchers_.remove(waiter);
  }

  Pool& pool;
  const Fiber* joiner;
};

Result<Exhausted> Pool::await_exhausted(Deadline deadline) noexcept {
  const Fiber* const self = sched::carrier().current;
  {
    const std::lock_guard guard(lock_);
    many_watch_ = many_watch_ || (watcher_ != nullptr && watcher_ != self);
    watcher_ = self;
  }
  Watch watch{*this};
  Exhausted found;
  if (Status end = wait(watch, found, deadline); !end) return end.error();
  return found;
}

Status Pool::await_standstill(Deadline deadline) noexcept {
  Standstill standstill{*this, sched::carrier().current};
  return wait(standstill, deadline);
}

Resource Pool::shortage() noexcept {
  const std::lock_guard guard(lock_);
  for (Purse* purse = purses_.front(); purse != nullptr;
       purse = purses_.after(*purse)) {
    if (purse->out_of() != Resource::none) return purse->out_of();
  }
  return Resource::none;
}

}  // namespace weft::waiting
