// capability.hpp: what a scope may do.
//
//   auto [spawn, budget, channel, executor] = runtime.authority().value();
//   auto ten = spawn.narrow({.max_tasks = 10, .task_budget = {}}).value();
//
// A capability is a move-only value: who holds it may act, and to hand it to a
// child is to pass an argument. All come from Runtime::authority() and are only
// ever split: a part that narrow() gives is taken from what it was split off.
// When the part and all that was done by it are gone, what it still has goes
// back there. So the sum never grows. The largest value of a number is no
// limit: nothing is missing from it afterwards.
//
// One that was moved from has nothing: everything is denied. So is what one
// runtime's would do in another: in a nursery of that, or by a fiber of that. A
// plain thread is in none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "weft/budget.hpp"
#include "weft/detail/license.hpp"
#include "weft/result.hpp"

namespace weft {

struct SpawnLimits {
  std::uint32_t max_tasks = 0;  // alive at once
  Budget task_budget = {};      // the most that one of them gets; not split

  friend constexpr bool operator==(const SpawnLimits&,
                                   const SpawnLimits&) = default;
};

struct ChannelLimits {
  std::size_t max_buffer = 0;      // the largest capacity of one; not split
  std::uint32_t max_channels = 0;  // alive at once

  friend constexpr bool operator==(const ChannelLimits&,
                                   const ChannelLimits&) = default;
};

enum class Executor : std::uint8_t { none, fibers = 1, blocking = 2, io = 4 };
constexpr Executor operator|(Executor a, Executor b) noexcept {
  return static_cast<Executor>(static_cast<unsigned>(a) |
                               static_cast<unsigned>(b));
}
constexpr Executor operator&(Executor a, Executor b) noexcept {
  return static_cast<Executor>(static_cast<unsigned>(a) &
                               static_cast<unsigned>(b));
}

struct ExecutorLimits {
  Executor backends = Executor::none;  // shared with its parts, not split

  friend constexpr bool operator==(const ExecutorLimits&,
                                   const ExecutorLimits&) = default;
};

// How often something was asked for.
struct Uses {
  std::uint64_t granted = 0;
  std::uint64_t denied = 0;
};
struct Audit {  // of one runtime; see Stats
  Uses authority;
  Uses spawn;  // children, parts of a CapSpawn
  Uses budget;
  Uses channel;
  Uses executor;
};

namespace detail {

template <typename Limits>
class Grant;
struct GrantAccess;

template <typename Limits>
class [[nodiscard]] Capability {
 public:
  Capability(Capability&& other) noexcept
      : grant_(std::exchange(other.grant_, nullptr)) {}
  Capability& operator=(Capability&& other) noexcept {
    Capability taken(std::move(other));
    std::swap(grant_, taken.grant_);
    return *this;
  }
  ~Capability();

  // What it may still do, as of now.
  //   Callers:  any fiber or thread while the holder neither moves nor ends it.
  Limits limits() const noexcept;

  // Splits a part off.
  //   Suspends:  never.
  //   Errors:    denied (it has not so much), exhausted (memory). Then it has
  //              all that it had.
  //   Callers:   as limits().
  Result<Capability> narrow(const Limits& part) noexcept;

  // May work be given to all of these? Counted as a use.
  bool allows(Executor which) const noexcept  //
      requires std::is_same_v<Limits, ExecutorLimits>;

 private:
  friend struct GrantAccess;
  explicit Capability(Grant<Limits>* grant) noexcept : grant_(grant) {}
  Grant<Limits>* grant_;
};

extern template class Capability<SpawnLimits>;
extern template class Capability<Budget>;
extern template class Capability<ChannelLimits>;
extern template class Capability<ExecutorLimits>;

}  // namespace detail

using CapSpawn = detail::Capability<SpawnLimits>;
using CapBudget = detail::Capability<Budget>;  // may recharge up to this
using CapChannel = detail::Capability<ChannelLimits>;
using CapExecutor = detail::Capability<ExecutorLimits>;

struct Capabilities {
  CapSpawn spawn;
  CapBudget budget;
  CapChannel channel;
  CapExecutor executor;
};

namespace detail {
// One more channel of this capacity. Errors: denied.
Result<License*> take_channel(CapChannel& by, std::size_t capacity) noexcept;
// Does this fiber need a CapChannel for that? Counted.
bool denies_channel() noexcept;
}  // namespace detail

namespace this_fiber {
// From the capability to what this fiber may spend.
//   Suspends:  never.
//   Errors:    denied (the capability has not so much), invalid (the fiber is
//              not metered). Then nothing happened.
Status recharge(CapBudget& from, const Budget& amount) noexcept;
}  // namespace this_fiber

}  // namespace weft
