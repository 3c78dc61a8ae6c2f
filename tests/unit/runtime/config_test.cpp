#include "runtime/config.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/thread.hpp"

extern char** environ;

namespace weft {
namespace {

using namespace std::chrono_literals;

// Starts without any of our variables, and leaves none behind.
class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() { clear(); }
  ~ConfigTest() override { clear(); }

  static void set(const char* name, const char* value) {
    ASSERT_EQ(::setenv(name, value, 1), 0);
  }
  static Config read() {
    std::string why;
    const auto config = Config::from_env({}, &why);
    EXPECT_TRUE(config.has_value()) << why;
    return config.value_or(Config{});
  }
  static std::string refusal() {
    std::string why;
    const auto config = Config::from_env({}, &why);
    EXPECT_FALSE(config.has_value());
    EXPECT_EQ(config.error(), Errc::invalid);
    return why;
  }

 private:
  static void clear() {
    std::vector<std::string> names;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      if (text.starts_with("WEFT_") || text.starts_with("CC_")) {
        names.emplace_back(text.substr(0, text.find('=')));
      }
    }
    for (const auto& name : names) ::unsetenv(name.c_str());
  }
};

TEST_F(ConfigTest, IsTheDefaultsInAnEmptyEnvironment) {
  const Config config = read();
  EXPECT_EQ(config.name, "weft");
  EXPECT_EQ(config.workers, 0u);
  EXPECT_EQ(config.stack_size, StackSize::automatic);
  EXPECT_TRUE(config.steal);
  EXPECT_FALSE(config.deterministic_seed.has_value());
  EXPECT_FALSE(config.verbose);
  EXPECT_EQ(config.shutdown_timeout, 5s);
}

TEST_F(ConfigTest, KeepsTheCallersDefaults) {
  set("WEFT_STEAL", "0");
  const auto config = Config::from_env({.workers = 3});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->workers, 3u);
  EXPECT_FALSE(config->steal);
}

TEST_F(ConfigTest, ReadsEveryField) {
  set("WEFT_NAME", "loom");
  set("WEFT_WORKERS", "7");
  set("WEFT_STACK_SIZE", "64K");
  set("WEFT_STACK_CACHE", "5");
  set("WEFT_MAX_FIBERS", "1000");
  set("WEFT_GUARD", "mprotect");
  set("WEFT_SPAWN", "round_robin");
  set("WEFT_VICTIM", "least_loaded");
  set("WEFT_STEAL", "off");
  set("WEFT_GLOBAL_QUEUE", "128");
  set("WEFT_STEAL_SEED", "18446744073709551615");
  set("WEFT_DETERMINISTIC_SEED", "42");
  set("WEFT_SHUTDOWN_TIMEOUT", "250ms");
  set("WEFT_STATS_AT_EXIT", "1");
  set("WEFT_VERBOSE", "true");
  set("WEFT_SPEC_ASSERT", "on");
  const Config config = read();
  EXPECT_EQ(config.name, "loom");
  EXPECT_EQ(config.workers, 7u);
  EXPECT_EQ(config.stack_size, StackSize{64 << 10});
  EXPECT_EQ(config.stack_cache, 5u);
  EXPECT_EQ(config.max_fibers, 1000u);
  EXPECT_EQ(config.guard, Guard::mprotect);
  EXPECT_EQ(config.spawn, SpawnPolicy::round_robin);
  EXPECT_EQ(config.victim, Victim::least_loaded);
  EXPECT_FALSE(config.steal);
  EXPECT_EQ(config.global_queue, 128u);
  EXPECT_EQ(config.steal_seed, UINT64_MAX);
  EXPECT_EQ(config.deterministic_seed, 42u);
  EXPECT_EQ(config.shutdown_timeout, 250ms);
  EXPECT_TRUE(config.stats_at_exit);
  EXPECT_TRUE(config.verbose);
  EXPECT_TRUE(config.spec_assert);
}

TEST_F(ConfigTest, ReadsTheSecondNames) {
  set("CC_FIBER_STACK_SIZE", "1M");
  set("CC_FIBER_QUEUE_INITIAL", "16");
  set("CC_FIBER_STATS", "1");
  set("CC_VERBOSE", "1");
  set("CC_V3_SPEC_ASSERT", "1");
  const Config config = read();
  EXPECT_EQ(config.stack_size, StackSize{1 << 20});
  EXPECT_EQ(config.global_queue, 16u);
  EXPECT_TRUE(config.stats_at_exit);
  EXPECT_TRUE(config.verbose);
  EXPECT_TRUE(config.spec_assert);
}

