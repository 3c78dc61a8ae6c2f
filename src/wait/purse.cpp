#include "wait/purse.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "sched/carrier.hpp"
#include "time/clock.hpp"

namespace weft::waiting {

namespace {

template <typename T>
T narrowed(std::uint64_t amount, bool unlimited) noexcept {
  if (unlimited) return std::numeric_limits<T>::max();
  constexpr std::uint64_t kMost = std::numeric_limits<T>::max() - 1;
  return static_cast<T>(amount < kMost ? amount : kMost);
}

}  // namespace

// ---- Purse.

Purse::Purse(Pool& pool, const Fiber& child, const Budget& granted,
             Purse* by) noexcept
    : paid_by_(by != nullptr ? Till::hold(by->till_) : nullptr),
      pool_(&pool),
      frame_(child),
      fiber_(child.id.load(relaxed)) {  // its spawner's so far
  put(granted);
  const std::lock_guard guard(pool.lock_);
  pool.purses_.push_back(*this);
  ++pool.live_;
}

Purse::~Purse() {
  Till::release(till_);
  Till::release(paid_by_);
}

std::array<std::uint64_t, 5> Purse::amounts_of(const Budget& b) noexcept {
  const auto widened = [](auto amount) -> std::uint64_t {
    using T = decltype(amount);
    if (amount == std::numeric_limits<T>::max()) return kNoLimit;
    return std::min<std::uint64_t>(amount, kNoLimit / 2);
  };
  return {widened(b.ops), widened(b.memory), widened(b.spawn_count),
          widened(b.channel_ops), widened(b.syscalls)};
}

Budget Purse::budget_of(const std::array<std::uint64_t, 5>& a) noexcept {
  const auto as = [&a]<typename T>(std::size_t i, T /*type*/) {
    return narrowed<T>(a[i], is_unlimited(a[i]));
  };
  return {as(0, std::uint32_t{}), as(1, std::size_t{}), as(2, std::uint16_t{}),
          as(3, std::uint16_t{}), as(4, std::uint16_t{})};
}

Budget Purse::left() const noexcept {
  std::array<std::uint64_t, 5> left{};
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] = left_[i].load(relaxed);  // B1, or a snapshot
  }
  return budget_of(left);
}

void Purse::move_in(std::size_t index, std::uint64_t amount) noexcept {
  const auto left = left_[index].load(relaxed);  // B1
  if (is_unlimited(left)) return;
  if (!is_unlimited(amount)) {  // a sum of limits is a limit
    const auto room = kNoLimit / 2 - left;
    amount = amount < room ? amount : room;
  }
  left_[index].store(left + amount, relaxed);      // B1
  const auto given = given_[index].load(relaxed);  // B1
  given_[index].store(given + amount, relaxed);    // B1
}

void Purse::move_out(std::size_t index, std::uint64_t amount) noexcept {
  const auto left = left_[index].load(relaxed);  // B1
  if (is_unlimited(left)) return;
  left_[index].store(left - amount, relaxed);      // B1
  const auto given = given_[index].load(relaxed);  // B1
  given_[index].store(given - amount, relaxed);    // B1
}

Resource Purse::lacks(const Price& price) const noexcept {
  // What is refused comes before what can be waited for.
  if (price.extra != Resource::none) {
    const auto extra = left_[index(price.extra)].load(relaxed);  // B1
    if (extra < price.amount) return price.extra;
  }
  const auto ops = left_[0].load(relaxed);  // B1
  return ops < price.ops ? Resource::ops : Resource::none;
}

// Under the pool's lock.
void Purse::collect() noexcept { put(std::exchange(incoming_, Budget())); }

void Purse::put(const Budget& part) noexcept {
  const auto amounts = amounts_of(part);
  for (std::size_t i = 0; i < amounts.size(); ++i) move_in(i, amounts[i]);
}

void Purse::put_memory(std::size_t bytes) noexcept {
  if (pool_ != nullptr) move_in(index(Resource::memory), bytes);
}

void Purse::refill() noexcept {
  if (pool_ == nullptr) return;
  const std::lock_guard guard(pool_->lock_);
  collect();
}

Status Purse::take_refilled(const Price& price) noexcept {
  if (take(price) || pool_ == nullptr) return {};
  refill();
  if (take(price)) return {};
  return Error::out_of(lacks(price));
}

void Purse::take_back(const Price& price) noexcept {
  const auto undo = [this](std::size_t i, std::uint64_t amount) {
    left_[i].store(left_[i].load(relaxed) + amount, relaxed);  // B1
  };
  undo(0, price.ops);
  if (price.extra != Resource::none) undo(index(price.extra), price.amount);
}

Status Purse::give(const Budget& part) noexcept {
  WEFT_ASSERT(pool_ != nullptr, "B2");
  refill();
  if (const auto what = givable().lacks(part); what != Resource::none) {
    return Error::out_of(what);
  }
  const auto amounts = amounts_of(part);
  for (std::size_t i = 0; i < amounts.size(); ++i) move_out(i, amounts[i]);
  return {};
}

bool Purse::take_grace(const Price& price) noexcept {
  constexpr std::uint32_t kGrace = 10'000;
  if (std::exchange(had_grace_, true)) return false;
  grace_.ops =
      narrowed<std::uint32_t>(std::uint64_t{price.ops} + kGrace, false);
  if (price.extra == Resource::memory && !is_unlimited(price.amount)) {
    grace_.memory = price.amount;
  }
  put(grace_);
  return true;
}

