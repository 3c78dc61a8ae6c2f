// profile_refused.cpp: what a profile forbids does not compile, and says why;
// without any REFUSED_ it compiles.

#include <utility>

#include <weft/weft.hpp>

namespace weft {

using Sandbox = NurseryIn<profile::Sovereign>;

[[maybe_unused]] void permitted(RuntimeRef runtime, CapSpawn& spawn,
                                CapBudget& budget) {
  NurseryIn<profile::Service> service;
  service.spawn([] {});
  Sandbox sandbox(runtime, budget, Budget::service());
  sandbox.spawn(spawn, [] {});
  sandbox.spawn(
      spawn, {.name = "plugin"}, [](CapSpawn) {}, std::move(spawn));
  (void)sandbox.try_spawn(spawn, [] {});
  (void)service.join();
  (void)sandbox.join();
}

[[maybe_unused]] void refused(RuntimeRef runtime, CapSpawn& spawn,
                              CapBudget& budget) {
  Sandbox sandbox(runtime, budget, Budget::service());
#if defined(REFUSED_CORE)
  NurseryIn<profile::Core> core;
#elif defined(REFUSED_SPAWN)
  sandbox.spawn([] {});
#elif defined(REFUSED_OPTIONS)
  sandbox.spawn(SpawnOptions{.name = "plugin"}, [] {});
#elif defined(REFUSED_TRY)
  sandbox.try_spawn([] {});
#elif defined(REFUSED_PLAIN)
  Nursery& plain = sandbox;
  plain.spawn([] {});
#elif defined(REFUSED_BUDGET)
  Sandbox free_of_charge;
#elif defined(REFUSED_COPY)
  CapSpawn twice = spawn;
#elif defined(REFUSED_FORGE)
  CapSpawn forged;
#elif defined(REFUSED_WIDEN)
  spawn.limits().max_tasks = 1000;
#elif defined(REFUSED_ACTOR)
  Nursery plain;
  Supervisor supervisor(plain);
#elif defined(REFUSED_SERVICE)
  NurseryIn<profile::Service> service;
  Supervisor supervisor(service);
#elif defined(REFUSED_HANDLE)
  NurseryIn<profile::Cluster> cluster;
  Supervisor supervisor(cluster);
  (void)supervisor.start<int>({}, [] { return 7; });
#endif
  (void)spawn;
  (void)sandbox.join();
}

}  // namespace weft
