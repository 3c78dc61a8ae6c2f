// config.hpp: what may be chosen when a runtime starts.
//
//   weft::Config config{.workers = 4, .stack_size = weft::StackSize::small};
//
// Zero and `automatic` leave the choice to the library: its defaults are those
// it was built with, not those the client was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

// What stands below a stack: an inaccessible page (made by either call), or a
// pattern that is looked at after each slice.
enum class Guard : std::uint8_t { automatic, madvise, mprotect, canary };

// Where a new fiber goes: to its spawner's worker, to each worker in turn, or
// to the queue all workers share.
enum class SpawnPolicy : std::uint8_t { local, round_robin, global };

// From whom an idle worker steals first.
enum class Victim : std::uint8_t { random, round_robin, least_loaded };

// What programs may use of the library; profile.hpp has the types. core has no
// scheduler, so no runtime starts with it.
enum class Profile : std::uint8_t { core, service, cluster, sovereign };

// Bytes; any size from 8 KiB to 1 GiB, by StackSize(n), rounded up to pages.
enum class StackSize : std::size_t {
  automatic = 0,  // 256 KiB
  small = 8 << 10,
  standard = 256 << 10,
  large = 2 << 20,
};

// An aggregate: Runtime::start({.workers = 4, .steal = false}).
struct Config {
  std::string_view name = "weft";  // in dumps and thread names
  unsigned workers = 0;            // 0: the CPUs we may use (affinity, cgroup)
  StackSize stack_size = StackSize::automatic;
  std::size_t stack_cache = 64;  // idle stacks kept per worker
  std::size_t max_fibers = 0;    // 0: no cap
  Guard guard = Guard::automatic;
  SpawnPolicy spawn = SpawnPolicy::local;
  Victim victim = Victim::random;
  bool steal = true;
  std::size_t global_queue = 0;  // slots before its overflow; 0: 4096
  Profile profile = Profile::service;
  // Ops of checked code after which others have a turn; 0: the profile's, that
  // is 1024, or 512 of cluster.
  std::uint32_t yield_interval = 0;
  std::uint64_t steal_seed = 0;  // the same seed, the same choice of victims
  // Set: no threads. The workers are virtual, the clock as well; whenever the
  // thread that started the runtime waits, fibers run on it. The same seed and
  // program, the same order. Only that thread may use the runtime, and it waits
  // for nothing else meanwhile. Without a number of workers there are two.
  std::optional<std::uint64_t> deterministic_seed = {};
  Clock::duration shutdown_timeout = std::chrono::seconds(5);
  bool stats_at_exit = false;
  bool verbose = false;
  bool spec_assert = false;  // check that only runnable fibers are queued

  // The defaults, overridden by the environment: WEFT_<FIELD>, else the
  // second name.
  //
  //   WEFT_NAME                text
  //   WEFT_WORKERS             number      CC_WORKERS, CC_FIBER_WORKERS
  //   WEFT_STACK_SIZE          64K, 1M     CC_FIBER_STACK_SIZE
  //   WEFT_STACK_CACHE         number
  //   WEFT_MAX_FIBERS          number
  //   WEFT_GUARD               enumerator
  //   WEFT_SPAWN               enumerator
  //   WEFT_VICTIM              enumerator
  //   WEFT_STEAL               0 or 1
  //   WEFT_GLOBAL_QUEUE        number      CC_FIBER_QUEUE_INITIAL
  //   WEFT_PROFILE             enumerator
  //   WEFT_YIELD_INTERVAL      number
  //   WEFT_STEAL_SEED          number
  //   WEFT_DETERMINISTIC_SEED  number
  //   WEFT_SHUTDOWN_TIMEOUT    500ms, 5s
  //   WEFT_STATS_AT_EXIT       0 or 1      WEFT_FIBER_STATS, CC_FIBER_STATS
  //   WEFT_VERBOSE             0 or 1      CC_VERBOSE
  //   WEFT_SPEC_ASSERT         0 or 1      CC_V3_SPEC_ASSERT
  //
  // An empty value counts as none.
  //
  //   Errors:   invalid. The reason names the variable, its value and what is
  //             accepted; it goes to *why, or to stderr without one.
  //   Callers:  any thread, while nobody changes the environment.
  static Result<Config> from_env();
  static Result<Config> from_env(Config defaults);
  static Result<Config> from_env(Config defaults, std::string* why);
};

}  // namespace weft
