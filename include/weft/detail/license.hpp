// detail/license.hpp: the place that a fiber or a channel takes up.
#pragma once

#include "weft/result.hpp"

namespace weft::detail {

// Of whoever counts what is alive: a capability, a supervisor.
struct License {
  // Once, when what took the place has ended. Never waits.
  virtual void give_back() noexcept = 0;
  // The fiber waits for more of this. Under a spin lock.
  virtual void lacks(Resource /*what*/) noexcept {}

 protected:
  ~License() = default;
};

}  // namespace weft::detail
