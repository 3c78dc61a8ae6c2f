// runtime_test.hpp: a fixture with runtimes that must end empty.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
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

// The same with one runtime. If WEFT_TEST_EXPLORE is a seed its workers are
// simulated, by the next one each time (--gtest_repeat): fibers take turns in
// another order, and stop at other places. Each run prints its own.
class OneRuntimeTest : public RuntimeTest {
 protected:
  void start_on(unsigned workers) {
    Config config{.workers = workers};
    if (explored()) {
      static std::uint64_t next = std::strtoull(first_seed(), nullptr, 0);
      config.deterministic_seed = next++;
      std::fprintf(stderr, "WEFT_TEST_EXPLORE=%llu\n",
                   static_cast<unsigned long long>(*config.deterministic_seed));
    }
    runtime_.emplace(start(config));
  }
  void TearDown() override {
    expect_empty(*runtime_);
    runtime_.reset();
  }
  Runtime& runtime() { return *runtime_; }
  static const char* first_seed() { return std::getenv("WEFT_TEST_EXPLORE"); }
  static bool explored() { return first_seed() != nullptr; }
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
  std::optional<Runtime> runtime_;
};

// The same over several numbers of workers.
class WorkersTest : public OneRuntimeTest,
                    public ::testing::WithParamInterface<unsigned> {
 protected:
  void SetUp() override { start_on(GetParam()); }
};

}  // namespace weft::test
