#include "sched/carrier.hpp"

#include <cstdio>
#include <utility>

#include "base/check.hpp"
#include "base/futex.hpp"
#include "base/spin_lock.hpp"
#include "fiber/frame_pool.hpp"
#include "sched/scheduler.hpp"
#include "sched/simulator.hpp"

// Edges
//   [rouse]  make_runnable() -> sleep_as_proxy(): what the waker wrote.

__thread weft::sched::Carrier* weft_tls_carrier = nullptr;

namespace weft::sched {

namespace {

// Proxies of all plain threads: process-wide, type-stable, never given back.
struct Proxies {
  fiber::FramePool pool{nullptr};
  Atomic<std::uint64_t> next_id{1};

  static Proxies& get() {
    static Proxies* const all = new Proxies();  // outlives every thread
    return *all;
  }
};

thread_local bool ended = false;  // this thread's PlainThread is gone

// Belongs to a plain thread; ends with it.
struct PlainThread {
  Carrier carrier;

  PlainThread() noexcept {
    auto& proxies = Proxies::get();
    std::size_t got = 0;
    Fiber* proxy = proxies.pool.take(1, got);
    WEFT_CHECK(proxy != nullptr, "no memory for a thread's proxy fiber");
    proxy->proxy = true;
    proxy->storage.wake.store(0, relaxed);  // nobody knows it yet
    // The top bit keeps proxies apart from the fibers of every runtime.
    proxy->id.store(proxies.next_id.fetch_add(1, relaxed) | fiber::kProxyId,
                    relaxed);
    proxy->word.reserve();
    proxy->word.publish();
    (void)proxy->word.start(0);
    carrier.current = proxy;
    weft_tls_carrier = &carrier;
  }
  ~PlainThread() {
    check_unlocked(carrier);
    Fiber* proxy = carrier.current;
    if (proxy->has_extras) {
      proxy->drop_locals();
      proxy->drop_extras();
    }
    ended = true;
    weft_tls_carrier = nullptr;
    proxy->word.done(false);
    proxy->word.reclaim();
    proxy->next = nullptr;
    Proxies::get().pool.give(proxy);
  }
};

}  // namespace

Carrier& adopt_plain_thread() noexcept {
  WEFT_CHECK(!ended,
             "weft is used by the destructor of a thread_local or static that "
             "outlives what weft keeps for its thread");
  thread_local PlainThread thread;
  return thread.carrier;
}

void make_runnable(Fiber& owned) noexcept {
  if (owned.proxy) {
    owned.storage.wake.store(1, release);  // [rouse]
    base::futex_wake(owned.storage.wake);
    return;
  }
  Carrier* here = carrier_or_null();
  if (here != nullptr && here->lock_depth != 0) {
    owned.next = here->deferred;
    here->deferred = &owned;
    return;
  }
  Scheduler::of(owned).enqueue(owned);
}

void flush_deferred(Carrier& here) noexcept {
  WEFT_CHECK(here.lock_depth == 0,
             "WAKE-FLUSH-UNDER-LOCK: %u locks held, the innermost %p",
             here.lock_depth, here.held[0].lock);
  Scheduler::enqueue_list(std::exchange(here.deferred, nullptr));
}

void die_under_lock(const Carrier& here) noexcept {
  if (here.no_stack) {
    base::die(
        __FILE__, __LINE__,
        "the closure of a fiber for which there was no stack may not wait "
        "when it is destroyed");
  }
  for (std::uint32_t i = 0; i < here.lock_depth && i < Carrier::kHeldLocks;
       ++i) {
    std::fprintf(stderr, "weft: holds spin lock %p, locked at %p\n",
                 here.held[i].lock, here.held[i].site);
  }
  base::die(__FILE__, __LINE__,
            "PARK-UNDER-LOCK: a fiber may not wait while it holds %u spin "
            "lock(s)",
            here.lock_depth);
}

bool sleep_as_proxy(Fiber& proxy, std::int64_t until) noexcept {
  auto& wake = proxy.storage.wake;
  if (Simulator* const simulator = Simulator::here()) {
    const auto woken = [&wake] { return wake.load(acquire) != 0; };  // [rouse]
    if (!simulator->run_until(until, woken)) return false;
    wake.store(0, relaxed);  // ours again until the next wait
    return true;
  }
  while (wake.load(acquire) == 0) {  // [rouse]
    if (until != base::kForever &&
        Clock::now().time_since_epoch().count() >= until) {
      return false;
    }
    base::futex_wait(wake, 0, until);
  }
  wake.store(0, relaxed);  // ours again until the next wait
  return true;
}

}  // namespace weft::sched
