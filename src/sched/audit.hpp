// audit.hpp: how often authority was used, and how often it did not suffice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/atomic.hpp"
#include <weft/capability.hpp>

namespace weft::sched {

enum class Right : std::uint8_t { authority, spawn, budget, channel, executor };

// Of a runtime. Any thread. Capabilities may outlive their runtime, so that it
// is shared.
class AuditTrail {
 public:
  // Answers whether it was granted.
  bool count(Right right, bool granted) noexcept {
    auto& uses = uses_[static_cast<std::size_t>(right)];
    (granted ? uses.granted : uses.denied).fetch_add(1, relaxed);  // a count
    return granted;
  }
  Audit read() const noexcept {
    const auto of = [this](Right right) -> weft::Uses {
      const auto& uses = uses_[static_cast<std::size_t>(right)];
      return {uses.granted.load(relaxed), uses.denied.load(relaxed)};  // counts
    };
    return {of(Right::authority), of(Right::spawn), of(Right::budget),
            of(Right::channel), of(Right::executor)};
  }

 private:
  struct Uses {
    Tally<std::uint64_t> granted{0};
    Tally<std::uint64_t> denied{0};
  };
  std::array<Uses, 5> uses_;
};

}  // namespace weft::sched
