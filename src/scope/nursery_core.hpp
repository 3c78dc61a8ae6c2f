// nursery_core.hpp: what is in a Nursery.
//
// Edges
//   [pool]   need_pool() -> those who use the pool: its contents.
//   [arena]  need_arena() -> those who use the arena: its contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/atomic.hpp"
#include "fiber/family.hpp"
#include "sched/scheduler.hpp"
#include "sched/stop.hpp"
#include "scope/arena.hpp"
#include "scope/deadline.hpp"
#include "scope/grant.hpp"
#include "wait/purse.hpp"
#include <weft/nursery.hpp>

namespace weft::scope {

using sched::Scheduler;

struct NurseryCore;

// Of one that is inside of another by name.
struct Inner {
  Inner(fiber::Family& own, NurseryCore& around) noexcept
      : place(own), up(around) {}
  fiber::Inside place;  // in the other's list
  NurseryCore& up;
};

struct NurseryCore {
  struct Members final : fiber::Family {
    using Family::Family;
    void abandon() noexcept override;
    void take_back(fiber::Fiber& child) noexcept override;
    NurseryCore& core() noexcept;
  };

  // from, budget: a capability that pays; nullptr: as the options say.
  NurseryCore(Scheduler& where, fiber::Fiber* owner,
              const NurseryOptions& options, CapBudget* from = nullptr,
              const Budget* budget = nullptr,
              fiber::Family* up = nullptr) noexcept
      : scheduler(where),
        name_data(options.name.data()),
        family(owner, options.on_failure != OnFailure::wait_for_all, up),
        name_size(static_cast<std::uint32_t>(options.name.size())) {
    if (from == nullptr && where.config().profile == Profile::sovereign) deny();
    if (from != nullptr) {
      fund(*from, *budget);
    } else if (options.budget || sched::carrier().current->word.is_metered()) {
      open_pool(options.budget ? &*options.budget : nullptr);
    }
    if (options.deadline != Deadline::never()) set_deadline(options.deadline);
    if (owner != nullptr) stop_with_outer(*owner);
  }
  ~NurseryCore() {
    if (has_more()) [[unlikely]]
      take_down();
    timeout.disarm();
    family.close();
  }

  void set_deadline(Deadline deadline) noexcept {
    timeout.set(family, scheduler, time::nanoseconds(deadline));
  }
  // The owner, who would else tell it of stops around it at a cancel point: as
  // it opens it, and joins it.
  void stop_with_outer(const fiber::Fiber& owner) noexcept {
    const auto why = fiber::stop_around(&family, owner);
    if (why == fiber::Stop::none) [[likely]]
      return;
    (void)sched::stop(family, why == fiber::Stop::timed_out
                                  ? fiber::Cause::outer_deadline
                                  : fiber::Cause::outer_cancel);
  }
  // Whoever opens it: from now on it is stopped with the other, and without a
  // budget of its own shares that of the other.
  void be_inside(NurseryCore& up) {
    inner = std::make_unique<Inner>(family, up);
    if (!meters_all && up.meters_all) {
      meters_all = shares_pool = true;
      pool.store(up.pool.load(acquire), release);  // [pool]
    }
    if (up.family.add(inner->place)) return;
    (void)sched::stop(family, up.family.stopped() == fiber::Stop::timed_out
                                  ? fiber::Cause::outer_deadline
                                  : fiber::Cause::outer_cancel);
  }
  // Is there nothing to ask before a spawn by who has no limits?
  bool is_plain() const noexcept {
    return !closed.load(relaxed) &&  // a child's spawn may race
           inner == nullptr && !meters_all;
  }
  bool is_closed() const noexcept {
    for (const auto* core = this;; core = &core->inner->up) {
      if (core->closed.load(relaxed)) return true;  // a child's spawn may race
      if (core->inner == nullptr) return false;
    }
  }
  // The owner, at the end: has join() told of it? It may have told of children
  // that are out of ops, which were then cancelled and given up.
  bool is_told(const fiber::Failure& failure) const noexcept {
    return reported ||
           (stood_still && failure.error == Error::out_of(Resource::ops));
  }
  // Before a child is published.
  void count_child(const fiber::Fiber* by) noexcept {
    family.enter(by);
    for (auto* up = family.up(); up != nullptr; up = up->up()) up->enter(by);
  }
  // The owner: no child is left.
  void end() noexcept {
    family.be_over();
    if (!has_more()) [[likely]]
      return;
    for (auto* closer = std::exchange(closers, nullptr); closer != nullptr;) {
      const std::unique_ptr<detail::Closer> done(closer);
      closer = closer->next;
      done->close();
    }
    close_pool();
  }

  // Any fiber or thread that spawns: the pool, made when it is wanted. nullptr:
  // no memory.
  waiting::Pool* need_pool() noexcept;
  // Any fiber or thread that spawns: the arena, made when it is wanted. Throws
  // std::bad_alloc.
  Arena& need_arena();
  // nullptr: it has no budget of its own.
  void open_pool(const Budget* budget) noexcept;
  // The same from what a capability has, or no child may start.
  void fund(CapBudget& from, const Budget& budget) noexcept;
  void deny() noexcept {
    denied = true;
    closed.store(true, relaxed);  // nobody knows it yet
  }
  // There is no memory for the pool: then it shall have no children.
  void refuse_children() noexcept;
  // What the children have left belongs again to whoever paid for it.
  void close_pool() noexcept;
  // The owner: is there anything besides children to take down?
  bool has_more() const noexcept {
    return closers != nullptr || inner != nullptr || funds != nullptr ||
           pool.load(relaxed) != nullptr ||  // made by children, who are gone
           arena.load(relaxed) != nullptr;   // the same
  }
  // Its last: what has_more() asks for.
  void take_down() noexcept;
  // Its spawner: the closure of the child is in its frame.
  static void filled(fiber::Fiber& frame) noexcept;
  // The same: the child does not start. It costs nothing.
  void take_back(fiber::Fiber& frame) noexcept;
  // Who spawns from its budget pays no spawn of his own.
  bool is_owner(const fiber::Fiber& who) const noexcept {
    return is_payer(who) || family.owner() == &who;
  }
  // Frames are used again, ids are not.
  bool is_payer(const fiber::Fiber& who) const noexcept {
    return payer == &who && payer_id == who.id.load(relaxed);  // its own
  }

  Scheduler& scheduler;
  const char* name_data;
  Members family;
  ScopeDeadline timeout;
  detail::Closer* closers = nullptr;       // owner only
  Atomic<waiting::Pool*> pool{nullptr};    // made once
  Atomic<Arena*> arena{nullptr};           // made once
  std::unique_ptr<Inner> inner;            // immutable
  fiber::Fiber* payer = nullptr;           // of its budget; nullptr: nobody
  std::uint64_t payer_id = 0;              // 0: nobody
  detail::Grant<Budget>* funds = nullptr;  // of its budget; held
  std::uint32_t name_size;
  Atomic<bool> closed{false};    // join() was called; written by the owner
  bool denied : 1 = false;       // and so it began
  bool shares_pool : 1 = false;  // it belongs to the one around; the same
  bool meters_all : 1 = false;   // every child; fixed at the start
  bool stood_still : 1 = false;  // join() told that all are exhausted; owner
  bool reported = false;         // join() told of the first failure; owner only
};

inline NurseryCore& core_in(std::byte* state) noexcept {
  return *std::launder(reinterpret_cast<NurseryCore*>(state));
}
inline const NurseryCore& core_in(const std::byte* state) noexcept {
  return *std::launder(reinterpret_cast<const NurseryCore*>(state));
}

}  // namespace weft::scope
