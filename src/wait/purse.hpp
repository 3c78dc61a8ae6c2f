// purse.hpp: what a metered fiber may spend, and the pool it came from.
//
// A fiber pays from its purse by plain numbers: nobody else writes them. What
// others give it waits in `incoming`, which the fiber collects when it runs
// short, under the lock of its pool. Every nursery with a metered child has one
// pool, which knows the purses of its children. Its budget is its own, taken
// from the purse of the owner or made from nothing; or it has none: then the
// spawner pays for the child, and has back what that did not spend (Till).
//
// Invariants
//   B1  left_ and given_ are written by the fiber alone; before it is published
//       by its spawner.
//   B2  A purse is in its pool's list from its spawn until close(), which comes
//       before the fiber leaves its nursery; so a pool outlives its purses.
//   B3  A fiber counts as exhausted from the moment it waits for a recharge
//       until it can pay, or gives up. Both are written under the lock.
//   B4  Nothing is made: of a pool, its purses, what they spent and what
//       came back the sum is what was granted. A grace is not counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/atomic.hpp"
#include "base/intrusive_list.hpp"
#include "fiber/fiber.hpp"
#include "wait/till.hpp"
#include <weft/budget.hpp>
#include <weft/detail/license.hpp>
#include <weft/fiber.hpp>
#include <weft/result.hpp>
#include <weft/wait.hpp>

namespace weft::waiting {

using fiber::Fiber;
class Pool;

// Of an operation: so many ops, and so much of one thing more.
struct Price {
  std::uint32_t ops = 1;
  Resource extra = Resource::none;
  std::uint64_t amount = 0;
};

class Purse final : public fiber::Account, public base::ListHook {
 public:
  // Of a child that is about to be started. by: whose purse paid, and has a
  // till; nullptr: the pool did, or nobody.
  Purse(Pool& pool, const Fiber& child, const Budget& granted,
        Purse* by) noexcept;
  Purse(const Purse&) = delete;
  Purse& operator=(const Purse&) = delete;
  ~Purse() override;

  // nullptr: it pays for nothing. The fiber itself, or who holds its frame.
  static Purse* of(const Fiber& fiber) noexcept {
    const auto* const extras = fiber.extras.load(acquire);  // [name]
    if (extras == nullptr) return nullptr;
    return static_cast<Purse*>(extras->account.get());
  }

  // ---- The fiber itself.

  // Takes the price, or nothing.
  [[nodiscard]] bool take(const Price& price) noexcept {
    const auto ops = left_[0].load(relaxed);  // B1
    if (ops < price.ops) return false;
    if (price.extra != Resource::none) {
      auto& extra = left_[index(price.extra)];
      const auto left = extra.load(relaxed);  // B1
      if (left < price.amount) return false;
      extra.store(left - price.amount, relaxed);  // B1
    }
    left_[0].store(ops - price.ops, relaxed);  // B1
    return true;
  }
  // Collects what others gave it and what came back. Takes the pool's lock.
  void refill() noexcept;
  // As take(), if need be with that. Errors: exhausted.
  [[nodiscard]] Status take_refilled(const Price& price) noexcept;
  // The same, and waits where more ops or memory would do. Errors: exhausted,
  // cancelled, timed_out.
  [[nodiscard]] Status take_or_wait(const Price& price,
                                    Deadline deadline) noexcept;
  // Of what it has too little for that; none: of nothing.
  Resource lacks(const Price& price) const noexcept;
  // What was paid for did not happen.
  void take_back(const Price& price) noexcept;
  // A part of it, all of it or nothing, to a pool or child. Errors: exhausted.
  [[nodiscard]] Status give(const Budget& part) noexcept;
  // How much of it that may be: a grace is for oneself.
  Budget givable() const noexcept { return left() - grace_; }
  // Into it: what came back.
  void put(const Budget& part) noexcept;
  void put_memory(std::size_t bytes) noexcept;
  // It is about to pay for a child: where the rest of that comes back to.
  // nullptr: no memory.
  Till* need_till() noexcept;
  // It does nothing more that costs: if last() says so, all goes back. Who
  // learns of that from last() finds it where it came from.
  template <typename Last>
  bool hand_back_if(Last&& last) noexcept;
  // Who must stop and cannot be told may go on a little, once: with ops, and
  // with what it has to pay now. Nothing of it goes back. False: it had that
  // already.
  [[nodiscard]] bool take_grace(const Price& price) noexcept;
  // What is left of it is taken back.
  void end_grace() noexcept;

  // It is about to copy a closure into the frame of a child; it has done so, or
  // failed. One copy may spawn in the middle of another.
  void fills(Fiber& child) noexcept {
    child.next = filling_;
    filling_ = &child;
  }
  void filled() noexcept { filling_ = std::exchange(filling_->next, nullptr); }
  // nullptr: it does nothing of the kind.
  Fiber* filling() const noexcept { return filling_; }

  // Its spawner, before it is published: what it takes up until its end.
  void hold(detail::License& license) noexcept { license_ = &license; }
  // The same, if it does not start: what it was granted, and is no more.
  Budget empty() noexcept;
  void close() noexcept override;
  // With what it gave back, as far as that is still there.
  void reopen() noexcept override;

  // ---- Any thread that holds the frame: a snapshot.

