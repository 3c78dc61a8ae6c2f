// budget.cpp: what a nursery and its children may spend.

#include <memory>
#include <new>
#include <ostream>
#include <utility>

#include "base/check.hpp"
#include "sched/interleave.hpp"
#include "sched/stop.hpp"
#include "scope/nursery_core.hpp"
#include "wait/charge.hpp"
#include "wait/wait.hpp"
#include <weft/fiber.hpp>
#include <weft/nursery.hpp>

namespace weft {

namespace {

using fiber::Fiber;
using scope::core_in;
using waiting::Pool;
using waiting::Purse;

Fiber& self() noexcept { return *sched::carrier().current; }

// The purse of the fiber that calls; nullptr: it is not metered.
Purse* own_purse() noexcept {
  Fiber& caller = self();
  return caller.word.is_metered() ? Purse::of(caller) : nullptr;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Budget& b) {
  const auto no_limit = Budget::unlimited();
  const auto print = [&out](const char* name, auto amount, auto most) {
    out << name;
    if (amount == most) {
      out << "unlimited";
    } else {
      out << amount;
    }
  };
  print("ops ", b.ops, no_limit.ops);
  print(", memory ", b.memory, no_limit.memory);
  print(", spawns ", b.spawn_count, no_limit.spawn_count);
  print(", channel_ops ", b.channel_ops, no_limit.channel_ops);
  print(", syscalls ", b.syscalls, no_limit.syscalls);
  return out;
}

namespace scope {

void NurseryCore::take_down() noexcept {
  if (inner != nullptr) {
    fiber::Scope::expect_around(inner->place);
    inner->up.family.remove_inside(inner->place);
  }
  if (!shares_pool) delete pool.load(relaxed);    // nobody is left to look
  if (Arena* const made = arena.load(relaxed)) {  // the same
    Purse* const purse = own_purse();
    if (shares_pool) {
      inner->up.pool.load(acquire)->put(  // [pool]
          {.memory = made->unreturned()});
    } else if (funds != nullptr) {
      funds->put({.memory = made->unreturned()});
    } else if (purse != nullptr && is_payer(self())) {
      purse->put_memory(made->unreturned());
    }
    delete made;
  }
  detail::Grant<Budget>::release(funds);
}

Pool* NurseryCore::need_pool() noexcept {
  Pool* known = pool.load(acquire);  // [pool]
  if (known != nullptr) return known;
  auto* const made = new (std::nothrow) Pool(/*own=*/false, Budget());
  if (made == nullptr) return nullptr;
  // [pool]
  if (pool.compare_exchange_strong(known, made, acq_rel, acquire)) return made;
  delete made;  // somebody was quicker
  return known;
}

Arena& NurseryCore::need_arena() {
  Arena* known = arena.load(acquire);  // [arena]
  if (known != nullptr) return *known;
  auto made = std::make_unique<Arena>();
  // [arena]
  if (arena.compare_exchange_strong(known, made.get(), acq_rel, acquire)) {
    return *made.release();
  }
  return *known;
}

void NurseryCore::open_pool(const Budget* budget) noexcept {
  Budget granted = budget != nullptr ? *budget : Budget();
  Purse* const purse = own_purse();
  if (purse != nullptr) {
    purse->refill();
    granted = min(granted, purse->givable());
    WEFT_CHECK(purse->give(granted), "a purse lacks what it has");
    payer = &self();
    payer_id = payer->id.load(relaxed);  // its own
  }
  meters_all = true;
  auto* const made = new (std::nothrow) Pool(budget != nullptr, granted);
  if (made == nullptr) {  // then it shall have no children
    if (purse != nullptr) purse->put(granted);
    refuse_children();
  }
  pool.store(made, release);  // [pool]
}

void NurseryCore::refuse_children() noexcept {
  sched::fail(family, {Error::out_of(Resource::memory)});
  (void)sched::stop(family, fiber::Cause::failure);
}

void NurseryCore::close_pool() noexcept {
  Pool* const known = pool.load(relaxed);  // no child is left
  if (known == nullptr || shares_pool) return;
  const auto left = known->empty();
  if (funds != nullptr) return funds->put(left);
  if (is_payer(self())) own_purse()->put(left);
}

void NurseryCore::filled(Fiber& frame) noexcept {
  Purse* const by = own_purse();
  if (by != nullptr && Purse::of(frame) != nullptr) by->filled();
}

void NurseryCore::take_back(Fiber& frame) noexcept {
  if (Purse* const purse = Purse::of(frame)) {
    Purse* const by = own_purse();
    if (by != nullptr) by->filled();
    const Budget granted = purse->empty();
    purse->close();
    pool.load(acquire)->undraw(granted, by, is_owner(self()));  // [pool]
  }
  if (frame.has_extras) frame.drop_extras();
  scheduler.abandon_frame(frame);
}

}  // namespace scope

Status Nursery::give_purse(detail::Frame* frame, const Budget* asked,
                           detail::Permit* permit) noexcept {
  auto& core = core_in(state_);
  Fiber& child = *reinterpret_cast<Fiber*>(frame);
  Pool* const pool = core.need_pool();
  fiber::Extras* const extras = pool != nullptr ? child.make_extras() : nullptr;
  if (extras == nullptr) return Error::out_of(Resource::memory);
  const bool owner = core.is_owner(self());
  const auto usual =
      permit != nullptr ? min(Budget::child(), permit->most) : Budget::child();
  const auto granted = pool->draw(asked, usual, own_purse(), owner);
  if (!granted) return granted.error();
  Purse* const payer = pool->own() ? nullptr : own_purse();
  auto* const purse = new (std::nothrow) Purse(*pool, child, *granted, payer);
  if (purse == nullptr) {
    pool->undraw(*granted, own_purse(), owner);
    return Error::out_of(Resource::memory);
  }
  extras->account.reset(purse);
  child.scope = &core.family;
  if (Purse* const by = own_purse()) by->fills(child);
  if (permit != nullptr) {
    purse->hold(*permit->license);
    permit->used = true;
  }
  child.word.be_metered();
  return {};
}

std::pmr::memory_resource* Nursery::memory() {
  return &core_in(state_).need_arena();
}

detail::ClosureBlock Nursery::allocate_closure(std::size_t bytes,
                                               std::size_t align) {
  auto& arena = core_in(state_).need_arena();
  void* const block = arena.take(bytes, align);
  if (block == nullptr) throw std::bad_alloc();
  return {block, &arena};
}

void detail::free_closure(const ClosureBlock& where, std::size_t bytes,
                          std::size_t align) noexcept {
  static_cast<scope::Arena*>(where.arena)->give(where.block, bytes, align);
}

Budget Nursery::budget() const noexcept {
  const Pool* const pool = core_in(state_).pool.load(acquire);  // [pool]
  if (pool != nullptr && pool->own()) return pool->left();
  return this_fiber::ledger().left;
}

Status Nursery::recharge(FiberId child, const Budget& amount) noexcept {
  auto& core = core_in(state_);
  const auto* const worker = sched::carrier().worker;
  const bool is_near =
      worker != nullptr && &worker->scheduler() == &core.scheduler;
  if (is_near && child == this_fiber::id()) return Errc::denied;
  Pool* const pool = core.pool.load(acquire);  // [pool]
  if (pool == nullptr) return Errc::invalid;
  return pool->recharge(child.value, amount, own_purse());
}

Result<Exhausted> Nursery::wait_exhausted(Deadline deadline) noexcept {
  Pool* const pool = core_in(state_).need_pool();
  if (pool == nullptr) return Error::out_of(Resource::memory);
  return pool->await_exhausted(deadline);
}

// Before a join waits for the children: until they have ended, or all that are
// left wait to be recharged.
Status Nursery::await_standstill(Deadline deadline) noexcept {
  auto& core = core_in(state_);
  if (!core.meters_all || core.shares_pool)
    return {};                                 // others may go on, and recharge
  Pool* const pool = core.pool.load(acquire);  // [pool]
  bool yielded = false;
  while (pool != nullptr && core.family.stopped() == fiber::Stop::none) {
    if (Status end = pool->await_standstill(deadline); !end) {
      // Who must stop tells the children, and waits for them.
      return waiting::must_stop(self()) ? Status() : end;
    }
    if (pool->live() == 0) break;
    // Who was told to stop, or has just been recharged, goes first: else a
    // loop of joins could keep it from that.
    const auto what = pool->shortage();
    if (yielded && what != Resource::none) return Error::out_of(what);
    this_fiber::yield();
    yielded = true;
  }
  return {};
}

namespace this_fiber {

Ledger ledger() noexcept {
  Purse* const purse = own_purse();
  if (purse == nullptr) return {Budget::unlimited(), Budget()};
  purse->refill();
  return purse->ledger();
}

}  // namespace this_fiber
}  // namespace weft
