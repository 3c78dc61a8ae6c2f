#include "wait/till.hpp"

#include <utility>

namespace weft::waiting {

void Till::release(Till* till) noexcept {
  // Not by recursion: a chain of payers may be long.
  while (till != nullptr && till->is_last_hold()) {
    Till* const up = till->up_;
    delete till;
    till = up;
  }
}

void Till::close() noexcept {
  // Who pays for who pays for the next, and so on, must not leave them all.
  while (up_ != nullptr && !up_->is_open()) {
    Till* const closed = std::exchange(up_, hold(up_->up_));
    release(closed);
  }
  const std::lock_guard guard(lock_);
  purse_ = nullptr;
}

}  // namespace weft::waiting
