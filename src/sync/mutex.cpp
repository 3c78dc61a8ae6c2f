// mutex.cpp: the public face of the locks.

#include "base/check.hpp"
#include "sync/about_to.hpp"
#include "sync/core_in.hpp"
#include "sync/future_access.hpp"
#include "sync/line_cores.hpp"
#include "sync/mutex_core.hpp"
#include "sync/wait_graph.hpp"
#include <weft/mutex.hpp>

namespace weft {

using fiber::Fiber;
using sched::Op;
using sync::core_in;
using sync::FairCore;
using sync::FairPlace;
using sync::MutexCore;
using sync::SharedCore;

namespace {

constexpr const char* kTwice =
    "a lock is locked by the fiber or thread that holds it";
constexpr const char* kNotHeld =
    "a lock is unlocked by a fiber or thread that does not hold it";

// Who holds it, of a core that has its owner in a word or a field.
const Fiber* owner_of(const MutexCore& core) noexcept { return core.owner(); }
const Fiber* owner_of(const FairCore& core) noexcept {
  return core.owner_now();
}
const Fiber* owner_of(const SharedCore& core) noexcept {
  return core.writer_now();  // of readers only the number is known
}

// For ever if need be: what an error would say, nobody would hear. Without a
// deadline there is nothing to run out of.
template <typename Core, typename Wait>
void wait_for_ever(const char* kind, Core& core, Fiber& self, Wait&& wait) {
  const sync::WaitsForLock waits(
      self, &core, kind, [](const void* lock) noexcept {
        return owner_of(*static_cast<const Core*>(lock));
      });
  const Status end = wait();
  WEFT_CHECK(end.error() != Errc::invalid, "%s", kTwice);
  WEFT_ASSERT(end.has_value(), "a shielded wait without a deadline");
}
template <typename Core>
void lock_core(const char* kind, Core& core, Fiber& self) {
  wait_for_ever(kind, core, self, [&core, &self] {
    return core.wait(self, /*shield=*/true, Deadline::never());
  });
}

// As lock(), but a cancel point.
template <typename Lock, typename Core>
Result<std::unique_lock<Lock>> acquire_core(Lock& lock, Core& core,
                                            Deadline deadline) {
  if (const auto end = sync::cancel_point(&lock); !end) return end.error();
  Fiber& self = *sched::carrier().current;
  if (!core.try_lock(self)) {
    const auto end = core.wait(self, /*shield=*/false, deadline);
    WEFT_CHECK(end.error() != Errc::invalid, "%s", kTwice);
    if (!end) return end.error();
  }
  return std::unique_lock<Lock>(lock, std::adopt_lock);
}

}  // namespace

// A Mutex is its core, whose word its header knows as well.
static MutexCore& core_of(Mutex& mutex) noexcept {
  static_assert(sizeof(Mutex) == sizeof(MutexCore));
  return *std::launder(reinterpret_cast<MutexCore*>(&mutex));
}

Mutex::~Mutex() {
  WEFT_CHECK(core_of(*this).unused(),
             "a Mutex is destroyed while it is held or awaited");
}

void Mutex::lock_slow() {
  auto& core = core_of(*this);
  Fiber& self = sync::about_to_wait(Op::lock, this);
  if (!core.try_lock(self)) lock_core("Mutex", core, self);
}

bool Mutex::try_lock() noexcept {
  return core_of(*this).try_lock(sync::about_to(Op::lock, this));
}

void Mutex::unlock_slow() noexcept {
  WEFT_CHECK(core_of(*this).unlock(sync::about_to(Op::unlock, this)), "%s",
             kNotHeld);
}

Result<std::unique_lock<Mutex>> Mutex::acquire(Deadline deadline) {
  return acquire_core(*this, core_of(*this), deadline);
}

FairMutex::~FairMutex() {
  WEFT_CHECK(core_in<FairCore>(core_).unused(),
             "a FairMutex is destroyed while it is held or awaited");
}

void FairMutex::lock() {
  auto& core = core_in<FairCore>(core_);
  Fiber& self = sync::about_to_wait(Op::lock, this);
  if (!core.try_lock(self)) lock_core("FairMutex", core, self);
}

bool FairMutex::try_lock() noexcept {
  return core_in<FairCore>(core_).try_lock(sync::about_to(Op::lock, this));
}

void FairMutex::unlock() noexcept {
  WEFT_CHECK(core_in<FairCore>(core_).unlock(sync::about_to(Op::unlock, this)),
             "%s", kNotHeld);
}

Result<std::unique_lock<FairMutex>> FairMutex::acquire(Deadline deadline) {
  return acquire_core(*this, core_in<FairCore>(core_), deadline);
}

void FairMutex::lock(Future& turn) noexcept {
  Fiber& self = sync::about_to(Op::lock, this);
  auto& place = core_in<FairPlace>(turn.place_);
  WEFT_CHECK(place.gone() && !turn.is_set(),
             "a turn is used again before it was reset");
  if (core_in<FairCore>(core_).enter(self, place)) {
    detail::FutureAccess::core(turn).set(Errc{});  // no choice in between
  }
}

FairMutex::Future::Future() noexcept {
  sync::make_core<FairPlace>(place_, detail::FutureAccess::core(*this));
}

// Not in line, nor on its way out of it: who gives it the lock sets it last.
static bool is_out_of_line(const FairPlace& place,
                           const FairMutex::Future& turn) noexcept {
  return place.gone() && (place.line == nullptr || turn.is_set());
}

FairMutex::Future::~Future() {
  WEFT_CHECK(is_out_of_line(core_in<FairPlace>(place_), *this),
             "a turn is destroyed while it is in line: cancel() it");
}

void FairMutex::Future::reset() noexcept {
  auto& place = core_in<FairPlace>(place_);
  WEFT_CHECK(is_out_of_line(place, *this),
             "a turn is reset while it is in line: cancel() it");
  weft::Future<>::reset();
  place.line = nullptr;
}

void FairMutex::Future::cancel() noexcept {
  sched::interleave(Op::signal, this);
  auto& place = core_in<FairPlace>(place_);
  auto& turn = detail::FutureAccess::core(*this);
  if (place.line == nullptr || turn.is_set()) return;  // the lock may be gone
  if (place.line->leave(place)) return turn.set(Errc::cancelled);
  // Who gave it the lock is about to set it.
  spin_until([&turn] { return turn.is_set(); });
}

SharedMutex::~SharedMutex() {
  WEFT_CHECK(core_in<SharedCore>(core_).unused(),
             "a SharedMutex is destroyed while it is held or awaited");
}

void SharedMutex::lock() {
  auto& core = core_in<SharedCore>(core_);
  Fiber& self = sync::about_to_wait(Op::lock, this);
  if (!core.try_lock(self)) lock_core("SharedMutex", core, self);
}

bool SharedMutex::try_lock() noexcept {
  return core_in<SharedCore>(core_).try_lock(sync::about_to(Op::lock, this));
}

void SharedMutex::unlock() noexcept {
  WEFT_CHECK(
      core_in<SharedCore>(core_).unlock(sync::about_to(Op::unlock, this)), "%s",
      kNotHeld);
}

Result<std::unique_lock<SharedMutex>> SharedMutex::acquire(Deadline deadline) {
  return acquire_core(*this, core_in<SharedCore>(core_), deadline);
}

void SharedMutex::lock_shared() {
  auto& core = core_in<SharedCore>(core_);
  Fiber& self = sync::about_to_wait(Op::lock, this);
  if (core.try_lock_shared()) return;
  wait_for_ever("SharedMutex", core, self, [&core, &self] {
    return core.wait_shared(self, /*shield=*/true, Deadline::never());
  });
}

bool SharedMutex::try_lock_shared() noexcept {
  (void)sync::about_to(Op::lock, this);
  return core_in<SharedCore>(core_).try_lock_shared();
}

void SharedMutex::unlock_shared() noexcept {
  (void)sync::about_to(Op::unlock, this);
  WEFT_CHECK(core_in<SharedCore>(core_).unlock_shared(), "%s", kNotHeld);
}

Result<std::shared_lock<SharedMutex>> SharedMutex::acquire_shared(
    Deadline deadline) {
  auto& core = core_in<SharedCore>(core_);
  if (const auto end = sync::cancel_point(this); !end) return end.error();
  if (!core.try_lock_shared()) {
    const auto end =
        core.wait_shared(*sched::carrier().current, /*shield=*/false, deadline);
    WEFT_CHECK(end.error() != Errc::invalid, "%s", kTwice);
    if (!end) return end.error();
  }
  return std::shared_lock<SharedMutex>(*this, std::adopt_lock);
}

}  // namespace weft
