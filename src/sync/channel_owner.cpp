// channel_owner.cpp: when a buffer becomes a worker's own, and when no more.

#include "base/asymmetric.hpp"
#include "sched/worker.hpp"
#include "sync/channel_core.hpp"

namespace weft::sync {

using detail::kRingClosed;
using detail::kRingLocked;
using detail::kRingOwned;
using detail::kRingStep;

namespace {

// So many positions are taken before the first grant, and eight times as many
// before each later one. A barrier costs what some hundred of them save.
constexpr std::uint64_t kValues = 4096;
constexpr unsigned kMoreEach = 3;  // as a power of two

}  // namespace

// Under the lock, of a buffer. Whoever finds it full or empty comes by here.
void ChannelCore::note_visit() noexcept {
  auto& owner = tail_.owner();
  const auto& carrier = sched::carrier();
  const auto me = reinterpret_cast<std::uintptr_t>(&carrier);
  const auto w = tail_.word.load(relaxed);  // a hint
  if (owner.visitor != me) {
    owner.visitor = me;
    owner.since = End::position(w);
    return;
  }
  const auto grant = owner.now.load(relaxed);  // the lock's
  const auto enough = (kValues * kRingStep) << (kMoreEach * grant);
  if (End::position(w) - owner.since >= enough && carrier.worker != nullptr &&
      carrier.simulator == nullptr) {
    own_now(me);
  }
}

void ChannelCore::own() noexcept {
  enter();
  own_now(me());
  lock_.unlock();
}

// Under the lock. Others may move the words until the flag is in them; then
// nobody does but the caller (N1).
void ChannelCore::own_now(std::uintptr_t me) noexcept {
  constexpr auto kNever = kRingLocked | kRingClosed | kRingOwned;
  if (tail_.limit == 0 || !base::membarrier_works()) return;
  if ((tail_.word.load(relaxed) & kNever) != 0) return;  // the lock's
  auto& owner = tail_.owner();
  auto& to = owner.to[owner.now.load(relaxed)];      // the lock's
  if (to.load(relaxed) != Ownership::kFree) return;  // the lock's: W2
  to.store(me, relaxed);  // who finds himself in it is who wrote it
  tail_.word.fetch_or(kRingOwned, acq_rel);  // [ends]
  head_.word.fetch_or(kRingOwned, acq_rel);  // [ends]
}

// Under the lock, and the buffer is somebody's own.
[[gnu::noinline]] void ChannelCore::end_others_grant() noexcept {
  auto& owner = tail_.owner();
  const auto grant = owner.now.load(relaxed);         // the lock's
  if (owner.to[grant].load(relaxed) == me()) return;  // the lock's
  owner.to[grant].store(Ownership::kEnded, relaxed);  // the barrier's: W1
  base::heavy_barrier();
  spin_until([&owner, grant]() noexcept { return owner.is_left(grant); });
  for (End* const end : {&tail_, &head_}) {
    const auto w = end->word.load(relaxed);     // nobody else moves it: N1
    end->word.store(w & ~kRingOwned, release);  // [ends]
  }
  const auto next = static_cast<std::uint8_t>(grant + 1);
  if (next < Ownership::kGrants) owner.now.store(next, relaxed);
  owner.visitor = 0;
}

}  // namespace weft::sync
