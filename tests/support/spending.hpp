// spending.hpp: metered fibers that run out.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "sched/carrier.hpp"
#include "wait/charge.hpp"
#include <weft/fiber.hpp>
#include <weft/task.hpp>
#include <weft/yield_check.hpp>

namespace weft::test {

// So many ops, one after the other, as checked code spends them.
inline void spend(std::uint32_t ops) {
  while (ops-- > 0) {
    auto& self = *sched::carrier().current;
    if (self.word.is_metered()) waiting::charge_ops(self, 1);
  }
}

[[noreturn]] inline void compute_for_ever() {
  for (;;) yield_check();
}

// Returns when the task waits for a recharge.
inline void await_exhausted(const AnyTask& task) {
  while (task.state() != FiberState::exhausted) {
    ASSERT_FALSE(task.done());
    this_fiber::yield();
  }
}

}  // namespace weft::test
