// fibers_and_threads.hpp: a storm of fibers, and of threads beside them.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft::test {

class FibersAndThreadsTest : public WorkersTest {
 protected:
  static int rounds(int plain) {  // fewer where they are simulated
    return scaled(explored() ? (plain + 19) / 20 : plain);
  }
  // Runs the body in so many fibers; the number is its argument.
  template <typename F>
  void in_fibers(std::uint64_t count, F body) {
    Nursery nursery(runtime());
    for (std::uint64_t i = 0; i < count; ++i) {
      nursery.spawn([&body, i] { body(i); });
    }
    EXPECT_TRUE(nursery.join());
  }
  // The same, and on threads as well.
  template <typename F>
  void in_fibers_and_threads(std::uint64_t fibers, std::uint64_t threads,
                             F body) {
    std::vector<std::thread> all;
    for (std::uint64_t i = 0; i < threads; ++i) {
      all.emplace_back([&body, i, fibers] { body(fibers + i); });
    }
    in_fibers(fibers, body);
    for (auto& thread : all) thread.join();
  }
};

}  // namespace weft::test
