// capability.cpp: authority, split and used.

#include <new>
#include <optional>
#include <utility>

#include "sched/scheduler.hpp"
#include "scope/grant.hpp"
#include "scope/nursery_core.hpp"
#include <weft/capability.hpp>
#include <weft/nursery.hpp>

namespace weft {

using scope::core_in;
using waiting::Pool;
using waiting::Purse;

namespace detail {

namespace {

// A plain thread has no runtime of its own: there it is good for anything.
template <typename Limits>
bool is_good_here(const Grant<Limits>* grant) noexcept {
  if (grant == nullptr) return false;
  const auto* const worker = sched::worker_or_null();
  return worker == nullptr || grant->is_of(worker->scheduler());
}

}  // namespace

template <typename Limits>
Capability<Limits>::~Capability() {
  Grant<Limits>::release(grant_);
}

template <typename Limits>
Limits Capability<Limits>::limits() const noexcept {
  return grant_ != nullptr ? grant_->left() : Limits();
}

template <typename Limits>
Result<Capability<Limits>> Capability<Limits>::narrow(
    const Limits& part) noexcept {
  if (grant_ == nullptr || !grant_->take(part)) return Errc::denied;
  auto* const made =
      new (std::nothrow) Grant<Limits>(&grant_->hold(), part, grant_->trail());
  if (made != nullptr) return Capability(made);
  grant_->put(part);
  Grant<Limits>::release(grant_);  // not the last: the capability holds it
  return Error::out_of(Resource::memory);
}

template <typename Limits>
bool Capability<Limits>::allows(Executor which) const noexcept  //
    requires std::is_same_v<Limits, ExecutorLimits> {
  // clang 14 instantiates it for the others, too.
  if constexpr (std::is_same_v<Limits, ExecutorLimits>) {
    return is_good_here(grant_) && grant_->take({which});
  } else {
    return false;
  }
}

template class Capability<SpawnLimits>;
template class Capability<Budget>;
template class Capability<ChannelLimits>;
template class Capability<ExecutorLimits>;

template <typename Limits>
void Grant<Limits>::give_back() noexcept {
  if constexpr (std::is_same_v<Limits, SpawnLimits>) {
    put({.max_tasks = 1, .task_budget = {}});
  } else if constexpr (std::is_same_v<Limits, ChannelLimits>) {
    put({.max_buffer = 0, .max_channels = 1});
  }
  release(this);
}

namespace {

template <typename Limits>
Result<Capability<Limits>> all_of(
    const std::shared_ptr<sched::AuditTrail>& trail) noexcept {
  auto* const made =
      new (std::nothrow) Grant<Limits>(nullptr, GrantKind<Limits>::kAll, trail);
  if (made == nullptr) return Error::out_of(Resource::memory);
  return GrantAccess::make(*made);
}

}  // namespace

Result<Capabilities> make_authority(
    const std::shared_ptr<sched::AuditTrail>& trail) noexcept {
  auto spawn = all_of<SpawnLimits>(trail);
  auto budget = all_of<Budget>(trail);
  auto channel = all_of<ChannelLimits>(trail);
  auto executor = all_of<ExecutorLimits>(trail);
  if (!spawn || !budget || !channel || !executor) {
    return Error::out_of(Resource::memory);
  }
  return Capabilities{*std::move(spawn), *std::move(budget),
                      *std::move(channel), *std::move(executor)};
}

Result<License*> take_channel(CapChannel& by, std::size_t capacity) noexcept {
  auto* const grant = GrantAccess::of(by);
  const ChannelLimits one{capacity, 1};
  if (!is_good_here(grant) || !grant->take(one)) return Errc::denied;
  return &grant->hold();
}

bool denies_channel() noexcept {
  auto* const worker = sched::worker_or_null();
  if (worker == nullptr) return false;
  auto& runtime = worker->scheduler();
  if (runtime.config().profile != Profile::sovereign) return false;
  runtime.audit->count(sched::Right::channel, false);
  return true;
}

}  // namespace detail

using detail::GrantAccess;

detail::Reserved Nursery::reserve_by(CapSpawn& by,
                                     const SpawnOptions& options) noexcept {
  auto* const grant = GrantAccess::of(by);
  if (grant == nullptr || !grant->is_of(core_in(state_).scheduler)) {
    return {.refused = Errc::denied};
  }
  // Who asks for no amount gets no more than is permitted.
  const SpawnLimits one{1, options.budget ? *options.budget : Budget()};
  if (!grant->take(one)) return {.refused = Errc::denied};
  detail::Permit permit{&grant->hold(), grant->left().task_budget};
  const auto reserved = reserve(&options, &permit);
  if (reserved.frame == nullptr && !permit.used) permit.license->give_back();
  return reserved;
}

Status Nursery::refill(CapBudget& from, const Budget& amount) noexcept {
  auto& core = core_in(state_);
  Pool* const pool = core.pool.load(acquire);  // [pool]
  if (pool == nullptr || !pool->own()) return Errc::invalid;
  auto* const grant = GrantAccess::of(from);
  if (grant == nullptr || !grant->is_of(core.scheduler) ||
      !grant->take(amount)) {
    return Errc::denied;
  }
  pool->put(amount);
  return {};
}

namespace scope {

void NurseryCore::fund(CapBudget& from, const Budget& budget) noexcept {
  auto* const grant = GrantAccess::of(from);
  if (grant == nullptr || !grant->is_of(scheduler) || !grant->take(budget)) {
    return deny();
  }
  meters_all = true;
  auto* const made = new (std::nothrow) Pool(/*own=*/true, budget);
  if (made == nullptr) {
    grant->put(budget);
    return refuse_children();
  }
  funds = &grant->hold();
  pool.store(made, release);  // [pool]
}

}  // namespace scope

namespace this_fiber {

Status recharge(CapBudget& from, const Budget& amount) noexcept {
  auto& self = *sched::carrier().current;
  if (!self.word.is_metered()) return Errc::invalid;
  auto* const grant = GrantAccess::of(from);
  if (grant == nullptr || !grant->is_of(sched::Scheduler::of(self)) ||
      !grant->take(amount)) {
    return Errc::denied;
  }
  Purse::of(self)->put(amount);
  return {};
}

}  // namespace this_fiber
}  // namespace weft
