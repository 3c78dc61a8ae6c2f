// family.hpp: the children of one nursery, counted; their first failure.
//
// live_ starts at kBias and counts what others did: a child's leave subtracts
// one, a spawn by anybody but the owner adds one. The owner's own spawns and
// the children it ran in place are a plain number, own_. join puts its node
// into joiner_ and adds own_ - kBias in one step; whoever takes live_ to zero
// goes on. Before that no value of live_ can be zero.
//
// Invariants
//   J4  live_ - (kBias, unless a join waits) + own_ == children not yet left.
//       The children of a family that has one above it are counted there, too,
//       and leave it last.
//   J5  A leave that does not reach zero is the child's last touch. One that
//       does takes the node out of joiner_ as its last touch; so a join that
//       gives up waits until it has (kTaken).
//
// Edges
//   [live]   leave() -> open_join(), settled(): all that the children did.
//   [slot]   open_join() -> take_joiner(): the node.
//   [taken]  take_joiner() -> give_up(): the last child's last touch.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "fiber/scope.hpp"
#include "fiber/wait_node.hpp"
#include <weft/detail/body.hpp>
#include <weft/result.hpp>

namespace weft::fiber {

struct Failure {
  Error error{Errc{}};  // Errc{}: none; panicked: see exception
  std::exception_ptr exception = nullptr;

  explicit operator bool() const noexcept { return !(error == Errc{}); }
};

// One child that failed, or one that could not be started: then it has no id.
struct Failed {
  Failure failure;
  std::uint64_t fiber = 0;
  std::string name = {};
  std::unique_ptr<Failed> before = nullptr;
  unsigned without_id = 0;  // so many have none, up to this one
};

class Family : public Scope {
 public:
  // owner: the fiber that spawns cheaply, and that it covers; nullptr: any
  // thread spawns.
  // up: without an owner, a family whose join waits for these children, too.
  explicit Family(Fiber* owner, bool fails_fast = true,
                  Family* up = nullptr) noexcept
      : Scope(Kind::nursery, owner, up), fails_fast_(fails_fast) {}

  ~Family() {  // in a loop: they may be many
    while (failed_ != nullptr) failed_ = std::move(failed_->before);
  }

  // A spawner that is given up before it has published that child, whose base
  // this is.
  virtual void take_back(Fiber& /*child*/) noexcept {}

  Fiber* owner() const noexcept { return covered(); }
  Family* up() const noexcept {
    return covered() == nullptr ? static_cast<Family*>(parent()) : nullptr;
  }

  // Before the child is published. `by`: the spawning fiber.
  void enter(const Fiber* by) noexcept {
    if (by == owner() && by != nullptr) {
      own_.store(own_.load(relaxed) + 1, relaxed);  // one writer
    } else {
      live_.fetch_add(1, relaxed);  // the child's own publication orders it
    }
  }
  // The owner ran a child in place, or takes back an enter().
  void left_here() noexcept {
    own_.store(own_.load(relaxed) - 1, relaxed);  // one writer
  }

  // Any thread, n children at once. True: the caller was last and must
  // take_joiner(); false: it may not touch the family again (J5).
  [[nodiscard]] bool leave(std::int64_t n) noexcept {
    return live_.fetch_sub(n, acq_rel) == n;  // [live]
  }
  // The last one only. nullptr: the join gave up meanwhile.
  [[nodiscard]] WaitNode* take_joiner() noexcept {
    const auto seen = joiner_.exchange(kTaken, acq_rel);  // [slot] [taken]
    return seen == kNone ? nullptr : reinterpret_cast<WaitNode*>(seen);
  }

  // Owner only. True if no child is left: nothing to wait for.
  [[nodiscard]] bool settled() const noexcept {
    return live_.load(acquire) + own_.load(relaxed) == kBias;  // [live]
  }
  // Owner only, once its node is ready. True: no child left, do not wait.
  [[nodiscard]] bool open_join(WaitNode& node) noexcept;
  // Owner only: a join that ran into its deadline.
  // False: the last child has the node; wait until it is gone.
  [[nodiscard]] bool give_up(WaitNode& node) noexcept;
  // Owner only: the join returned, all are gone; the family may be used again.
  void reset() noexcept;

  std::int64_t count() const noexcept;  // owner: exact; others: roughly

  // Any thread that keeps the nursery from ending: keeps the first, and tells
  // of all. nullptr: no memory for more than the first.
  void fail(const Failure& failure, std::unique_ptr<Failed> told) noexcept;
  // The same, of one without a child, which costs whoever asks for it nothing:
  // of those a few are told.
  [[nodiscard]] bool tells_one_more() const noexcept;
  bool fails_fast() const noexcept { return fails_fast_; }
  // The same: the first, if anything failed.
  Failure first_failure() noexcept;
  // Owner only, after the children have gone.
  const Failure& failure() const noexcept { return failure_; }
  // Any thread that keeps the nursery from ending: calls use(failed) for each,
  // last first.
  template <typename Use>
  void for_each_failure(Use&& use) const {
    failure_lock_.lock();
    const Failed* one = failed_.get();
    failure_lock_.unlock();
    while (one != nullptr) {  // they do not change any more
      use(*one);
      one = one->before.get();
    }
  }

 private:
  static constexpr std::int64_t kBias = std::int64_t{1} << 40;
  static constexpr unsigned kToldWithoutId = 64;
  static constexpr std::uintptr_t kNone = 0;
  static constexpr std::uintptr_t kTaken = 1;

  const bool fails_fast_;        // the first failure stops all
  Atomic<std::int64_t> own_{0};  // written by the owner only
  Atomic<std::int64_t> live_{kBias};
  Atomic<std::uintptr_t> joiner_{kNone};
  mutable base::SpinLock failure_lock_;
  Failure failure_;                 // guarded by failure_lock_ until joined
  std::unique_ptr<Failed> failed_;  // the same; the last one
};

}  // namespace weft::fiber