  Ledger ledger() const noexcept;
  // none: it is not exhausted.
  Resource out_of() const noexcept {
    return out_of_.load(relaxed);  // a hint
  }

 private:
  friend class Pool;
  // So much that nobody comes to its end; what is above half of it is without
  // limit, so that spending need not ask. A limit above is cut to that half.
  static constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 63;
  using Amounts = std::array<Tally<std::uint64_t>, 5>;

  static std::size_t index(Resource resource) noexcept {
    return static_cast<std::size_t>(resource) - 1;
  }
  static std::array<std::uint64_t, 5> amounts_of(const Budget& b) noexcept;
  static Budget budget_of(const std::array<std::uint64_t, 5>& a) noexcept;
  static bool is_unlimited(std::uint64_t amount) noexcept {
    return amount > kNoLimit / 2;
  }
  Budget left() const noexcept;
  // What is there and what ever came, both at once.
  void move_in(std::size_t index, std::uint64_t amount) noexcept;
  void move_out(std::size_t index, std::uint64_t amount) noexcept;
  void collect() noexcept;
  // All but what is a grace.
  Budget take_all() noexcept;
  // Under the lock of its pool: what comes back to it.
  void receive(const Budget& part) noexcept;

  Amounts left_{};   // B1
  Amounts given_{};  // B1; less what is left: spent
  Budget grace_;     // B4: of left_, if it had any
  bool had_grace_ = false;
  Fiber* filling_ = nullptr;  // children of the fiber, by next; its own
  Till* till_ = nullptr;      // its own; held
  Till* const paid_by_;       // held; nullptr: the pool paid, or nobody
  detail::License* license_ = nullptr;
  Pool* pool_;  // nullptr: closed; the fiber's, and its spawner's
  Pool* last_pool_ = nullptr;  // once closed: whose it was
  bool keeps_rest_ = false;    // the same: nobody had what was left
  const Fiber& frame_;         // until close()
  const std::uint64_t fiber_;
  // Guarded by the pool's lock.
  Budget incoming_;
  Tally<Resource> out_of_{Resource::none};
  bool told_ = false;   // somebody who watches knows that it is exhausted
  bool stuck_ = false;  // if it is: no deadline of its own ends that
  WaitList waiting_;    // its fiber, if it is exhausted
};

// A nursery's. All but the constructor: any fiber or thread that keeps the
// nursery from ending.
class Pool {
 public:
  // own: has a budget; else whoever spawns pays.
  Pool(bool own, const Budget& budget) noexcept : own_(own), left_(budget) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  bool own() const noexcept { return own_; }
  Budget left() const noexcept;

  // The budget of a new child: what is asked for, exactly, or by default as
  // much of the usual one as there is. `by`: who spawns, nullptr if that one
  // is not metered. owner: the nursery is his. Errors: exhausted, with nothing
  // taken.
  Result<Budget> draw(const Budget* asked, const Budget& usual, Purse* by,
                      bool owner) noexcept;
  // The same: the child does not start. All goes back to where it came from.
  void undraw(const Budget& part, Purse* by, bool owner) noexcept;
  // Takes back what a child did not need.
  void put(const Budget& part) noexcept;
  // Everything, at the end of the nursery.
  Budget empty() noexcept;

  // Errors: exhausted (it has not so much), invalid (no such child).
  Status recharge(std::uint64_t fiber, const Budget& amount,
                  Purse* by) noexcept;
  // Waits until a child is exhausted that nobody has been told of. Errors:
  // closed (none left), cancelled, timed_out.
  Result<Exhausted> await_exhausted(Deadline deadline) noexcept;
  // Waits until there is nothing to wait for: no metered child is left, or all
  // are exhausted without a deadline, none of them is cancelled, and nobody but
  // the caller ever watched.
  // Errors: cancelled, timed_out.
  Status await_standstill(Deadline deadline) noexcept;
  // Of what the first of the exhausted ones is short; none: nobody is.
  Resource shortage() noexcept;
  // How many metered children there are.
  std::size_t live() const noexcept;

 private:
  friend class Purse;
  struct Recharge;
  struct Watch;
  struct Standstill;
  bool stands_still(const Fiber* joiner) noexcept;
  Purse* untold() noexcept;
  void count_exhausted(Purse& purse, Resource what, bool for_ever) noexcept;
  void count_able(Purse& purse) noexcept;

  const bool own_;
  mutable SpinLock lock_;
  // Guarded by lock_.
  Budget left_;
  base::IntrusiveList<Purse> purses_;
  std::size_t live_ = 0;
  std::size_t stuck_ = 0;
  const Fiber* watcher_ = nullptr;  // who called await_exhausted(), if anybody
  bool many_watch_ = false;         // there was another one, too
  WaitList watchers_;               // whoever waits for news
};

template <typename Last>
bool Purse::hand_back_if(Last&& last) noexcept {
  refill();
  bool is_last = false;
  if (pool_->own()) {
    const std::lock_guard guard(pool_->lock_);
    is_last = last();
    if (is_last) pool_->left_ = pool_->left_ + take_all();
    return is_last;
  }
  const auto hand = [&](Purse& payer) {
    const std::lock_guard guard(payer.pool_->lock_);
    is_last = last();
    if (is_last) payer.receive(take_all());
  };
  return Till::with_payer(paid_by_, hand) ? is_last : last();
}

}  // namespace weft::waiting