TEST_F(ConfigTest, OurOwnNameWinsOverTheSecond) {
  set("CC_FIBER_WORKERS", "2");
  EXPECT_EQ(read().workers, 2u);
  set("CC_WORKERS", "3");
  EXPECT_EQ(read().workers, 3u);
  set("WEFT_WORKERS", "4");
  EXPECT_EQ(read().workers, 4u);
  set("WEFT_FIBER_STATS", "1");
  set("CC_FIBER_STATS", "0");
  EXPECT_TRUE(read().stats_at_exit);
}

TEST_F(ConfigTest, AnEmptyValueCountsAsNone) {
  set("WEFT_WORKERS", "");
  set("CC_WORKERS", "3");
  EXPECT_EQ(read().workers, 3u);
  set("WEFT_DETERMINISTIC_SEED", "");
  EXPECT_FALSE(read().deterministic_seed.has_value());
}

TEST_F(ConfigTest, ASeedOfZeroIsASeed) {
  set("WEFT_DETERMINISTIC_SEED", "0");
  EXPECT_EQ(read().deterministic_seed, 0u);
}

TEST_F(ConfigTest, ReadsSizesInAllUnits) {
  for (const auto& [text, bytes] : {std::pair{"8192", 8192},
                                    {"8k", 8192},
                                    {"2M", 2 << 20},
                                    {"1G", 1 << 30},
                                    {"0", 0}}) {
    set("WEFT_STACK_SIZE", text);
    EXPECT_EQ(read().stack_size, StackSize(bytes)) << text;
  }
}

TEST_F(ConfigTest, ReadsDurationsInAllUnits) {
  for (const auto& [text, duration] : {std::pair{"3ns", Clock::duration(3ns)},
                                       {"3us", 3us},
                                       {"3ms", 3ms},
                                       {"3s", 3s}}) {
    set("WEFT_SHUTDOWN_TIMEOUT", text);
    EXPECT_EQ(read().shutdown_timeout, duration) << text;
  }
}

TEST_F(ConfigTest, NamesTheVariableTheValueAndWhatIsAccepted) {
  set("WEFT_WORKERS", "abc");
  EXPECT_EQ(refusal(),
            "WEFT_WORKERS=abc: expected a number from 0 to 1024 "
            "(0: one per CPU)");
  ::unsetenv("WEFT_WORKERS");
  set("CC_FIBER_STACK_SIZE", "4K");
  EXPECT_EQ(refusal(),
            "CC_FIBER_STACK_SIZE=4K: expected a size from 8K to 1G "
            "(0: automatic)");
  ::unsetenv("CC_FIBER_STACK_SIZE");
  set("WEFT_DETERMINISTIC_SEED", "luck");
  EXPECT_EQ(refusal(), "WEFT_DETERMINISTIC_SEED=luck: expected a number");
}

TEST_F(ConfigTest, PrintsTheReasonIfNobodyAsksForIt) {
  set("WEFT_GUARD", "wall");
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(Config::from_env().has_value());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "weft: WEFT_GUARD=wall: expected automatic, madvise, mprotect or "
            "canary\n");
}

TEST_F(ConfigTest, RefusesNonsense) {
  for (const auto& [name, value] : {std::pair{"WEFT_WORKERS", "-1"},
                                    {"WEFT_WORKERS", "1025"},
                                    {"WEFT_WORKERS", "4 "},
                                    {"WEFT_WORKERS", "99999999999"},
                                    {"WEFT_STACK_SIZE", "K"},
                                    {"WEFT_STACK_SIZE", "64KB"},
                                    {"WEFT_STACK_SIZE", "2G"},
                                    {"WEFT_STACK_SIZE", "99999999999999999G"},
                                    {"WEFT_STACK_CACHE", "many"},
                                    {"WEFT_MAX_FIBERS", "-5"},
                                    {"WEFT_SPAWN", "LOCAL"},
                                    {"WEFT_VICTIM", "nobody"},
                                    {"WEFT_STEAL", "2"},
                                    {"WEFT_GLOBAL_QUEUE", "1"},
                                    {"WEFT_GLOBAL_QUEUE", "2M"},
                                    {"WEFT_STEAL_SEED", "0x1"},
                                    {"WEFT_DETERMINISTIC_SEED", "-1"},
                                    {"WEFT_DETERMINISTIC_SEED", "7 "},
                                    {"WEFT_SHUTDOWN_TIMEOUT", "5"},
                                    {"WEFT_SHUTDOWN_TIMEOUT", "-5s"},
                                    {"WEFT_SHUTDOWN_TIMEOUT", "99999999999s"},
                                    {"WEFT_VERBOSE", "maybe"},
                                    {"CC_V3_SPEC_ASSERT", "yes!"}}) {
    set(name, value);
    EXPECT_TRUE(refusal().starts_with(std::string(name) + "=" + value));
    ::unsetenv(name);
  }
}

