// timed_body.hpp: a child's own deadline.
//
// The frame's body is replaced by one that opens a scope with the deadline,
// puts the right one back and runs it inside. Children without a deadline have
// nothing of it.
#pragma once

#include "fiber/fiber.hpp"
#include <weft/time.hpp>

namespace weft::scope {

// The spawner, of a frame it has reserved. False: no memory.
[[nodiscard]] bool set_deadline(fiber::Fiber& child,
                                Deadline deadline) noexcept;
// The same, when the child has its body: from now on that is timed, if it is
// to be.
void watch_deadline(fiber::Fiber& child) noexcept;

}  // namespace weft::scope