void Purse::end_grace() noexcept {
  const auto grace = amounts_of(std::exchange(grace_, Budget()));
  for (std::size_t i = 0; i < grace.size(); ++i) {
    const auto left = left_[i].load(relaxed);  // B1
    move_out(i, left < grace[i] ? left : grace[i]);
  }
}

Ledger Purse::ledger() const noexcept {
  std::array<std::uint64_t, 5> spent{};
  for (std::size_t i = 0; i < spent.size(); ++i) {
    const auto still = left_[i].load(relaxed);   // B1, or a snapshot
    const auto given = given_[i].load(relaxed);  // the same
    spent[i] = given > still ? given - still : 0;
  }
  return {left(), budget_of(spent)};
}

Budget Purse::empty() noexcept {
  const Budget granted = left();
  for (auto& amount : left_) amount.store(0, relaxed);  // B1
  return granted;
}

Till* Purse::need_till() noexcept {
  if (till_ == nullptr) till_ = new (std::nothrow) Till(*this, paid_by_);
  return till_;
}

Budget Purse::take_all() noexcept {
  const Budget all = givable();
  const auto amounts = amounts_of(all);
  for (std::size_t i = 0; i < amounts.size(); ++i) move_out(i, amounts[i]);
  return all;
}

void Purse::receive(const Budget& part) noexcept {
  incoming_ = incoming_ + part;
  const auto lacking = out_of();
  if (lacking == Resource::none || amounts_of(part)[index(lacking)] == 0)
    return;
  pool_->count_able(*this);  // it looks for itself whether that is enough
  (void)waiting_.wake_one();
}

void Purse::close() noexcept {
  Pool* const pool = pool_;
  if (pool == nullptr) return;
  if (Till* const till = std::exchange(till_, nullptr)) {
    till->close();  // M1
    Till::release(till);
  }
  pool_ = nullptr;
  {
    const std::lock_guard guard(pool->lock_);
    collect();
    end_grace();
    if (pool->own()) pool->left_ = pool->left_ + left();
    pool->purses_.remove(*this);
  }
  last_pool_ = pool;
  const bool paid_back = Till::with_payer(paid_by_, [this](Purse& payer) {
    const std::lock_guard guard(payer.pool_->lock_);
    payer.receive(left());
  });
  keeps_rest_ = !paid_back && !pool->own();
  {
    // Not before: a payer who waits for just that would count as stuck.
    const std::lock_guard guard(pool->lock_);
    --pool->live_;
    (void)pool->watchers_.wake_all();
  }
  if (license_ != nullptr) std::exchange(license_, nullptr)->give_back();
}

void Purse::reopen() noexcept {
  Pool& pool = *last_pool_;
  Budget again;
  const auto take_from = [&](Budget& there) {
    again = min(there, left());
    there = there - again;
  };
  if (keeps_rest_) {
    again = left();
  } else {
    (void)Till::with_payer(paid_by_, [&](Purse& payer) {
      const std::lock_guard guard(payer.pool_->lock_);
      take_from(payer.incoming_);
    });
  }
  const std::lock_guard guard(pool.lock_);
  if (pool.own()) take_from(pool.left_);
  const auto missing = amounts_of(left() - again);
  for (std::size_t i = 0; i < missing.size(); ++i) move_out(i, missing[i]);
  pool.purses_.push_back(*this);
  ++pool.live_;
  pool_ = &pool;
}

// ---- Waiting for a recharge.

struct Pool::Recharge {  // concept Waitable
  bool try_complete(Waiter& /*waiter*/) noexcept {
    const std::lock_guard guard(pool.lock_);
    purse.collect();
    if (!purse.take(price)) return false;
    pool.count_able(purse);
    return true;
  }
  bool publish(Waiter& waiter) noexcept {
    const std::lock_guard guard(pool.lock_);
    purse.waiting_.push_back(waiter);
    if (purse.incoming_ == Budget()) {
      pool.count_exhausted(purse, purse.lacks(price), for_ever);
    } else {
      (void)purse.waiting_.wake_one();
    }
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    const std::lock_guard guard(pool.lock_);
    purse.waiting_.remove(waiter);
  }

  Pool& pool;
  Purse& purse;
  const Price& price;
  bool for_ever;  // nothing but a recharge or a stop from outside ends it
};

namespace {

// Of its own scopes: those around its nursery are the joiner's as well.
bool has_deadline(const Fiber& self) noexcept {
  for (const auto* scope = self.scope;
       scope != nullptr && scope->covered() == &self; scope = scope->parent()) {
    if (scope->deadline() != time::kNever) return true;
  }
  return false;
}

}  // namespace

Status Purse::take_or_wait(const Price& price, Deadline deadline) noexcept {
  Status paid = take_refilled(price);
  if (paid) return paid;
  const auto what = paid.error().resource();
  if (what != Resource::ops && what != Resource::memory) return paid;
  Pool& pool = *pool_;
  const bool for_ever =
      deadline == Deadline::never() && !has_deadline(*sched::carrier().current);
  Pool::Recharge recharge{pool, *this, price, for_ever};
  paid = wait(recharge, deadline);
  if (!paid) {
    const std::lock_guard guard(pool.lock_);
    pool.count_able(*this);
  }
  return paid;
}

}  // namespace weft::waiting
