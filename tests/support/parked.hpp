// parked.hpp: fibers of which a test knows where they are.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>

#include <weft/fiber.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/task.hpp>

namespace weft::test {

// Returns when the task waits: for what its body waits for, and nothing else.
inline void await_parked(const AnyTask& task) {
  while (task.state() != FiberState::parked) {
    ASSERT_FALSE(task.done());
    this_fiber::yield();
  }
}

// Returns when so many fibers live, the caller included; others have done all
// that an end does.
inline void await_live(std::size_t count) {
  while (this_fiber::runtime().stats().fibers_live != count) {
    this_fiber::yield();
  }
}

// Runs the body in a fiber that is cancelled already; the caller is a fiber.
template <typename F>
void as_cancelled(F body) {
  std::atomic<bool> began{false};
  Nursery nursery;
  auto task = nursery.spawn([&] {
    began = true;
    while (!this_fiber::cancelled()) this_fiber::yield();
    body();
  });
  while (!began) this_fiber::yield();
  task.cancel();
  (void)task.join();
  (void)nursery.join();
}

}  // namespace weft::test
