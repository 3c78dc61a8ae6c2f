// One client, compiled once, on both kinds of workers: threads and simulated.

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

long fib(int n) {
  if (n < 2) return n;
  Nursery nursery;
  auto left = nursery.spawn(fib, n - 1);
  const long right = fib(n - 2);
  return left.join().value() + right;
}

// Something of everything; what it answers does not depend on the order.
std::string client(Nursery& nursery) {
  test::Gate gate;
  auto passed = nursery.spawn([&] { return gate.pass().has_value(); });
  auto late = nursery.spawn([] {
    test::Gate never;
    return never.pass(Deadline::after(1ms)).error().message();
  });
  auto cancelled = nursery.spawn(
      []() -> Status { return this_fiber::sleep_until(Deadline::never()); });
  auto pinned = nursery.spawn([] {
    const this_fiber::Pin pin;
    this_fiber::yield();
    return this_fiber::sleep_for(100us).has_value();
  });
  const long computed = fib(12);
  gate.open();
  cancelled.cancel();
  std::string answer = std::to_string(computed);
  answer += passed.join().value() ? " passed" : " lost";
  answer += " " + late.join().value();
  answer += " " + cancelled.join().error().message();
  answer += pinned.join().value() ? " slept" : " woken";
  auto refused = nursery.spawn([]() -> Status { return Error::user(7); });
  answer += " " + refused.join().error().message();
  return answer;
}

class VariantsTest : public test::RuntimeTest {
 protected:
  // The nursery fails, because one of its children does, and only one: which is
  // first does not matter.
  static std::string answer_of(const Config& config) {
    std::string answer;
    Runtime runtime = start(config);
    const Status end =
        runtime.run([&](Nursery& nursery) { answer = client(nursery); });
    EXPECT_EQ(end.error(), Errc::failed);
    expect_empty(runtime);
    return answer;
  }
};

// R-RT-07 R-RT-08 R-CABI-13
TEST_F(VariantsTest, GiveTheSameClientTheSameAnswer) {
  const std::string expected =
      "144 passed timed_out cancelled slept " + Error::user(7).message();
  for (const unsigned workers : {1u, 2u, 4u}) {
    EXPECT_EQ(answer_of(Config{.workers = workers}), expected);
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      EXPECT_EQ(
          answer_of(Config{.workers = workers, .deterministic_seed = seed}),
          expected)
          << "seed " << seed << ", " << workers << " workers";
    }
  }
}

}  // namespace
}  // namespace weft
