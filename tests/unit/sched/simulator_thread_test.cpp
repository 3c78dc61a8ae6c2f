// The thread of a deterministic runtime is the loop of its workers, and yet a
// thread like any other.

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

class SimulatorThreadTest : public test::RuntimeTest {
 protected:
  static Runtime simulated(std::uint64_t seed = 1) {
    return start(Config{.workers = 2, .deterministic_seed = seed});
  }
};

TEST_F(SimulatorThreadTest, KeepsItsOwnExceptions) {
  Runtime runtime = simulated();
  std::string caught;
  try {
    try {
      throw std::runtime_error("its own");
    } catch (...) {
      EXPECT_TRUE(runtime.run([] {
        try {
          throw 1;
        } catch (int) {
          this_fiber::yield();
        }
      }));
      throw;
    }
  } catch (const std::exception& error) {
    caught = error.what();
  }
  EXPECT_EQ(caught, "its own");
}

TEST_F(SimulatorThreadTest, RunsFibersWhileItUnwinds) {
  Runtime runtime = simulated();
  bool ran = false;
  try {
    bool began = false;
    Nursery nursery(runtime);
    nursery.spawn([&] {
      began = true;
      while (!this_fiber::cancelled()) this_fiber::yield();
      ran = true;
    });
    while (!began) this_fiber::yield();
    throw std::runtime_error("unwinds");
  } catch (const std::exception&) {
  }
  EXPECT_TRUE(ran);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST_F(SimulatorThreadTest, MayPollATask) {
  Runtime runtime = simulated();
  Nursery nursery(runtime);
  auto task = nursery.spawn([] { EXPECT_TRUE(this_fiber::sleep_for(1h)); });
  while (!task.done()) this_fiber::yield();
  EXPECT_TRUE(nursery.join());
}

TEST_F(SimulatorThreadTest, MayPollTheClock) {
  Runtime runtime = simulated();
  const auto when = Clock::now() + 10s;
  while (Clock::now() < when) this_fiber::yield();
  EXPECT_LT(Clock::now(), when + 20s);
}

TEST_F(SimulatorThreadTest, IsNotLateBesideAFiberThatPolls) {
  Runtime runtime = simulated();
  Nursery nursery(runtime);
  bool stop = false;
  nursery.spawn([&] {
    while (!stop) this_fiber::yield();
  });
  const auto when = Deadline::after(600ms);
  EXPECT_EQ(nursery.join(when).error(), Errc::timed_out);
  EXPECT_EQ(Clock::now(), when.when());
  stop = true;
  EXPECT_TRUE(nursery.join());
}

}  // namespace
}  // namespace weft
