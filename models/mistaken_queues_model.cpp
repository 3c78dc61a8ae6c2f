// mistaken_queues_model.cpp: how others lost what was in a queue.
//
// As mistakes_model.cpp: each mistake has its row, and beside it stands the
// same program done right.
#include <mutex>

#include "base/futex.hpp"
#include "base/spin_lock.hpp"
#include "protocol.hpp"
#include "queue/ring.hpp"

namespace weft::model {

namespace {

// B-07: the producer fills the queue and looks who sleeps; the worker says that
// it sleeps and looks into the queue. With release and acquire both may look
// too early: the work is there, and everybody sleeps.
template <std::memory_order kStore, std::memory_order kLoad>
struct SleepBesideWork {
  Atomic<int> queue{0};
  Atomic<int> idle{0};
  Atomic<std::uint32_t> wake{0};

  void push() {
    queue.store(1, kStore);
    if (idle.load(kLoad) == 0) return;
    wake.store(1, release);
    base::futex_wake(wake);
  }
  void work() {
    idle.store(1, kStore);
    if (queue.load(kLoad) != 0) return;
    while (wake.load(acquire) == 0) base::futex_wait(wake, 0);
  }
};

template <std::memory_order kStore, std::memory_order kLoad>
void sleep_beside_work(Program& p) {
  auto& place = p.make<SleepBesideWork<kStore, kLoad>>("place");
  p.thread("producer", [&] { place.push(); });
  p.thread("worker", [&] { place.work(); });
}

// B-11: who drained the list clears the hint after it has let go of the lock.
// In between somebody pushed and set it: the hint says empty for good. Under
// the lock the hint cannot lag behind the list.
template <bool kUnderLock>
struct HintedList {
  base::SpinLock lock;
  Plain<int> size = 1;
  Atomic<bool> nonempty{true};

  void push() {
    lock.lock();
    size = size + 1;
    if (kUnderLock) nonempty.store(true, seq_cst);
    lock.unlock();
    if (!kUnderLock) nonempty.store(true, seq_cst);
  }
  void drain() {
    lock.lock();
    size = 0;
    if (kUnderLock) nonempty.store(false, seq_cst);
    lock.unlock();
    if (!kUnderLock) nonempty.store(false, seq_cst);
  }
};

template <bool kUnderLock>
void clear_the_hint(Program& p) {
  auto& list = p.make<HintedList<kUnderLock>>("list");
  p.thread("producer", [&] { list.push(); });
  p.thread("worker", [&] { list.drain(); });
  p.finally([&] {
    expect(list.size == 0 || list.nonempty.load(relaxed),
           "a list with something in it looks so");
  });
}

// B-34: a slot is reserved by one step and filled by another. Between them the
// taker sees nothing there and calls the queue empty, though the next slot has
// been filled and its producer has gone.
struct ReservedIsEmpty {
  std::array<Atomic<Item*>, 2> slots{};
  Atomic<std::size_t> tail{0};

  void push(Item* item) {
    slots[tail.fetch_add(1, seq_cst)].store(item, seq_cst);
  }
  bool empty() const { return slots[0].load(seq_cst) == nullptr; }
};

void reserved_is_empty(Program& p) {
  auto& queue = p.make<ReservedIsEmpty>("queue");
  auto& items = p.make<std::array<Item, 2>>("items");
  p.thread("slow", [&] { queue.push(&items[0]); });
  p.thread("worker", [&] {
    queue.push(&items[1]);
    expect(!queue.empty(), "its own item is in there");
  });
}

// The ring says busy, and the idle scan looks at what is reserved.
void reserved_is_busy(Program& p) {
  auto& ring = p.make<queue::Ring<Item>>("ring");
  auto& items = p.make<std::array<Item, 2>>("items");
  (void)ring.init(2);
  p.thread("slow", [&] { (void)ring.push(&items[0]); });
  p.thread("worker", [&] {
    (void)ring.push(&items[1]);
    expect(!ring.maybe_empty(), "its own item is in there");
    const auto taken = ring.take();
    expect(taken.item != nullptr || taken.busy, "its own item is in there");
  });
}

constexpr const char* kFile = "models/mistaken_queues_model.cpp";
constexpr const char* kRing = "queue/ring.hpp";

}  // namespace

Protocol mistaken_queues() {
  return {.name = "mistaken queues",
          .files = {kFile},
          .scenarios =
              {{"B-07 sleep, acq_rel",
                sleep_beside_work<release, acquire>,
                {},
                Verdict::deadlock},
               {"B-07 sleep, seq_cst", sleep_beside_work<seq_cst, seq_cst>},
               {"B-11 late hint", clear_the_hint<false>, {}, Verdict::failed},
               {"B-11 right: locked", clear_the_hint<true>},
               {"B-34 empty", reserved_is_empty, {}, Verdict::failed},
               {"B-34 right: busy", reserved_is_busy}},
          .mutations = {
              {"push: queue release", kFile, "::push(", "queue.store", release},
              {"push: idle acquire", kFile, "::push(", "idle.load", acquire},
              {"work: idle release", kFile, "::work(", "idle.store", release},
              {"work: queue acquire", kFile, "::work(", "queue.load", acquire},
              {"hint not set", kFile, "::push(",
               "if (kUnderLock) nonempty.store", relaxed, Effect::skip},
              {"reserve not written", kRing, "::reserve(",
               "compare_exchange_weak", relaxed, Effect::skip}}};
}

}  // namespace weft::model
