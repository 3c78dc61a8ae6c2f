// gives_up.hpp: every way in which a wait can give up.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft::test {

// Runs the body in a fiber, which is cancelled when it waits.
template <typename F>
void cancel_parked(F body) {
  Nursery nursery;
  auto task = nursery.spawn(std::move(body));
  await_parked(task);
  task.cancel();
  EXPECT_TRUE(task.join());
  (void)nursery.join();
}

// wait(Deadline) of something that does not come: it fails as it must, by its
// deadline and by a cancel, before it has begun and afterwards. By a fiber.
template <typename F>
void expect_gives_up(F wait) {
  using std::chrono_literals::operator""s;
  using std::chrono_literals::operator""us;
  EXPECT_EQ(wait(Deadline::after(1us)).error(), Errc::timed_out);
  EXPECT_EQ(wait(Deadline::after(-1s)).error(), Errc::timed_out);
  const auto is_cancelled = [&wait] {
    EXPECT_EQ(wait(Deadline::never()).error(), Errc::cancelled);
  };
  cancel_parked(is_cancelled);
  as_cancelled(is_cancelled);
}

}  // namespace weft::test
