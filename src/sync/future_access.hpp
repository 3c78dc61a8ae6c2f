// future_access.hpp: from a public future to what the library keeps in it.
#pragma once

#include "sync/core_in.hpp"
#include "sync/future_core.hpp"
#include <weft/future.hpp>

namespace weft {

struct detail::FutureAccess {
  static sync::FutureCore& core(AnyFuture& future) noexcept {
    return sync::core_in<sync::FutureCore>(future.core_);
  }
};

}  // namespace weft
