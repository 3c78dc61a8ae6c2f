// grant.hpp: what is behind a capability.
//
// A grant is held by its capability, by each part that was split off it, by
// each fiber or channel that takes one of its places, and by the nursery that
// it pays for. The last to let go puts what is left into the grant it came
// from.
//
// Invariants
//   G1  Of a grant, its parts, what is taken up and what was spent the sum is
//       what it was made with: take() moves all of a part or nothing.
//
// Edges
//   [grant]  is_last_hold() -> the last is_last_hold(): all that was done with
//            it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "sched/audit.hpp"
#include "sched/scheduler.hpp"
#include <weft/capability.hpp>

namespace weft::detail {

// What there is to know of each kind: whether a part is in it, and what is left
// without it or with it again.
template <typename T>
constexpr T less(T all, T part) noexcept {
  return all == std::numeric_limits<T>::max() ? all
                                              : static_cast<T>(all - part);
}
template <typename T>
constexpr T more(T some, T part) noexcept {
  constexpr T kNoLimit = std::numeric_limits<T>::max();
  if (some == kNoLimit || part == kNoLimit) return kNoLimit;
  return part > kNoLimit - 1 - some ? kNoLimit - 1
                                    : static_cast<T>(some + part);
}

template <typename Limits>
struct GrantKind;

template <>
struct GrantKind<SpawnLimits> {
  static constexpr auto kRight = sched::Right::spawn;
  static constexpr SpawnLimits kAll{std::numeric_limits<std::uint32_t>::max(),
                                    Budget::unlimited()};
  static constexpr bool has(const SpawnLimits& all, const SpawnLimits& part) {
    return part.max_tasks <= all.max_tasks &&
           all.task_budget.lacks(part.task_budget) == Resource::none;
  }
  static constexpr void take(SpawnLimits& from, const SpawnLimits& part) {
    from.max_tasks = less(from.max_tasks, part.max_tasks);
  }
  static constexpr void put(SpawnLimits& to, const SpawnLimits& part) {
    to.max_tasks = more(to.max_tasks, part.max_tasks);
  }
};

template <>
struct GrantKind<Budget> {
  static constexpr auto kRight = sched::Right::budget;
  static constexpr Budget kAll = Budget::unlimited();
  static constexpr bool has(const Budget& all, const Budget& part) {
    return all.lacks(part) == Resource::none;
  }
  static constexpr void take(Budget& from, const Budget& part) {
    from = from - part;
  }
  static constexpr void put(Budget& to, const Budget& part) { to = to + part; }
};

template <>
struct GrantKind<ChannelLimits> {
  static constexpr auto kRight = sched::Right::channel;
  static constexpr ChannelLimits kAll{
      std::numeric_limits<std::size_t>::max(),
      std::numeric_limits<std::uint32_t>::max()};
  static constexpr bool has(const ChannelLimits& all,
                            const ChannelLimits& part) {
    return part.max_buffer <= all.max_buffer &&
           part.max_channels <= all.max_channels;
  }
  static constexpr void take(ChannelLimits& from, const ChannelLimits& part) {
    from.max_channels = less(from.max_channels, part.max_channels);
  }
  static constexpr void put(ChannelLimits& to, const ChannelLimits& part) {
    to.max_channels = more(to.max_channels, part.max_channels);
  }
};

template <>
struct GrantKind<ExecutorLimits> {
  static constexpr auto kRight = sched::Right::executor;
  static constexpr ExecutorLimits kAll{Executor::fibers | Executor::blocking |
                                       Executor::io};
  static constexpr bool has(const ExecutorLimits& all,
                            const ExecutorLimits& part) {
    return (all.backends & part.backends) == part.backends;
  }
  static constexpr void take(ExecutorLimits&, const ExecutorLimits&) {}
  static constexpr void put(ExecutorLimits&, const ExecutorLimits&) {}
};

template <typename Limits>
class Grant final : public License {
 public:
  using Kind = GrantKind<Limits>;
  using Trail = std::shared_ptr<sched::AuditTrail>;

  // Held once. parent: held for it already, or nullptr.
  Grant(Grant* parent, const Limits& limits, Trail trail) noexcept
      : parent_(parent), trail_(std::move(trail)), left_(limits) {}
  Grant(const Grant&) = delete;
  Grant& operator=(const Grant&) = delete;

  // Any thread that holds it, as all below.

  Limits left() const noexcept {
    const std::lock_guard guard(lock_);
    return left_;
  }
  // Takes all of it or nothing. Counted.
  [[nodiscard]] bool take(const Limits& part) noexcept {
    return trail_->count(Kind::kRight, move_out(part));
  }
  // G1: what came back.
  void put(const Limits& part) noexcept {
    const std::lock_guard guard(lock_);
    Kind::put(left_, part);
  }
  // One of its places, which was taken and held it: of tasks or channels.
  void give_back() noexcept override;

  Grant& hold() noexcept {
    holders_.fetch_add(1, relaxed);  // who calls holds it already
    return *this;
  }
  static void release(Grant* grant) noexcept {
    // Not by recursion: a chain of parts may be long.
    while (grant != nullptr && grant->is_last_hold()) {
      Grant* const parent = grant->parent_;
      if (parent != nullptr) parent->put(grant->left_);
      delete grant;
      grant = parent;
    }
  }

  const Trail& trail() const noexcept { return trail_; }
  // Only there it is good for anything.
  bool is_of(const sched::Scheduler& runtime) const noexcept {
    return trail_ == runtime.audit;
  }

 private:
  // Alone, nobody can make it more.
  bool is_last_hold() noexcept {
    return holders_.load(acquire) == 1 ||        // [grant]
           holders_.fetch_sub(1, acq_rel) == 1;  // [grant]
  }
  bool move_out(const Limits& part) noexcept {
    const std::lock_guard guard(lock_);
    if (!Kind::has(left_, part)) return false;
    Kind::take(left_, part);
    return true;
  }

  Grant* const parent_;
  const Trail trail_;
  Atomic<std::uint32_t> holders_{1};
  mutable base::SpinLock lock_;
  Limits left_;  // guarded by lock_
};

// The only way from a capability to its grant, and back.
struct GrantAccess {
  // nullptr: it was moved from.
  template <typename Limits>
  static Grant<Limits>* of(const Capability<Limits>& capability) noexcept {
    return capability.grant_;
  }
  template <typename Limits>
  static Capability<Limits> make(Grant<Limits>& grant) noexcept {
    return Capability<Limits>(&grant);
  }
};

// Everything. Errors: exhausted (memory).
Result<Capabilities> make_authority(
    const std::shared_ptr<sched::AuditTrail>& trail) noexcept;

}  // namespace weft::detail
