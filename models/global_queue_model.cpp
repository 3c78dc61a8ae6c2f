// global_queue_model.cpp: the queue of all workers: a ring, behind it a list.
//
// The ring has two slots, so the third item goes to the list. Whoever takes an
// item writes its link, as the next queue would: nobody else may use it then.
#include "protocol.hpp"
#include "queue/global_queue.hpp"

namespace weft::queue {

// The two halves of the queue, for mistakes that look at them by themselves.
struct QueueProbe {
  static auto& ring(GlobalQueue<model::Item>& queue) { return queue.ring_; }
  static bool overflows(GlobalQueue<model::Item>& queue) {
    return queue.overflows();
  }
};

}  // namespace weft::queue

namespace weft::model {

namespace {

using Items = std::array<Item, 5>;
using Queue = queue::GlobalQueue<Item>;
using queue::QueueProbe;

struct Scene {
  explicit Scene(Program& p, std::size_t filled = 0)
      : queue(p.make<Queue>("queue")),
        items(p.make<Items>("items")),
        loot(p.make<Loot<Item>>("loot")) {
    (void)queue.init(2);
    for (std::size_t i = 0; i < filled; ++i) push(i);
  }
  void push(std::size_t i) const {
    items[i].content = static_cast<int>(i);
    queue.push(&items[i]);
  }
  queue::Taken<Item> take(std::size_t thread) const {
    progress();
    const auto taken = queue.take();
    if (taken.item != nullptr) {
      expect(taken.item == &items[number(taken)], "the contents came");
      taken.item->next = nullptr;
      loot.add(thread, taken.item);
    }
    return taken;
  }
  static std::size_t number(const queue::Taken<Item>& taken) {
    return static_cast<std::size_t>(taken.item->content.get());
  }
  // The only consumer, while there is only one producer.
  void take_in_order(std::size_t thread, int times) const {
    for (std::size_t next = 0; times > 0; --times) {
      const auto taken = take(thread);
      if (taken.item == nullptr) continue;
      expect(number(taken) >= next, "in the order of the pushes");
      next = number(taken) + 1;
    }
  }
  // In finally().
  void expect_each_once(std::size_t count) const {
    // One more than there are: a mutation may leave a list without end.
    for (std::size_t i = 0; i <= count; ++i) take(3);
    for (std::size_t i = 0; i < count; ++i) {
      expect(loot.times(&items[i]) < 2, "no item is taken twice");
      expect(loot.times(&items[i]) > 0, "no item is lost");
    }
    expect(queue.maybe_empty() && queue.size_hint() == 0, "it is empty");
  }

  Queue& queue;
  Items& items;
  Loot<Item>& loot;
};

void publish(Program& p) {
  const Scene s(p, 2);
  p.thread("producer", [=] { s.push(2); });
  p.thread("consumer", [=] { s.take_in_order(0, 3); });
  p.finally([=] { s.expect_each_once(3); });
}

// The list empties while others put more behind it.
void overflowing(Program& p) {
  const Scene s(p, 3);
  p.thread("producer1", [=] { s.push(3); });
  p.thread("producer2", [=] { s.push(4); });
  p.thread("consumer", [=] {
    s.take(0);
    s.take(0);
    s.take(0);
  });
  p.finally([=] { s.expect_each_once(5); });
}

// Both find the ring empty, one of them refills it.
void two_takers(Program& p) {
  const Scene s(p, 4);
  for (const std::size_t i : {0u, 1u}) {
    p.thread("consumer" + std::to_string(i), [=] {
      s.take(i);
      s.take(i);
    });
  }
  p.finally([=] { s.expect_each_once(4); });
}

// Everything at once: one refills while the other takes and a third pushes.
void storm(Program& p) {
  const Scene s(p, 4);
  p.thread("producer", [=] { s.push(4); });
  for (const std::size_t i : {0u, 1u}) {
    p.thread("consumer" + std::to_string(i), [=] {
      s.take(i);
      s.take(i);
    });
  }
  p.finally([=] { s.expect_each_once(5); });
}

void in_order(Program& p) {
  const Scene s(p, 3);
  p.thread("producer", [=] {
    s.push(3);
    s.push(4);
  });
  p.thread("consumer", [=] { s.take_in_order(0, 5); });
  p.finally([=] { s.expect_each_once(5); });
}

// A chain: its first items find room in the ring, the others go to the list.
void chain(Program& p) {
  const Scene s(p, 1);
  for (const std::size_t i : {1u, 2u, 3u}) {
    s.items[i].content = static_cast<int>(i);
    s.items[i].next = i < 3 ? &s.items[i + 1] : nullptr;
  }
  p.thread("producer", [=] { s.queue.push_list(&s.items[1], &s.items[3]); });
  p.thread("consumer", [=] { s.take_in_order(0, 4); });
  p.finally([=] { s.expect_each_once(4); });
}

// Three of four are taken: whoever looks, there is one (Q2).
void never_empty(Program& p, const std::function<void(const Scene&)>& look) {
  const Scene s(p, 4);
  p.thread("consumer", [=] {
    for (int i = 0; i < 3; ++i) expect(s.take(0).item != nullptr, "Q2");
  });
  p.thread("other", [=] { look(s); });
  p.finally([=] { s.expect_each_once(4); });
}

void q2_scan(Program& p) {
  never_empty(p, [](const Scene& s) {
    expect(!s.queue.maybe_empty(), "Q2: the scan finds it");
  });
}
void q2_take(Program& p) {
  const Scene s(p, 4);
  p.thread("consumer", [=] {
    for (int i = 0; i < 3; ++i) s.take(0);
  });
  p.thread("other", [=] {
    const auto taken = s.take(1);
    expect(taken.item != nullptr || taken.busy, "Q2: who takes finds it");
  });
  p.finally([=] { s.expect_each_once(4); });
}
// A mistake: what moves from the list to the ring is in neither for it.
void q2_ring_first(Program& p) {
  never_empty(p, [](const Scene& s) {
    const bool ring_is_empty = QueueProbe::ring(s.queue).maybe_empty();
    expect(!ring_is_empty || QueueProbe::overflows(s.queue), "Q2");
  });
}

// B-34: another producer may stop in its slot of the ring. What is behind that
// slot has to wait; what is in the list has not, and nobody sleeps over it.
void reserved_slot(Program& p) {
  const Scene s(p);
  p.thread("stopped", [=] { s.push(0); });
  p.thread("producer", [=] {
    for (const std::size_t i : {1u, 2u, 3u}) s.push(i);
    expect(!s.queue.maybe_empty(), "the scan finds it");
    expect(s.take(0).item != nullptr, "the list does not wait");
    const auto taken = s.take(0);
    expect(taken.item != nullptr || taken.busy, "busy is not empty");
  });
  p.finally([=] { s.expect_each_once(4); });
}

// [sleep]: a producer that sees no sleeper is seen by who falls asleep. A third
// thread empties the ring, so that only the list could tell.
void sleep(Program& p, std::size_t filled,
           const std::function<bool(const Scene&)>& looks_empty) {
  const Scene s(p, filled);
  auto& idle = p.make<Atomic<int>>("idle", 0);
  auto& woke = p.make<bool>("woke", false);
  auto& slept = p.make<bool>("slept", false);
  p.thread("producer", [=, &idle, &woke] {
    s.push(filled);
    woke = idle.load(seq_cst) != 0;
  });
  p.thread("sleeper", [=, &idle, &slept] {
    idle.fetch_add(1, seq_cst);
    slept = looks_empty(s);
  });
  if (filled != 0) {
    p.thread("consumer", [=] {
      for (std::size_t i = 0; i < filled; ++i) s.take(0);
    });
  }
  p.finally([=, &woke, &slept] {
    expect(woke || !slept || s.queue.maybe_empty(),
           "nobody sleeps beside an item");
    s.expect_each_once(filled + 1);
  });
}

bool scan(const Scene& s) { return s.queue.maybe_empty(); }
bool take(const Scene& s) {
  const auto taken = s.take(1);
  return taken.item == nullptr && !taken.busy;
}
void sleep_ring(Program& p) { sleep(p, 0, scan); }
void sleep_list(Program& p) { sleep(p, 2, scan); }
void sleep_take(Program& p) { sleep(p, 2, take); }

// B-11, a mistake: a flag beside the list says that it is not empty. Who takes
// all clears the flag afterwards, and with it that of a later push.
struct FlaggedList {
  Atomic<bool> flag{false};
  base::SpinLock lock;
  Plain<Item*> first = nullptr;

