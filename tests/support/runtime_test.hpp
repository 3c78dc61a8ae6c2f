// runtime_test.hpp: a fixture with runtimes that must end empty.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "support/disturbed.hpp"
#include "support/watchdog.hpp"
#include <weft/weft.hpp>

namespace weft::test {

// Starts runtimes and checks at the end that no fiber is left in them. Frames
// and stacks are checked by the runtime itself when it goes.
class RuntimeTest : public ::testing::Test {
 protected:
  static Runtime start(Config config) {
    auto runtime = Runtime::start(config);
    EXPECT_TRUE(runtime.has_value());
    return *std::move(runtime);
  }
  static Runtime start(unsigned workers) {
    return start(Config{.workers = workers});
  }
  static void expect_empty(const Runtime& runtime) {
    EXPECT_EQ(runtime.ref().stats().fibers_live, 0u);
  }

  // For a test of an order that a wake for nothing may change.
  void undisturbed() { disturbed_.end(); }

 private:
  Watchdog watchdog_;
  Disturbed disturbed_;
};

// The same over several numbers of workers. If WEFT_TEST_EXPLORE is set they
// are simulated, by another seed each time (--gtest_repeat): fibers take turns
// in another order, and stop at other places.
class WorkersTest : public RuntimeTest,
                    public ::testing::WithParamInterface<unsigned> {
 protected:
  void SetUp() override {
    Config config{.workers = GetParam()};
    if (explored()) {
      config.deterministic_seed = next_seed_++;
      RecordProperty("seed", std::to_string(*config.deterministic_seed));
    }
    runtime_.emplace(start(config));
  }
  void TearDown() override {
    expect_empty(*runtime_);
    runtime_.reset();
  }
  Runtime& runtime() { return *runtime_; }
  static bool explored() { return std::getenv("WEFT_TEST_EXPLORE") != nullptr; }
  // Runs the body as a root fiber; rethrows what it throws.
  template <typename F>
  void in_fiber(F&& body) {
    Status end = runtime_->run([&]() -> Status {
      body();
      return {};
    });
    EXPECT_TRUE(end) << end.error();
  }

 private:
  static inline std::uint64_t next_seed_ = 1;
  std::optional<Runtime> runtime_;
};

}  // namespace weft::test
