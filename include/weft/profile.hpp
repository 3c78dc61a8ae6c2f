// profile.hpp: what a program may use, decided at compile time.
//
//               scheduler  capabilities    budget          yield interval
//   core        none       none            none            none
//   service     yes        implied         if asked for    1024
//   cluster     + actors   the supervisor  rechargeable    512
//   sovereign   yes        to be shown     from a          1024, or the
//                                          capability      user's choice
//
// Nursery is service's. NurseryIn<P> is a Nursery by the rules of P: what they
// forbid does not compile. Config::profile holds code that was compiled without
// them to those of sovereign: a plain Nursery starts nothing in such a runtime.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "weft/budget.hpp"
#include "weft/capability.hpp"
#include "weft/config.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/task.hpp"

namespace weft {

namespace profile {

// Who must be asked before a fiber starts.
enum class Asks : std::uint8_t { nobody, supervisor, capability };

struct Core {
  static constexpr Profile kind = Profile::core;
  static constexpr bool has_scheduler = false;
  static constexpr bool has_actors = false;
};
struct Service {
  static constexpr Profile kind = Profile::service;
  static constexpr bool has_scheduler = true;
  static constexpr bool has_actors = false;
  static constexpr Asks asks = Asks::nobody;
  static constexpr Budget budget = Budget::service();  // what suits it
  static constexpr std::uint32_t yield_interval = 1024;
};
struct Cluster {
  static constexpr Profile kind = Profile::cluster;
  static constexpr bool has_scheduler = true;
  static constexpr bool has_actors = true;
  static constexpr Asks asks = Asks::supervisor;
  static constexpr Budget budget = Budget::cluster();
  static constexpr std::uint32_t yield_interval = 512;
};
struct Sovereign {
  static constexpr Profile kind = Profile::sovereign;
  static constexpr bool has_scheduler = true;
  static constexpr bool has_actors = false;
  static constexpr Asks asks = Asks::capability;
  static constexpr Budget budget = {};  // none but what is granted
  static constexpr std::uint32_t yield_interval = 1024;
};

}  // namespace profile

namespace detail {
template <typename>
inline constexpr bool kNever = false;
}  // namespace detail

template <typename P>
class NurseryIn : public Nursery {  // of service and cluster
  static_assert(P::has_scheduler,
                "weft: profile core has no scheduler: no nursery, no spawn. "
                "Use profile::Service.");

 public:
  using Nursery::Nursery;
};

// Everything is taken from capabilities that the caller shows.
template <>
class NurseryIn<profile::Sovereign> : private Nursery {
  template <typename F, typename... Args>
  using TaskOf = Task<typename detail::BodyOf<F, Args...>::type>;
  template <typename F>
  static constexpr bool kIsBody =
      !std::is_same_v<std::remove_cvref_t<F>, SpawnOptions>;

 public:
  // The pool of the children; options.budget is not looked at. If `from` has
  // not so much, every spawn is denied. What is left in the end goes back.
  //   Callers:  as of Nursery's constructors.
  NurseryIn(CapBudget& from, const Budget& pool,
            const NurseryOptions& options = {}) noexcept
      : Nursery(options, &from, &pool) {}
  NurseryIn(RuntimeRef runtime, CapBudget& from, const Budget& pool,
            const NurseryOptions& options = {}) noexcept
      : Nursery(runtime, options, &from, &pool) {}

  // As Nursery's. The child takes one of by's places until it ends, and gets
  // at most by's task_budget.
  //   Errors:   the same, and denied (`by` has no place left, or permits no
  //             such budget; the pool was denied).
  template <typename F, typename... Args>
  auto spawn(CapSpawn& by, const SpawnOptions& options, F&& f, Args&&... args)
      -> TaskOf<F, Args...> {
    return start_in<TaskOf<F, Args...>>(reserve_by(by, options), &options,
                                        std::forward<F>(f),
                                        std::forward<Args>(args)...);
  }
  template <typename F, typename... Args>
  requires(kIsBody<F>) auto spawn(CapSpawn& by, F&& f, Args&&... args) {
    return spawn(by, SpawnOptions{}, std::forward<F>(f),
                 std::forward<Args>(args)...);
  }
  template <typename F, typename... Args>
  auto try_spawn(CapSpawn& by, const SpawnOptions& options, F&& f,
                 Args&&... args) -> Result<TaskOf<F, Args...>> {
    const auto reserved = reserve_by(by, options);
    if (reserved.frame == nullptr) return reserved.refused;
    return launch<TaskOf<F, Args...>>(reserved, std::forward<F>(f),
                                      std::forward<Args>(args)...);
  }
  template <typename F, typename... Args>
  requires(kIsBody<F>) auto try_spawn(CapSpawn& by, F&& f, Args&&... args) {
    return try_spawn(by, SpawnOptions{}, std::forward<F>(f),
                     std::forward<Args>(args)...);
  }

  // Without authority: says so.
  template <typename F, typename... Args>
  requires(!std::is_same_v<std::remove_cvref_t<F>, CapSpawn>) void spawn(
      F&&, Args&&...) {
    static_assert(detail::kNever<F>,
                  "weft: in profile sovereign spawning needs authority: "
                  "nursery.spawn(cap_spawn, f, args...)");
  }

  template <typename F, typename... Args>
  requires(!std::is_same_v<std::remove_cvref_t<F>, CapSpawn>) void try_spawn(
      F&&, Args&&...) {
    static_assert(detail::kNever<F>,
                  "weft: in profile sovereign spawning needs authority: "
                  "nursery.try_spawn(cap_spawn, f, args...)");
  }

  using Nursery::budget, Nursery::cancel, Nursery::cancelled, Nursery::close_on,
      Nursery::fail, Nursery::failures, Nursery::join, Nursery::live,
      Nursery::memory, Nursery::name, Nursery::recharge, Nursery::refill,
      Nursery::runtime, Nursery::set_deadline, Nursery::wait_exhausted;
};

}  // namespace weft
