// private_queue_model.cpp: a worker's own queue and those who raid it.
#include "protocol.hpp"
#include "queue/private_queue.hpp"

namespace weft::model {

namespace {

using Items = std::array<Item, 4>;
using Queue = queue::PrivateQueue<Item, 2>;

struct Scene {
  explicit Scene(Program& p, std::size_t filled)
      : queue(p.make<Queue>("queue")),
        items(p.make<Items>("items")),
        loot(p.make<Loot<Item>>("loot")) {
    for (std::size_t i = 0; i < filled; ++i) (void)queue.push_back(&items[i]);
  }
  void push(std::size_t i) const {
    items[i].content = 7;
    if (!queue.push_back(&items[i])) loot.add(0, &items[i]);
  }
  void raid(std::size_t thread, std::size_t most) const {
    progress();
    std::array<Item*, 2> out{};
    const auto count = queue.raid(out.data(), most);
    for (std::size_t i = 0; i < count; ++i) {
      expect(out[i] != nullptr, "a raid takes items");
      expect(out[i]->content < 8, "the contents came");
      loot.add(thread, out[i]);
    }
  }
  // In finally().
  void expect_each_once(std::size_t count) const {
    while (Item* left = queue.pop_front()) loot.add(3, left);
    for (std::size_t i = 0; i < count; ++i) {
      expect(loot.times(&items[i]) < 2, "no item is taken twice");
      expect(loot.times(&items[i]) > 0, "no item is lost");
    }
  }

  Queue& queue;
  Items& items;
  Loot<Item>& loot;
};

void pop_and_raid(Program& p) {
  const Scene s(p, 2);
  p.thread("owner", [=] {
    s.loot.add(0, s.queue.pop_back());
    s.loot.add(0, s.queue.pop_front());
  });
  p.thread("raider", [=] { s.raid(1, 2); });
  p.finally([=] { s.expect_each_once(2); });
}

void push_and_raid(Program& p) {
  const Scene s(p, 0);
  p.thread("owner", [=] {
    s.push(0);
    s.push(1);
    s.push(2);
  });
  p.thread("raider", [=] { s.raid(1, 2); });
  p.finally([=] { s.expect_each_once(3); });
}

void two_raiders(Program& p) {
  const Scene s(p, 2);
  p.thread("owner", [=] { s.loot.add(0, s.queue.pop_back()); });
  p.thread("raider1", [=] { s.raid(1, 1); });
  p.thread("raider2", [=] { s.raid(2, 1); });
  p.finally([=] { s.expect_each_once(2); });
}

// Everything at once.
void storm(Program& p) {
  const Scene s(p, 1);
  p.thread("owner", [=] {
    s.push(1);
    s.loot.add(0, s.queue.pop_front());
    s.push(2);
  });
  p.thread("raider1", [=] { s.raid(1, 2); });
  p.thread("raider2", [=] { s.raid(2, 1); });
  p.finally([=] { s.expect_each_once(3); });
}

// The owner stays inside from the first to the second half of its turn.
void turn(Program& p) {
  const Scene s(p, 2);
  p.thread("owner", [=] {
    Item* const item = s.queue.begin_turn();
    if (item == nullptr) return;
    s.queue.end_turn(item);
  });
  p.thread("raider", [=] { s.raid(1, 2); });
  p.finally([=] { s.expect_each_once(2); });
}

// [hungry]: an owner that sees nobody idle is seen by who falls asleep.
void hungry(Program& p) {
  const Scene s(p, 0);
  auto& idle = p.make<Atomic<int>>("idle", 0);
  auto& woke = p.make<bool>("woke", false);
  auto& slept = p.make<bool>("slept", false);
  p.thread("owner", [=, &idle, &woke] {
    s.push(0);
    woke = idle.load(seq_cst) != 0;
  });
  p.thread("sleeper", [=, &idle, &slept] {
    idle.fetch_add(1, seq_cst);
    base::heavy_barrier();
    slept = s.queue.size_hint() == 0;
  });
  p.finally([&] { expect(woke || !slept, "nobody sleeps beside an item"); });
}

constexpr const char* kFile = "queue/private_queue.hpp";
constexpr const char* kLight = "base/asymmetric.hpp";

}  // namespace

Protocol private_queue() {
  // As it runs where the kernel has membarrier: light stores are light.
  const Options heavy{.heavy_barriers = 1};
  return {.name = "private queue",
          .files = {kFile, kLight},
          .scenarios = {{"pop and raid", pop_and_raid},
                        {"pop and raid, membarrier", pop_and_raid, heavy},
                        {"push and raid, membarrier", push_and_raid, heavy},
                        {"two raiders, membarrier", two_raiders,
                         Options{.heavy_barriers = 2}},
                        {"turn, membarrier", turn, heavy},
                        {"hungry, membarrier", hungry, heavy},
                        {"push and raid", push_and_raid},
                        {"two raiders", two_raiders},
                        {"turn", turn},
                        {"hungry", hungry},
                        {"storm", storm},
                        {"storm, membarrier", storm,
                         Options{.heavy_barriers = 2}, Verdict::holds, true}},
          .mutations = {
              {"light_store release", kLight, "light_store",
               "word.store(value, seq_cst)", release},
              {"enter: busy after raided", kLight, "light_store",
               "word.store(value, seq_cst)", relaxed, Effect::late},
              {"enter: busy after raided, light", kLight, "light_store",
               "word.store(value, release)", relaxed, Effect::late},
              {"step_back: does not look again", kFile, "::step_back(",
               "while (raided_.load(seq_cst))", relaxed, Effect::stale},
              {"raid: no barrier", kFile, "::raid(", "heavy_barrier()"},
              {"enter: raided acquire", kFile, "::enter(",
               "raided_.load(seq_cst)", acquire},
              {"step_back: raided acquire", kFile, "::step_back(",
               "raided_.load(seq_cst)", acquire},
              {"leave relaxed", kFile, "::leave(", "busy_.store(false"},
              {"raid: exchange acq_rel", kFile, "::raid(", "raided_.exchange",
               acq_rel},
              {"raid: end relaxed", kFile, "::raid(", "raided_.store(false"},
              {"raid: end skipped", kFile, "::raid(", "raided_.store(false",
               relaxed, Effect::skip},
              {"owner_is_out: busy acquire", kFile, "::owner_is_out(",
               "busy_.load(seq_cst)", acquire},
              {"size_hint acquire", kFile, "::size_hint(",
               "size_.load(seq_cst)", acquire}}};
}

}  // namespace weft::model
