#include "runtime/config.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/thread.hpp"

// Defaults that may be fixed when the library is built.
#if !defined(CC_FIBER_WORKERS)
#define CC_FIBER_WORKERS 0  // the CPUs we may use
#endif
#if !defined(CC_FIBER_STACK_SIZE)
#define CC_FIBER_STACK_SIZE (256 << 10)
#endif
#if !defined(CC_FIBER_QUEUE_INITIAL)
#define CC_FIBER_QUEUE_INITIAL 4096
#endif

namespace weft {

namespace {

using namespace runtime;

constexpr unsigned kBuiltWorkers = CC_FIBER_WORKERS;
constexpr unsigned kVirtualWorkers = 2;  // the same on every machine
constexpr std::size_t kBuiltStack = CC_FIBER_STACK_SIZE;
constexpr std::size_t kBuiltQueue = CC_FIBER_QUEUE_INITIAL;
static_assert(kBuiltWorkers <= kMaxWorkers);
static_assert(kBuiltStack >= kMinStack && kBuiltStack <= kMaxStack);
static_assert(kBuiltQueue >= kMinQueue && kBuiltQueue <= kMaxQueue);

using Text = std::string_view;

// Each parser takes the whole text or none of it.
template <typename Number>
bool parse_number(Text text, Number& out) {
  Number number{};
  const auto end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end) return false;
  out = number;
  return true;
}

// A number and one of the units, the number times the unit's factor.
struct Unit {
  Text name;
  std::uint64_t factor;
};
template <std::size_t N>
bool parse_quantity(Text text, const std::array<Unit, N>& units,
                    std::uint64_t limit, std::uint64_t& out) {
  const auto digits =
      std::min(text.find_first_not_of("0123456789"), text.size());
  std::uint64_t number = 0;
  if (!parse_number(text.substr(0, digits), number)) return false;
  for (const auto& unit : units) {
    if (text.substr(digits) != unit.name) continue;
    if (number > limit / unit.factor) return false;
    out = number * unit.factor;
    return true;
  }
  return false;
}

bool parse_size(Text text, std::size_t& out) {
  static constexpr std::array<Unit, 7> kUnits{{{"", 1},
                                               {"K", 1u << 10},
                                               {"k", 1u << 10},
                                               {"M", 1u << 20},
                                               {"m", 1u << 20},
                                               {"G", 1u << 30},
                                               {"g", 1u << 30}}};
  return parse_quantity(text, kUnits, std::numeric_limits<std::size_t>::max(),
                        out);
}

bool parse_duration(Text text, Clock::duration& out) {
  static constexpr std::array<Unit, 4> kUnits{
      {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};
  std::uint64_t count = 0;
  if (!parse_quantity(text, kUnits, INT64_MAX, count)) return false;
  out = Clock::duration(static_cast<Clock::rep>(count));
  return true;
}

bool parse_bool(Text text, bool& out) {
  const bool on = text == "1" || text == "true" || text == "on";
  if (!on && text != "0" && text != "false" && text != "off") return false;
  out = on;
  return true;
}

template <typename Enum, std::size_t N>
bool parse_name(Text text, const std::array<Text, N>& names, Enum& out) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return false;
  out = static_cast<Enum>(found - names.begin());
  return true;
}

constexpr std::array<Text, 4> kGuards{"automatic", "madvise", "mprotect",
                                      "canary"};
constexpr std::array<Text, 3> kSpawns{"local", "round_robin", "global"};
constexpr std::array<Text, 3> kVictims{"random", "round_robin", "least_loaded"};
constexpr std::array<Text, 4> kProfiles{"core", "service", "cluster",
                                        "sovereign"};

// One row a field: whence it comes, how it is read, what is right.
struct Field {
  Text name;
  std::array<const char*, 3> variables;  // the first that is set wins
  Text accepted;
  bool (*parse)(Text, Config&);
  bool (*valid)(const Config&);
  long long (*number)(const Config&);  // for the message
};

constexpr bool any(const Config&) { return true; }
constexpr long long none(const Config&) { return 0; }

constexpr Text kSwitch = "0 or 1";

constexpr std::array kFields = {
    Field{"name",
          {"WEFT_NAME"},
          "a text",
          [](Text text, Config& c) {
            c.name = text;
            return true;
          },
          any,
          none},
    Field{"workers",
          {"WEFT_WORKERS", "CC_WORKERS", "CC_FIBER_WORKERS"},
          "a number from 0 to 1024 (0: one per CPU)",
          [](Text text, Config& c) { return parse_number(text, c.workers); },
          [](const Config& c) { return c.workers <= kMaxWorkers; },
          [](const Config& c) { return static_cast<long long>(c.workers); }},
    Field{"stack_size",
          {"WEFT_STACK_SIZE", "CC_FIBER_STACK_SIZE"},
          "a size from 8K to 1G (0: automatic)",
          [](Text text, Config& c) {
            std::size_t size = 0;
            if (!parse_size(text, size)) return false;
            c.stack_size = StackSize(size);
            return true;
          },
          [](const Config& c) {
            const auto size = static_cast<std::size_t>(c.stack_size);
            return size == 0 || (size >= kMinStack && size <= kMaxStack);
          },
          [](const Config& c) { return static_cast<long long>(c.stack_size); }},
    Field{
        "stack_cache",
        {"WEFT_STACK_CACHE"},
        "a number",
        [](Text text, Config& c) { return parse_number(text, c.stack_cache); },
        any,
        none},
    Field{"max_fibers",
          {"WEFT_MAX_FIBERS"},
          "a number (0: no cap)",
          [](Text text, Config& c) { return parse_number(text, c.max_fibers); },
          any,
          none},
    Field{
        "guard",
        {"WEFT_GUARD"},
        "automatic, madvise, mprotect or canary",
        [](Text text, Config& c) { return parse_name(text, kGuards, c.guard); },
        [](const Config& c) { return c.guard <= Guard::canary; },
        [](const Config& c) { return static_cast<long long>(c.guard); }},
    Field{
        "spawn",
        {"WEFT_SPAWN"},
        "local, round_robin or global",
        [](Text text, Config& c) { return parse_name(text, kSpawns, c.spawn); },
        [](const Config& c) { return c.spawn <= SpawnPolicy::global; },
        [](const Config& c) { return static_cast<long long>(c.spawn); }},
    Field{"victim",
          {"WEFT_VICTIM"},
          "random, round_robin or least_loaded",
          [](Text text, Config& c) {
            return parse_name(text, kVictims, c.victim);
          },
          [](const Config& c) { return c.victim <= Victim::least_loaded; },
          [](const Config& c) { return static_cast<long long>(c.victim); }},
    Field{"steal",
          {"WEFT_STEAL"},
          kSwitch,
          [](Text text, Config& c) { return parse_bool(text, c.steal); },
          any,
          none},
    Field{
        "global_queue",
        {"WEFT_GLOBAL_QUEUE", "CC_FIBER_QUEUE_INITIAL"},
        "a number from 2 to 1048576 (0: automatic)",
        [](Text text, Config& c) { return parse_size(text, c.global_queue); },
        [](const Config& c) {
          return c.global_queue == 0 ||
                 (c.global_queue >= kMinQueue && c.global_queue <= kMaxQueue);
        },
        [](const Config& c) { return static_cast<long long>(c.global_queue); }},
    Field{"profile",
          {"WEFT_PROFILE"},
          "service, cluster or sovereign (core has no scheduler)",
          [](Text text, Config& c) {
            return parse_name(text, kProfiles, c.profile);
          },
          [](const Config& c) {
            return c.profile != Profile::core &&
                   c.profile <= Profile::sovereign;
          },
          [](const Config& c) { return static_cast<long long>(c.profile); }},
    Field{"yield_interval",
          {"WEFT_YIELD_INTERVAL"},
          "a number (0: the profile's)",
          [](Text text, Config& c) {
            return parse_number(text, c.yield_interval);
          },
          any,
          none},
    Field{"steal_seed",
          {"WEFT_STEAL_SEED"},
          "a number",
          [](Text text, Config& c) { return parse_number(text, c.steal_seed); },
          any,
          none},
    Field{"deterministic_seed",
          {"WEFT_DETERMINISTIC_SEED"},
          "a number",
          [](Text text, Config& c) {
            std::uint64_t seed = 0;
            if (!parse_number(text, seed)) return false;
            c.deterministic_seed = seed;
            return true;
          },
          any,
          none},
    Field{"shutdown_timeout",
          {"WEFT_SHUTDOWN_TIMEOUT"},
          "a duration such as 500ms or 5s",
          [](Text text, Config& c) {
            return parse_duration(text, c.shutdown_timeout);
          },
          [](const Config& c) { return c.shutdown_timeout.count() >= 0; },
          [](const Config& c) -> long long {
            return c.shutdown_timeout.count();
          }},
    Field{
        "stats_at_exit",
        {"WEFT_STATS_AT_EXIT", "WEFT_FIBER_STATS", "CC_FIBER_STATS"},
        kSwitch,
        [](Text text, Config& c) { return parse_bool(text, c.stats_at_exit); },
        any,
        none},
    Field{"verbose",
          {"WEFT_VERBOSE", "CC_VERBOSE"},
          kSwitch,
          [](Text text, Config& c) { return parse_bool(text, c.verbose); },
          any,
          none},
    Field{"spec_assert",
          {"WEFT_SPEC_ASSERT", "CC_V3_SPEC_ASSERT"},
          kSwitch,
          [](Text text, Config& c) { return parse_bool(text, c.spec_assert); },
          any,
          none},
};

}  // namespace

