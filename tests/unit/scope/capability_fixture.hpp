// capability_fixture.hpp: a runtime, and all of its authority.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft::test {

using Sandbox = NurseryIn<profile::Sovereign>;

inline constexpr std::uint32_t kNoLimit32 =
    std::numeric_limits<std::uint32_t>::max();
inline constexpr Budget kPurse{.ops = 1000,
                               .memory = 4096,
                               .spawn_count = 20,
                               .channel_ops = 50,
                               .syscalls = 5};

// Has all that there is.
class AuthorityTest : public WorkersTest {
 protected:
  void SetUp() override {
    WorkersTest::SetUp();
    all_.emplace(runtime().authority().value());
  }
  void TearDown() override {
    all_.reset();
    WorkersTest::TearDown();
  }
  Capabilities& all() { return *all_; }
  Audit audit() { return runtime().ref().stats().audit; }

 private:
  std::optional<Capabilities> all_;
};

}  // namespace weft::test
