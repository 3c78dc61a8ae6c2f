// till.hpp: where what a purse has paid for comes back to.
//
// In a nursery without a budget of its own whoever spawns pays, and has back
// what the child did not spend. Payers may end before those they paid for, so
// these hold their till and not them. Then it is for whoever paid for the
// payer; if that was a pool, or somebody without limits, it is nobody's.
//
// Invariants
//   M1  An open till has its purse, which is in its pool (B2): a purse closes
//       its till before it leaves.
//   M2  up_ is written by the purse's fiber alone, until it closes the till.
//
// Edges
//   [till]  is_last_hold() -> the last is_last_hold(): all that was done with
//           it.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/atomic.hpp"
#include <weft/budget.hpp>
#include <weft/wait.hpp>

namespace weft::waiting {

class Purse;

class Till {
 public:
  // Held once. up: of who paid for that purse, nullptr: nobody.
  Till(Purse& purse, Till* up) noexcept : purse_(&purse), up_(hold(up)) {}
  Till(const Till&) = delete;
  Till& operator=(const Till&) = delete;

  // Any thread that holds it, as all below; nullptr: it does nothing.
  static Till* hold(Till* till) noexcept {
    if (till != nullptr) till->holders_.fetch_add(1, relaxed);  // held already
    return till;
  }
  static void release(Till* till) noexcept;

  // Calls use(purse) where it cannot end meanwhile: with the nearest that is
  // open. False: there is none.
  template <typename Use>
  static bool with_payer(Till* till, Use&& use) noexcept {
    while (till != nullptr) {
      const std::lock_guard guard(till->lock_);
      if (till->purse_ != nullptr) {
        use(*till->purse_);
        return true;
      }
      till = till->up_;  // M2; held by the one that is
    }
    return false;
  }

  // The fiber of the purse, at its end.
  void close() noexcept;

 private:
  ~Till() = default;
  // Alone, nobody can make it more.
  bool is_last_hold() noexcept {
    return holders_.load(acquire) == 1 ||        // [till]
           holders_.fetch_sub(1, acq_rel) == 1;  // [till]
  }
  bool is_open() noexcept {
    const std::lock_guard guard(lock_);
    return purse_ != nullptr;
  }

  SpinLock lock_;
  Purse* purse_;  // guarded by lock_; nullptr: closed
  Till* up_;      // M2; held
  Atomic<std::uint32_t> holders_{1};
};

}  // namespace weft::waiting
