#include "runtime/registry.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/check.hpp"
#include "base/spin_lock.hpp"
#include "fiber/fiber.hpp"
#include "stack/overflow.hpp"

namespace weft::runtime {

namespace {

struct Registry {
  base::SpinLock lock;
  std::vector<sched::Scheduler*> schedulers;  // guarded by lock

  static Registry& get() {
    static Registry* const all = new Registry();  // outlives every runtime
    return *all;
  }
};

// Signal-safe: a fixed buffer and write(2).
void describe_fiber(void* owner, int fd) noexcept {
  const auto* fiber = static_cast<const fiber::Fiber*>(owner);
  char text[160];
  const int length =
      std::snprintf(text, sizeof text, "fiber #%llu \"%s\" of body %p",
                    static_cast<unsigned long long>(fiber->id.load(relaxed)),
                    fiber->name(), reinterpret_cast<void*>(fiber->body->run));
  if (length > 0) {
    const auto size =
        std::min(static_cast<std::size_t>(length), sizeof text - 1);
    if (::write(fd, text, size) < 0) return;  // nothing left to try
  }
}

}  // namespace

void register_scheduler(sched::Scheduler& scheduler) {
  stack::install_overflow_handler(&describe_fiber);
  base::set_crash_dump(&dump_all);
  auto& registry = Registry::get();
  std::lock_guard hold(registry.lock);
  registry.schedulers.push_back(&scheduler);
}

void unregister_scheduler(sched::Scheduler& scheduler) noexcept {
  auto& registry = Registry::get();
  std::lock_guard hold(registry.lock);
  std::erase(registry.schedulers, &scheduler);
}

void dump_all() noexcept {
  auto& registry = Registry::get();
  if (!registry.lock.try_lock()) return;  // the one who died may hold it
  for (const auto* scheduler : registry.schedulers) scheduler->dump(stderr);
  registry.lock.unlock();
}

}  // namespace weft::runtime
