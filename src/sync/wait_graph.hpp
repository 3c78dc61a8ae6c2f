// wait_graph.hpp: who waits for a lock that who holds; finds a circle as it
// closes. In builds with debug checks.
//
// Only waits that nothing but an unlock can end are in it: lock(), which has no
// deadline and is no cancel point. So a circle of them is for ever, and there
// are no false alarms:
//
//   A wait is entered before it begins and left before its fiber goes on, so
//   whoever is in here has not unlocked since. Who has been given his lock, and
//   is not yet gone from here, is its owner himself: he ends the walk.
#pragma once

#include "fiber/fiber.hpp"

namespace weft::sync {

using fiber::Fiber;

// Who holds this lock; nullptr: nobody, or nobody knows.
using OwnerOf = const Fiber* (*)(const void* lock) noexcept;

#if defined(WEFT_DEBUG_CHECKS)

// While it lives, the current fiber waits for this lock. Dies with the circle
// if that closes one.
class WaitsForLock {
 public:
  WaitsForLock(const Fiber& self, const void* lock, const char* kind,
               OwnerOf owner_of) noexcept;
  ~WaitsForLock();
  WaitsForLock(const WaitsForLock&) = delete;
  WaitsForLock& operator=(const WaitsForLock&) = delete;

 private:
  friend class WaitGraph;
  const Fiber& self_;
  const void* lock_;
  const char* kind_;
  OwnerOf owner_of_;
  WaitsForLock* next_ = nullptr;      // in the graph
  WaitsForLock* previous_ = nullptr;  // the same
};

#else

struct WaitsForLock {
  WaitsForLock(const Fiber&, const void*, const char*, OwnerOf) noexcept {}
};

#endif

}  // namespace weft::sync
