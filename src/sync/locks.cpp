// locks.cpp: locks that are handed from one to the next in line.

#include <mutex>

#include "sync/line_attempt.hpp"
#include "sync/line_cores.hpp"

namespace weft::sync {

namespace {

// Then his turn would never come.
bool is_held_by(base::SpinLock& lock, const Plain<Fiber*>& owner,
                const Fiber& self) noexcept {
  const std::lock_guard hold(lock);
  return owner == &self;
}

}  // namespace

bool FairCore::try_lock(Fiber& self) noexcept {
  const std::lock_guard hold(lock);
  if (owner != nullptr) return false;
  owner = &self;
  return true;
}

Status FairCore::wait(Fiber& self, bool shield, Deadline deadline) noexcept {
  if (is_held_by(lock, owner, self)) return Errc::invalid;
  LineAttempt attempt{lock, queue, [this, &self]() noexcept {
                        if (owner != nullptr) return false;
                        owner = &self;
                        return true;
                      }};
  return wait_at(attempt, this, shield, deadline);
}

bool FairCore::enter(Fiber& self, FairPlace& place) noexcept {
  place.slot = &self;
  const std::lock_guard hold(lock);
  place.line = this;
  if (owner == nullptr) {
    owner = &self;
    return true;
  }
  queue.push_back(place);
  return false;
}

bool FairCore::leave(FairPlace& place) noexcept {
  const std::lock_guard hold(lock);
  if (place.gone()) return false;
  queue.remove(place);
  return true;
}

bool FairCore::unlock(Fiber& self) noexcept {
  Woken woken;
  FutureCore* turn = nullptr;
  {
    const std::lock_guard hold(lock);
    if (owner != &self) return false;
    owner = nullptr;
    while (WaitNode* const next = queue.pop_front()) {
      if (next->fiber == nullptr) {
        owner = static_cast<Fiber*>(next->slot);
        turn = &static_cast<FairPlace*>(next)->turn;
        next->unlinked();
        break;
      }
      owner = next->fiber;  // Q2
      if (WaitQueue::finish(*next, Reason::data, woken)) break;
      owner = nullptr;
    }
  }
  if (turn != nullptr) turn->set(Errc{});
  return true;
}

const Fiber* FairCore::owner_now() const noexcept {
  const std::lock_guard hold(lock);
  return owner;
}

bool SharedCore::try_lock(Fiber& self) noexcept {
  const std::lock_guard hold(lock);
  if (writer != nullptr || readers != 0) return false;
  writer = &self;
  return true;
}

bool SharedCore::try_lock_shared() noexcept {
  const std::lock_guard hold(lock);
  if (writer != nullptr || !writers_line.empty()) return false;
  ++readers;
  return true;
}

Status SharedCore::wait(Fiber& self, bool shield, Deadline deadline) noexcept {
  if (is_held_by(lock, writer, self)) return Errc::invalid;
  LineAttempt attempt{lock, writers_line,
                      [this, &self]() noexcept {
                        if (writer != nullptr || readers != 0) return false;
                        writer = &self;
                        return true;
                      },
                      // Readers may have waited for this writer alone.
                      [this](Woken& woken) noexcept {
                        if (writer == nullptr && writers_line.empty()) {
                          admit_readers(woken);
                        }
                      }};
  return wait_at(attempt, this, shield, deadline);
}

Status SharedCore::wait_shared(Fiber& self, bool shield,
                               Deadline deadline) noexcept {
  if (is_held_by(lock, writer, self)) return Errc::invalid;
  LineAttempt attempt{lock, readers_line, [this]() noexcept {
                        if (writer != nullptr || !writers_line.empty()) {
                          return false;
                        }
                        ++readers;
                        return true;
                      }};
  return wait_at(attempt, this, shield, deadline);
}

void SharedCore::admit_readers(Woken& woken) noexcept {
  readers = readers + static_cast<std::uint32_t>(
                          readers_line.wake_all(Reason::data, woken));
}

void SharedCore::admit_writer(Woken& woken) noexcept {
  while (WaitNode* const next = writers_line.pop_front()) {
    writer = next->fiber;  // Q2
    if (WaitQueue::finish(*next, Reason::data, woken)) return;
    writer = nullptr;
  }
}

bool SharedCore::unlock(Fiber& self) noexcept {
  Woken woken;
  const std::lock_guard hold(lock);
  if (writer != &self) return false;
  writer = nullptr;
  admit_readers(woken);
  if (readers == 0) admit_writer(woken);
  return true;
}

const Fiber* SharedCore::writer_now() const noexcept {
  const std::lock_guard hold(lock);
  return writer;
}

bool SharedCore::unlock_shared() noexcept {
  Woken woken;
  const std::lock_guard hold(lock);
  if (readers == 0) return false;
  if (--readers == 0) {
    admit_writer(woken);
    if (writer == nullptr) admit_readers(woken);
  }
  return true;
}

}  // namespace weft::sync
