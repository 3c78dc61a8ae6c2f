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

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "fiber/wait_node.hpp"
#include <weft/detail/body.hpp>
#include <weft/result.hpp>

namespace weft::fiber {

struct FirstFailure {
  Error error{Errc{}};  // Errc{}: nobody failed; panicked: see exception
  std::exception_ptr exception;

  explicit operator bool() const noexcept { return !(error == Errc{}); }
};

class Family {
 public:
  // owner: the fiber that spawns cheaply; nullptr: any thread does.
  explicit Family(Fiber* owner) noexcept : owner_(owner) {}
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  Fiber* owner() const noexcept { return owner_; }

  // Before the child is published. `by`: the spawning fiber.
  void enter(const Fiber* by) noexcept {
    if (by == owner_ && by != nullptr) {
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

  // Any thread: keeps the first.
  void fail(Error error, std::exception_ptr exception) noexcept;
  // Owner only, after the children have gone.
  const FirstFailure& failure() const noexcept { return failure_; }

 private:
  static constexpr std::int64_t kBias = std::int64_t{1} << 40;
  static constexpr std::uintptr_t kNone = 0;
  static constexpr std::uintptr_t kTaken = 1;

  Fiber* const owner_;
  Atomic<std::int64_t> own_{0};  // written by the owner only
  Atomic<std::int64_t> live_{kBias};
  Atomic<std::uintptr_t> joiner_{kNone};
  base::SpinLock failure_lock_;
  FirstFailure failure_;  // guarded by failure_lock_ until joined
};

}  // namespace weft::fiber
