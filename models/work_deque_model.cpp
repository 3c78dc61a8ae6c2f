// work_deque_model.cpp: the deque of a worker against its thieves.
#include "protocol.hpp"
#include "queue/work_deque.hpp"

namespace weft::model {

namespace {

using Items = std::array<Item, 4>;
template <std::size_t Capacity>
using Deque = queue::WorkDeque<Item, Capacity>;

template <std::size_t Capacity>
struct Scene {
  Scene(Program& p, std::size_t filled)
      : deque(p.make<Deque<Capacity>>("deque")),
        items(p.make<Items>("items")),
        loot(p.make<Loot<Item>>("loot")) {
    for (std::size_t i = 0; i < filled; ++i) (void)deque.push(&items[i]);
  }
  // In finally(): each of the first `count` items went to one thread, or is
  // still in the deque.
  void expect_each_once(std::size_t count) const {
    while (Item* left = deque.pop()) loot.add(3, left);
    for (std::size_t i = 0; i < count; ++i) {
      expect(loot.times(&items[i]) < 2, "no item is taken twice");
      expect(loot.times(&items[i]) > 0, "no item is lost");
    }
  }
  void steal(std::size_t thread) const { loot.add(thread, deque.steal().task); }

  Deque<Capacity>& deque;
  Items& items;
  Loot<Item>& loot;
};

void last_item(Program& p) {
  const Scene<2> s(p, 1);
  p.thread("owner", [=] { s.loot.add(0, s.deque.pop()); });
  p.thread("thief1", [=] { s.steal(1); });
  p.thread("thief2", [=] { s.steal(2); });
  p.finally([=] { s.expect_each_once(1); });
}

void two_items(Program& p) {
  const Scene<2> s(p, 2);
  p.thread("owner", [=] {
    s.loot.add(0, s.deque.pop());
    s.loot.add(0, s.deque.pop());
  });
  p.thread("thief1", [=] { s.steal(1); });
  p.thread("thief2", [=] { s.steal(2); });
  p.finally([=] { s.expect_each_once(2); });
}

// After the race for the last item the deque is as good as new.
void refill(Program& p) {
  const Scene<2> s(p, 1);
  p.thread("owner", [=] {
    s.loot.add(0, s.deque.pop());
    if (!s.deque.push(&s.items[1])) s.loot.add(0, &s.items[1]);
  });
  p.thread("thief1", [=] { s.steal(1); });
  p.thread("thief2", [=] { s.steal(2); });
  p.finally([=] { s.expect_each_once(2); });
}

// Everything at once, in a deque of two.
void storm(Program& p) {
  const Scene<2> s(p, 1);
  p.thread("owner", [=] {
    for (std::size_t i = 1; i < 3; ++i) {
      if (!s.deque.push(&s.items[i])) s.loot.add(0, &s.items[i]);
    }
    s.loot.add(0, s.deque.pop());
    s.loot.add(0, s.deque.pop());
    if (!s.deque.push(&s.items[3])) s.loot.add(0, &s.items[3]);
  });
  for (const std::size_t thief : {1u, 2u}) {
    p.thread("thief" + std::to_string(thief), [=] {
      s.steal(thief);
      s.steal(thief);
    });
  }
  p.finally([=] { s.expect_each_once(4); });
}

// The contents come with the item.
void publish(Program& p) {
  const Scene<2> s(p, 0);
  p.thread("owner", [=] {
    s.items[0].content = 7;
    expect(s.deque.push(&s.items[0]), "there is room");
  });
  p.thread("thief", [=] {
    if (Item* item = s.deque.steal().task) {
      expect(item->content == 7, "the contents came");
    }
  });
}

void publish_batch(Program& p) {
  const Scene<2> s(p, 0);
  p.thread("owner", [=] {
    s.items[0].content = 7;
    s.items[1].content = 8;
    Item* both[] = {&s.items[0], &s.items[1]};
    expect(s.deque.push_batch(both, 2), "there is room");
  });
  p.thread("thief", [=] {
    for (int i = 7; i < 9; ++i) {
      Item* const item = s.deque.steal().task;
      if (item == nullptr) return;
      expect(item->content == i, "the contents came");
    }
  });
}

// A full deque of two: the third item takes the slot of the first.
void wrap_around(Program& p) {
  const Scene<2> s(p, 2);
  p.thread("owner", [=] {
    if (!s.deque.push(&s.items[2])) s.loot.add(0, &s.items[2]);
    s.loot.add(0, s.deque.pop());
  });
  p.thread("thief1", [=] { s.steal(1); });
  p.thread("thief2", [=] { s.steal(2); });
  p.finally([=] { s.expect_each_once(3); });
}

// A thief has read its slot before the owner writes there again.
void reuse(Program& p) {
  const Scene<1> s(p, 1);
  p.thread("owner", [=] {
    if (!s.deque.push(&s.items[1])) s.loot.add(0, &s.items[1]);
  });
  p.thread("thief", [=] { s.steal(1); });
  p.finally([=] { s.expect_each_once(2); });
}

void batch(Program& p) {
  const Scene<4> s(p, 3);
  p.thread("owner", [=] {
    std::array<Item*, 2> out{};
    const auto count = s.deque.pop_batch(out.data(), 2);
    for (std::size_t i = 0; i < count; ++i) s.loot.add(0, out[i]);
  });
  p.thread("thief1", [=] {
    s.steal(1);
    s.steal(1);
  });
  p.thread("thief2", [=] { s.steal(2); });
  p.finally([=] { s.expect_each_once(3); });
}

// [sleep]: a pusher that sees no sleeper is seen by the one who falls asleep.
template <typename Push>
void sleep(Program& p, std::size_t filled, Push push) {
  const Scene<4> s(p, filled);
  auto& idle = p.make<Atomic<int>>("idle", 0);
  auto& woke = p.make<bool>("woke", false);
  auto& slept = p.make<bool>("slept", false);
  p.thread("owner", [=, &idle, &woke] {
    push(s);
    woke = idle.load(seq_cst) != 0;
  });
  p.thread("sleeper", [=, &idle, &slept] {
    idle.fetch_add(1, seq_cst);
    slept = s.deque.maybe_empty();
  });
  p.finally([&] { expect(woke || !slept, "nobody sleeps beside an item"); });
}

void sleep_push(Program& p) {
  sleep(p, 0, [](const Scene<4>& s) { (void)s.deque.push(&s.items[0]); });
}
void sleep_batch(Program& p) {
  sleep(p, 0, [](const Scene<4>& s) {
    Item* both[] = {&s.items[0], &s.items[1]};
    (void)s.deque.push_batch(both, 2);
  });
}

// A batch that a thief spoils goes back, and is seen again.
void sleep_undone_batch(Program& p) {
  const Scene<4> s(p, 3);
  auto& idle = p.make<Atomic<int>>("idle", 0);
  auto& woke = p.make<bool>("woke", false);
  auto& slept = p.make<bool>("slept", false);
  p.thread("owner", [=, &idle, &woke] {
    std::array<Item*, 2> out{};
    const auto count = s.deque.pop_batch(out.data(), 2);
    woke = count != 0 || idle.load(seq_cst) != 0;
  });
  p.thread("sleeper", [=, &idle, &slept] {
    s.steal(1);
    idle.fetch_add(1, seq_cst);
    slept = s.deque.maybe_empty();
  });
  p.finally([=, &woke, &slept] {
    expect(woke || !slept, "nobody sleeps beside an item");
    s.expect_each_once(s.loot.times(&s.items[0]) > 0 ? 1 : 0);
  });
}

constexpr const char* kFile = "queue/work_deque.hpp";

}  // namespace

Protocol work_deque() {
  return {
      .name = "work deque",
      .files = {kFile},
      .scenarios = {{"last item", last_item},
                    {"two items", two_items},
                    {"refill", refill},
                    {"publish", publish},
                    {"publish batch", publish_batch},
                    {"wrap around", wrap_around},
                    {"reuse", reuse},
                    {"batch", batch},
                    {"sleep, push", sleep_push},
                    {"sleep, batch", sleep_batch},
                    {"sleep, undone", sleep_undone_batch},
                    {"storm", storm}},
      .mutations = {
          {"push: slot after bottom", kFile, "::push(", "slot(b).store",
           relaxed, Effect::late},
          {"pop: bottom after top", kFile, "::pop(",
           "bottom_.store(b, seq_cst)", relaxed, Effect::late},
          {"push: bottom relaxed", kFile, "::push(", "bottom_.store(b + 1"},
          {"push: bottom release", kFile, "::push(", "bottom_.store(b + 1",
           release},
          {"push_batch: bottom relaxed", kFile, "::push_batch(",
           "bottom_.store(b + n"},
          {"push_batch: bottom release", kFile, "::push_batch(",
           "bottom_.store(b + n", release},
          {"pop: bottom release", kFile, "::pop(", "bottom_.store(b, seq_cst)",
           release},
          {"pop: top acquire", kFile, "::pop(", "= top_.load(seq_cst)",
           acquire},
          {"pop: no store back", kFile, "::pop(", "bottom_.store(b + 1",
           relaxed, Effect::skip},
          {"pop_batch: bottom release", kFile, "::pop_batch(",
           "bottom_.store(b, seq_cst)", release},
          {"pop_batch: top acquire", kFile, "::pop_batch(",
           "if (top_.load(seq_cst)", acquire},
          {"steal: top acquire", kFile, "::steal(", "top_.load(seq_cst)",
           acquire},
          {"steal: bottom acquire", kFile, "::steal(", "bottom_.load(seq_cst)",
           acquire},
          {"steal: bottom relaxed", kFile, "::steal(", "bottom_.load(seq_cst)"},
          {"steal: exchange relaxed", kFile, "::steal(",
           "compare_exchange_strong"},
          {"maybe_empty: bottom acquire", kFile, "::maybe_empty(",
           "bottom_.load(seq_cst)", acquire}}};
}

}  // namespace weft::model
