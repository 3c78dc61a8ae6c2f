// ring_model.cpp: the bounded queue of many producers and consumers.
#include "protocol.hpp"
#include "queue/ring.hpp"

namespace weft::model {

namespace {

using Items = std::array<Item, 4>;

struct Scene {
  explicit Scene(Program& p, std::size_t filled = 0)
      : ring(p.make<queue::Ring<Item>>("ring")),
        items(p.make<Items>("items")),
        loot(p.make<Loot<Item>>("loot")) {
    (void)ring.init(2);
    for (std::size_t i = 0; i < filled; ++i) (void)ring.push(&items[i]);
  }
  // Writes the contents, then pushes; an item that found no room is ours.
  void push(std::size_t thread, std::size_t i) const {
    items[i].content = 7;
    if (!ring.push(&items[i])) loot.add(thread, &items[i]);
  }
  Item* take(std::size_t thread) const {
    progress();
    Item* const item = ring.take().item;
    if (item != nullptr) expect(item->content < 8, "the contents came");
    loot.add(thread, item);
    return item;
  }
  // In finally().
  void expect_each_once(std::size_t count) const {
    while (Item* left = ring.take().item) loot.add(3, left);
    for (std::size_t i = 0; i < count; ++i) {
      expect(loot.times(&items[i]) < 2, "no item is taken twice");
      expect(loot.times(&items[i]) > 0, "no item is lost");
    }
  }

  queue::Ring<Item>& ring;
  Items& items;
  Loot<Item>& loot;
};

void publish(Program& p) {
  const Scene s(p);
  p.thread("producer", [=] { s.push(0, 0); });
  p.thread("consumer", [=] { s.take(1); });
  p.finally([=] { s.expect_each_once(1); });
}

void two_producers(Program& p) {
  const Scene s(p);
  p.thread("producer1", [=] { s.push(0, 0); });
  p.thread("producer2", [=] { s.push(1, 1); });
  p.thread("consumer", [=] { s.take(2); });
  p.finally([=] { s.expect_each_once(2); });
}

void two_consumers(Program& p) {
  const Scene s(p, 1);
  p.thread("producer", [=] { s.push(0, 1); });
  p.thread("consumer1", [=] { s.take(1); });
  p.thread("consumer2", [=] { s.take(2); });
  p.finally([=] { s.expect_each_once(2); });
}

// A full ring: the third item goes where the first was.
void wrap_around(Program& p) {
  const Scene s(p, 2);
  p.thread("producer", [=] { s.push(0, 2); });
  p.thread("consumer1", [=] { s.take(1); });
  p.thread("consumer2", [=] { s.take(2); });
  p.finally([=] { s.expect_each_once(3); });
}

// One producer's items come in its order.
void in_order(Program& p) {
  const Scene s(p);
  p.thread("producer", [=] {
    s.push(0, 0);
    s.push(0, 1);
    s.push(0, 2);
  });
  p.thread("consumer", [=] {
    Item* const first = s.take(1);
    Item* const second = s.take(1);
    if (first == nullptr) return;
    expect(first == &s.items[0], "the oldest comes first");
    expect(second == nullptr || second == &s.items[1], "then the next one");
  });
  p.finally([=] { s.expect_each_once(3); });
}

// Two of each, and more items than slots.
void storm(Program& p) {
  const Scene s(p, 1);
  p.thread("producer1", [=] { s.push(0, 1); });
  p.thread("producer2", [=] { s.push(1, 2); });
  p.thread("consumer1", [=] { s.take(2); });
  p.thread("consumer2", [=] {
    s.take(3);
    s.take(3);
  });
  p.finally([=] { s.expect_each_once(3); });
}

// [sleep]: a producer that sees no sleeper is seen by who falls asleep.
template <typename Look>
void sleep(Program& p, Look look) {
  const Scene s(p);
  auto& idle = p.make<Atomic<int>>("idle", 0);
  auto& woke = p.make<bool>("woke", false);
  auto& slept = p.make<bool>("slept", false);
  p.thread("producer", [=, &idle, &woke] {
    (void)s.ring.push(&s.items[0]);
    woke = idle.load(seq_cst) != 0;
  });
  p.thread("sleeper", [=, &idle, &slept] {
    idle.fetch_add(1, seq_cst);
    slept = look(s.ring);
  });
  p.finally([&] { expect(woke || !slept, "nobody sleeps beside an item"); });
}

void sleep_scan(Program& p) {
  sleep(p, [](queue::Ring<Item>& ring) { return ring.maybe_empty(); });
}
void sleep_take(Program& p) {
  sleep(p, [](queue::Ring<Item>& ring) {
    const auto taken = ring.take();
    return taken.item == nullptr && !taken.busy;
  });
}

constexpr const char* kFile = "queue/ring.hpp";

}  // namespace

Protocol ring() {
  // A loop that reads a stale head_ or tail_ goes round until it reads another.
  const Options twice{.repeats = 2};
  return {
      .name = "ring",
      .files = {kFile},
      .scenarios = {{"publish", publish, twice},
                    {"two producers", two_producers, twice},
                    {"two consumers", two_consumers, twice},
                    {"wrap around", wrap_around, twice},
                    {"in order", in_order, twice},
                    {"sleep, scan", sleep_scan, twice},
                    {"sleep, take", sleep_take, twice},
                    {"storm", storm, twice}},
      .mutations = {{"fill relaxed", kFile, "::fill(", "slot.sequence.store"},
                    {"fill skipped", kFile, "::fill(", "slot.sequence.store",
                     relaxed, Effect::skip},
                    {"take: sequence relaxed", kFile, "::take(",
                     "slot.sequence.load(acquire)"},
                    {"free relaxed", kFile, "::take(", "slot.sequence.store"},
                    {"reserve: sequence relaxed", kFile, "::reserve(",
                     "sequence.load(acquire)"},
                    {"reserve: tail relaxed", kFile, "::reserve(",
                     "tail_.compare_exchange_weak"},
                    {"reserve: tail acq_rel", kFile, "::reserve(",
                     "tail_.compare_exchange_weak", acq_rel},
                    {"reserve: tail not written", kFile, "::reserve(",
                     "tail_.compare_exchange_weak", relaxed, Effect::skip},
                    {"take: head not written", kFile, "::take(",
                     "head_.compare_exchange_weak", relaxed, Effect::skip},
                    {"take: tail acquire", kFile, "::take(",
                     "tail_.load(seq_cst)", acquire},
                    {"maybe_empty: tail acquire", kFile, "::maybe_empty(",
                     "tail_.load(seq_cst)", acquire}}};
}

}  // namespace weft::model