  void push(Item* item) {
    lock.lock();
    item->next = first;
    first = item;
    lock.unlock();
    flag.store(true, seq_cst);
  }
  Item* take_all() {
    if (!flag.load(seq_cst)) return nullptr;
    lock.lock();
    Item* const all = first;
    first = nullptr;
    lock.unlock();
    flag.store(false, seq_cst);
    return all;
  }
};

void b11(Program& p) {
  auto& list = p.make<FlaggedList>("list");
  auto& items = p.make<Items>("items");
  list.push(&items[0]);
  p.thread("producer", [&] { list.push(&items[1]); });
  p.thread("consumer", [&] { (void)list.take_all(); });
  p.finally([&] {
    expect(list.first == nullptr || list.flag.load(relaxed),
           "what is in the list is seen");
  });
}

constexpr const char* kFile = "queue/global_queue.hpp";
constexpr const char* kLock = "base/spin_lock.hpp";

std::vector<Mutation> mutations() {
  return {
      {"overflows acquire", kFile, "::overflows(", "overflow_.load", acquire},
      {"append release", kFile, "::append(", "overflow_.store", release},
      {"append skipped", kFile, "::append(", "overflow_.store", relaxed,
       Effect::skip},
      {"append: count skipped", kFile, "::append(", "listed_.store", relaxed,
       Effect::skip},
      {"refill skipped", kFile, "::refill(", "overflow_.store", relaxed,
       Effect::skip},
      {"refill: count skipped", kFile, "::refill(", "listed_.store", relaxed,
       Effect::skip},
      {"lock relaxed", kLock, "::try_lock(", "held_.exchange"},
      {"lock not written", kLock, "::try_lock(", "held_.exchange", relaxed,
       Effect::skip},
      {"unlock relaxed", kLock, "::unlock(", "held_.store"},
      {"unlock skipped", kLock, "::unlock(", "held_.store", relaxed,
       Effect::skip},
  };
}

}  // namespace

Protocol global_queue() {
  const Options twice{.repeats = 2};  // as for the ring
  return {.name = "global queue",
          .files = {kFile, kLock},
          .scenarios = {{"publish", publish, twice},
                        {"in order", in_order, twice},
                        {"chain", chain, twice},
                        {"Q2, scan", q2_scan, twice},
                        {"Q2, take", q2_take, twice},
                        {"Q2, ring before list", q2_ring_first, twice,
                         Verdict::failed},
                        {"reserved slot (B-34)", reserved_slot, twice},
                        {"sleep, ring", sleep_ring, twice},
                        {"sleep, list", sleep_list, twice},
                        {"sleep, take", sleep_take, twice},
                        {"two takers", two_takers, twice},
                        {"overflowing", overflowing, twice},
                        {"storm", storm, twice},
                        {"flag (B-11)", b11, twice, Verdict::failed}},
          .mutations = mutations()};
}

}  // namespace weft::model