TEST(ValidateConfig, AcceptsTheDefaultsAndTheLimits) {
  EXPECT_TRUE(runtime::validate({}));
  EXPECT_TRUE(runtime::validate({.workers = 1024,
                                 .stack_size = StackSize{1 << 30},
                                 .global_queue = 1 << 20}));
  EXPECT_TRUE(
      runtime::validate({.stack_size = StackSize::small, .global_queue = 2}));
}

TEST(ValidateConfig, NamesTheFieldTheValueAndWhatIsAccepted) {
  const auto reason = [](const Config& config) {
    std::string why;
    EXPECT_EQ(runtime::validate(config, &why).error(), Errc::invalid);
    return why;
  };
  EXPECT_EQ(reason({.workers = 2000}),
            "workers = 2000: expected a number from 0 to 1024 "
            "(0: one per CPU)");
  EXPECT_TRUE(
      reason({.stack_size = StackSize{100}}).starts_with("stack_size = 100: "));
  EXPECT_TRUE(reason({.guard = Guard{9}}).starts_with("guard = 9: "));
  EXPECT_TRUE(reason({.global_queue = 1}).starts_with("global_queue = 1: "));
  EXPECT_TRUE(reason({.shutdown_timeout = -1ns})
                  .starts_with("shutdown_timeout = -1: "));
  EXPECT_FALSE(runtime::validate({.workers = 2000}));
}

TEST(ResolveConfig, MakesEveryChoice) {
  const Config config = runtime::resolve({});
  EXPECT_GE(config.workers, 1u);
  EXPECT_GE(config.stack_size, StackSize::small);
  EXPECT_TRUE(std::has_single_bit(config.global_queue));
  EXPECT_TRUE(runtime::validate(config));
}

// R-DET-01: not the CPUs of the machine.
TEST(ResolveConfig, GivesADeterministicRuntimeTheSameWorkersEverywhere) {
  EXPECT_EQ(runtime::resolve({.deterministic_seed = 1}).workers, 2u);
  EXPECT_EQ(runtime::resolve({.workers = 3, .deterministic_seed = 1}).workers,
            3u);
}

// Tests and library are built with the same definitions.
TEST(ResolveConfig, ChoosesAsTheLibraryWasBuilt) {
  const Config config = runtime::resolve({});
#if defined(CC_FIBER_WORKERS) && CC_FIBER_WORKERS > 0
  EXPECT_EQ(config.workers, unsigned{CC_FIBER_WORKERS});
#else
  EXPECT_EQ(config.workers, base::usable_cpus());
#endif
#if defined(CC_FIBER_STACK_SIZE)
  EXPECT_EQ(config.stack_size, StackSize{CC_FIBER_STACK_SIZE});
#else
  EXPECT_EQ(config.stack_size, StackSize::standard);
#endif
#if defined(CC_FIBER_QUEUE_INITIAL)
  EXPECT_EQ(config.global_queue, std::size_t{CC_FIBER_QUEUE_INITIAL});
#else
  EXPECT_EQ(config.global_queue, 4096u);
#endif
}

TEST(ResolveConfig, KeepsTheUsersChoiceAndRoundsItUp) {
  const Config config = runtime::resolve(
      {.workers = 3, .stack_size = StackSize{10'000}, .global_queue = 100});
  EXPECT_EQ(config.workers, 3u);
  EXPECT_EQ(config.stack_size, StackSize{12'288});
  EXPECT_EQ(config.global_queue, 128u);
}

}  // namespace
}  // namespace weft
