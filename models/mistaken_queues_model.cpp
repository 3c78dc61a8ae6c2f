// mistaken_queues_model.cpp: how others lost what was in a queue.
//
// As mistakes_model.cpp: each mistake has its row, and beside it stands the
// same program done right.
#include <mutex>

#include "base/futex.hpp"
#include "base/spin_lock.hpp"
#include "channel_scene.hpp"
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

// B-06: has_waiters is a word beside the ring. The sender fills a slot and
// looks there, the receiver sets it and looks for a value. With release and
// acquire each may miss the other, though the ring itself is seq_cst.
template <std::memory_order kStore, std::memory_order kLoad>
struct FlagBesideRing {
  FlagBesideRing() { (void)ring.init(2); }

  queue::Ring<Item> ring;
  Item item;
  Atomic<int> has_waiters{0};
  Atomic<std::uint32_t> wake{0};

  void send() {
    (void)ring.push(&item);
    if (has_waiters.load(kLoad) == 0) return;
    wake.store(1, release);
    base::futex_wake(wake);
  }
  bool try_receive() {
    progress();
    for (;;) {
      const auto taken = ring.take();
      if (!taken.busy) return taken.item != nullptr;
      pause();
    }
  }
  void receive() {
    has_waiters.store(1, kStore);
    if (try_receive()) return;
    while (wake.load(acquire) == 0) base::futex_wait(wake, 0);
    expect(try_receive(), "it came");
  }
};

template <std::memory_order kStore, std::memory_order kLoad>
void flag_beside_ring(Program& p) {
  auto& channel = p.make<FlagBesideRing<kStore, kLoad>>("channel");
  p.thread("sender", [&] { channel.send(); });
  p.thread("receiver", [&] { channel.receive(); });
}

// The flag is a bit of the word that a send must change.
void flag_in_the_word(Program& p) {
  const ChannelScene s(p, 1);
  p.thread("sender", [=] { (void)s.try_send(0, 0); });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    expect(s.receive(1).has_value(), "it came");
  });
  p.finally([=] { s.expect_settled(); });
}

// B-06: how many are inside is the difference of two counts. The looker
// remembers one of them, and calls empty what never was.
template <std::memory_order kMove, std::memory_order kLook>
struct TwoCounts {
  Atomic<int> sent{1};
  Atomic<int> received{0};

  void move_on() {
    sent.fetch_add(1, kMove);
    received.fetch_add(1, kMove);
  }
  bool seems_empty() const {
    const int out = received.load(kLook);
    return sent.load(relaxed) == out;
  }
};

template <std::memory_order kMove, std::memory_order kLook>
void two_counts(Program& p) {
  auto& counts = p.make<TwoCounts<kMove, kLook>>("counts");
  p.thread("moves on", [&] { counts.move_on(); });
  p.thread("looks",
           [&] { expect(!counts.seems_empty(), "there was always one"); });
}

constexpr const char* kFile = "models/mistaken_queues_model.cpp";
constexpr const char* kRing = "queue/ring.hpp";

}  // namespace

Protocol mistaken_queues() {
  return {
      .name = "mistaken queues",
      .files = {kFile},
      .scenarios =
          {{"B-06 flag, acq_rel",
            flag_beside_ring<release, acquire>,
            {},
            Verdict::deadlock},
           {"B-06 flag, seq_cst", flag_beside_ring<seq_cst, seq_cst>},
           {"B-06 right: one word", flag_in_the_word},
           {"B-06 counts, relaxed",
            two_counts<relaxed, relaxed>,
            {},
            Verdict::failed},
           {"B-06 counts, acq_rel", two_counts<release, acquire>},
           {"B-07 sleep, acq_rel",
            sleep_beside_work<release, acquire>,
            {},
            Verdict::deadlock},
           {"B-07 sleep, seq_cst", sleep_beside_work<seq_cst, seq_cst>},
           {"B-11 late hint", clear_the_hint<false>, {}, Verdict::failed},
           {"B-11 right: locked", clear_the_hint<true>},
           {"B-34 empty", reserved_is_empty, {}, Verdict::failed},
           {"B-34 right: busy", reserved_is_busy}},
      .mutations = {
          {"flag: set release", kFile, "::receive(", "has_waiters.store",
           release},
          {"flag: look acquire", kFile, "::send(", "has_waiters.load", acquire},
          {"counts: moved relaxed", kFile, "::move_on(", "received.fetch_add"},
          {"counts: look relaxed", kFile, "::seems_empty(", "received.load"},
          {"push: queue release", kFile, "::push(", "queue.store", release},
          {"push: idle acquire", kFile, "::push(", "idle.load", acquire},
          {"work: idle release", kFile, "::work(", "idle.store", release},
          {"work: queue acquire", kFile, "::work(", "queue.load", acquire},
          {"hint not set", kFile, "::push(", "if (kUnderLock) nonempty.store",
           relaxed, Effect::skip},
          {"reserve not written", kRing, "::reserve(", "compare_exchange_weak",
           relaxed, Effect::skip}}};
}

}  // namespace weft::model
