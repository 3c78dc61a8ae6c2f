#include "base/fault.hpp"

#if defined(WEFT_FAULTS)

#include <mutex>

#include "base/check.hpp"
#include "base/spin_lock.hpp"

namespace weft::base {

namespace {

struct Fault {
  SpinLock lock;
  bool armed = false;   // guarded by lock, as all below
  unsigned passed = 0;  // calls still to let through
  unsigned left = 0;    // calls still to refuse
  unsigned refusals = 0;
};

constinit Fault faults[kFaultPoints];

Fault& fault_at(FaultPoint point) noexcept {
  return faults[static_cast<unsigned>(point)];
}

}  // namespace

bool refused(FaultPoint point) noexcept {
  Fault& fault = fault_at(point);
  const std::lock_guard hold(fault.lock);
  if (!fault.armed) return false;
  if (fault.passed != 0) {
    --fault.passed;
    return false;
  }
  if (fault.left == 0) return false;
  if (fault.left != Refusal::kAll) --fault.left;
  ++fault.refusals;
  return true;
}

Refusal::Refusal(FaultPoint point, unsigned passed, unsigned count) noexcept
    : point_(point) {
  Fault& fault = fault_at(point);
  const std::lock_guard hold(fault.lock);
  WEFT_CHECK(!fault.armed, "a second Refusal of fault point %u",
             static_cast<unsigned>(point));
  fault.armed = true;
  fault.passed = passed;
  fault.left = count;
  fault.refusals = 0;
}

Refusal::~Refusal() {
  Fault& fault = fault_at(point_);
  const std::lock_guard hold(fault.lock);
  fault.armed = false;
}

unsigned Refusal::refusals() const noexcept {
  Fault& fault = fault_at(point_);
  const std::lock_guard hold(fault.lock);
  return fault.refusals;
}

}  // namespace weft::base

#endif
