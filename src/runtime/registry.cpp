#include "runtime/registry.hpp"

#include <cstdio>
#include <mutex>
#include <vector>

#include "base/check.hpp"
#include "base/line.hpp"
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

// Async-signal-safe.
void describe_fiber(void* owner, int fd) noexcept {
  const auto* fiber = static_cast<const fiber::Fiber*>(owner);
  base::Line()
      .text("fiber #")
      .number(fiber->id.load(relaxed))  // its own: it does not change
      .text(" \"")
      .text(fiber->name())
      .text("\" of body ")
      .number(reinterpret_cast<std::uintptr_t>(fiber->body->run), 16)
      .write(fd);
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
