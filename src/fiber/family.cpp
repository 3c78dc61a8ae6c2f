#include "fiber/family.hpp"

#include <mutex>
#include <utility>

#include "base/check.hpp"

namespace weft::fiber {

bool Family::open_join(WaitNode& node) noexcept {
  const auto before = joiner_.exchange(reinterpret_cast<std::uintptr_t>(&node),
                                       acq_rel);  // [slot]
  WEFT_CHECK(before == kNone, "a nursery is joined by two threads at once");
  const auto change = own_.load(relaxed) - kBias;
  own_.store(0, relaxed);                                 // one writer
  return live_.fetch_add(change, acq_rel) + change == 0;  // [live]
}

bool Family::give_up(WaitNode& node) noexcept {
  auto seen = reinterpret_cast<std::uintptr_t>(&node);
  // [taken]
  if (!joiner_.compare_exchange_strong(seen, kNone, acq_rel, acquire)) {
    return false;
  }
  if (live_.fetch_add(kBias, acq_rel) == 0) {         // [live]
    while (joiner_.load(acquire) != kTaken) pause();  // [taken]
    joiner_.store(kNone, relaxed);                    // nobody is left to look
  }
  return true;
}

void Family::reset() noexcept {
  live_.store(kBias, relaxed);  // nobody is left to look
  joiner_.store(kNone, relaxed);
  own_.store(0, relaxed);
}

std::int64_t Family::count() const noexcept {
  const auto live = live_.load(relaxed);  // a hint for anybody but the owner
  const auto count = (live >= kBias / 2 ? live - kBias : live) +
                     own_.load(relaxed);  // the same
  return count < 0 ? 0 : count;
}

void Family::fail(const Failure& failure,
                  std::unique_ptr<Failed> told) noexcept {
  const std::lock_guard guard(failure_lock_);
  if (!failure_) failure_ = failure;
  if (told == nullptr) return;
  const auto before = failed_ != nullptr ? failed_->without_id : 0;
  if (told->fiber == 0 && before == kToldWithoutId) return;
  told->without_id = before + (told->fiber == 0 ? 1 : 0);
  told->before = std::move(failed_);
  failed_ = std::move(told);
}

bool Family::tells_one_more() const noexcept {
  const std::lock_guard guard(failure_lock_);
  return failed_ == nullptr || failed_->without_id < kToldWithoutId;
}

Failure Family::first_failure() noexcept {
  const std::lock_guard guard(failure_lock_);
  return failure_;
}

}  // namespace weft::fiber
