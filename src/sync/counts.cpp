// counts.cpp: permits, counts, rounds, and what is done once.

#include <limits>
#include <mutex>
#include <utility>

#include "sync/line_attempt.hpp"
#include "sync/line_cores.hpp"

namespace weft::sync {

namespace {
constexpr auto kMost = std::numeric_limits<std::ptrdiff_t>::max();
}

bool SemaphoreCore::try_take() noexcept {
  const std::lock_guard hold(lock);
  if (permits <= 0) return false;
  --permits;
  return true;
}

// Whoever is in line is given what comes: a permit that is left means that
// nobody is.
Status SemaphoreCore::wait(Deadline deadline) noexcept {
  LineAttempt attempt{lock, queue, [this]() noexcept {
                        if (permits <= 0) return false;
                        --permits;
                        return true;
                      }};
  return wait_at(attempt, this, /*shield=*/false, deadline);
}

bool SemaphoreCore::release(std::ptrdiff_t count) noexcept {
  Woken woken;
  const std::lock_guard hold(lock);
  if (permits > 0 && count > kMost - permits) return false;
  permits = permits + count;
  while (permits > 0 && queue.wake_one(Reason::data, woken)) --permits;
  return true;
}

bool CountCore::add(std::ptrdiff_t count) noexcept {
  Woken woken;
  const std::lock_guard hold(lock);
  if (count > kMost - left || left + count < 0) return false;
  left = left + count;
  if (left == 0) (void)queue.wake_all(Reason::data, woken);
  return true;
}

// Under the lock: who sees zero may destroy it, so whoever made it zero must be
// gone from here.
bool CountCore::is_zero() noexcept {
  const std::lock_guard hold(lock);
  return left == 0;
}

Status CountCore::wait(Deadline deadline) noexcept {
  LineAttempt attempt{lock, queue, [this]() noexcept { return left == 0; }};
  return wait_at(attempt, this, /*shield=*/false, deadline);
}

bool BarrierCore::end_round(Woken& woken) noexcept {
  if (static_cast<std::ptrdiff_t>(arrived) < parties) return false;
  arrived = 0;
  ++round;
  (void)queue.wake_all(Reason::data, woken);
  return true;
}

Result<bool> BarrierCore::arrive_and_wait(Deadline deadline) noexcept {
  Woken woken;
  std::uint64_t mine = 0;
  bool here = false;
  bool last = false;
  bool over = false;
  LineAttempt attempt{lock, queue,
                      [&]() noexcept {
                        if (std::exchange(here, true)) return round != mine;
                        mine = round;
                        ++arrived;
                        last = end_round(woken);
                        return last;
                      },
                      [&](Woken& /*woken*/) noexcept {
                        over = round != mine;  // then it counted
                        if (!over) --arrived;
                      }};
  const auto end = wait_at(attempt, this, /*shield=*/false, deadline);
  if (!end && !over) return end.error();
  return last;
}

bool BarrierCore::drop() noexcept {
  Woken woken;
  const std::lock_guard hold(lock);
  if (parties == 0) return false;
  --parties;
  if (parties > 0) (void)end_round(woken);
  return true;
}

Result<bool> OnceCore::begin(Deadline deadline) noexcept {
  auto& self = *sched::carrier().current;
  bool runs = false;
  bool within = false;
  LineAttempt attempt{lock, queue,
                      [&]() noexcept {
                        const auto now = state.load(relaxed);  // the lock's
                        within = now == State::running && runner == &self;
                        runs = now == State::idle;
                        if (runs) {
                          state.store(State::running, relaxed);  // the lock's
                          runner = &self;
                        }
                        return now != State::running || within;
                      },
                      // Told that it is free, but he may not: the next.
                      [&](Woken& woken) noexcept {
                        const auto now = state.load(relaxed);  // the lock's
                        if (now == State::idle) {
                          (void)queue.wake_one(Reason::signal, woken);
                        }
                      }};
  const auto end = wait_at(attempt, this, /*shield=*/false, deadline);
  if (within) return Errc::invalid;
  if (!end) return end.error();
  return runs;
}

void OnceCore::end(bool succeeded) noexcept {
  Woken woken;
  const std::lock_guard hold(lock);
  runner = nullptr;
  if (succeeded) {
    state.store(State::done, release);  // [done]
    (void)queue.wake_all(Reason::data, woken);
  } else {
    state.store(State::idle, relaxed);  // the lock's
    (void)queue.wake_one(Reason::signal, woken);
  }
}

}  // namespace weft::sync