Result<Config> Config::from_env(Config config, std::string* why) {
  for (const auto& field : kFields) {
    for (const char* variable : field.variables) {
      const char* value = variable == nullptr ? "" : std::getenv(variable);
      if (value == nullptr || *value == '\0') continue;
      if (!field.parse(value, config) || !field.valid(config)) {
        if (why != nullptr) {
          *why = std::string(variable) + "=" + value + ": expected ";
          *why += field.accepted;
        }
        return Errc::invalid;
      }
      break;
    }
  }
  return config;
}

Result<Config> Config::from_env(Config defaults) {
  std::string why;
  auto config = from_env(defaults, &why);
  if (!config) std::fprintf(stderr, "weft: %s\n", why.c_str());
  return config;
}

Result<Config> Config::from_env() { return from_env(Config{}); }

Status runtime::validate(const Config& config, std::string* why) {
  for (const auto& field : kFields) {
    if (field.valid(config)) continue;
    if (why != nullptr) {
      *why = std::string(field.name) + " = " +
             std::to_string(field.number(config)) + ": expected ";
      *why += field.accepted;
    }
    return Errc::invalid;
  }
  return ok();
}

Config runtime::resolve(Config config) noexcept {
  if (config.workers == 0 && config.deterministic_seed) {
    config.workers = kVirtualWorkers;
  }
  if (config.workers == 0) config.workers = kBuiltWorkers;
  if (config.workers == 0) {
    config.workers = std::min(base::usable_cpus(), kMaxWorkers);
  }
  auto stack = static_cast<std::size_t>(config.stack_size);
  if (stack == 0) stack = kBuiltStack;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  config.stack_size = StackSize((stack + page - 1) / page * page);
  if (config.global_queue == 0) config.global_queue = kBuiltQueue;
  if (config.yield_interval == 0) {
    config.yield_interval = config.profile == Profile::cluster ? 512 : 1024;
  }
  config.global_queue = std::bit_ceil(config.global_queue);
  return config;
}

}  // namespace weft
