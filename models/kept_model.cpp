// kept_model.cpp: a worker keeps woken fibers to itself though others are
// hungry, and may sit in one fiber afterwards: what then waits in its private
// queue is found, and runs once.
//
// A worker as in sched/dispatch.hpp (notify_woken, pop_newest, notify_local),
// worker.cpp (found, sleep) and search.cpp (take_over); its end is a fiber that
// runs for ever. judge() says whether it keeps what it woke; here it does,
// until it spawns.
#include <array>
#include <utility>

#include "base/asymmetric.hpp"
#include "base/futex.hpp"
#include "protocol.hpp"
#include "queue/private_queue.hpp"
#include "queue/work_deque.hpp"
#include "sched/idle.hpp"

namespace weft::model {

namespace {

using Items = std::array<Item, 3>;

struct Worker {
  sched::Sleeper sleeper;
  bool searching = false;
  queue::PrivateQueue<Item, 4> recent;
  queue::WorkDeque<Item, 4> deque;
};

struct Scene {
  explicit Scene(Program& p)
      : idle(p.make<sched::Idle>("idle")),
        items(p.make<Items>("items")),
        ran(p.make<Loot<Item>>("ran")) {}

  void notify() const {
    if (sched::Sleeper* sleeper = idle.pop_for_push()) sleeper->rouse();
  }
  // Scheduler::notify_of_private().
  void notify_of_private() const {
    if (sched::Sleeper* sleeper = idle.pop_for_light_push()) sleeper->rouse();
  }
  void push(Worker& self, std::size_t i) const {
    items[i].content = 7;
    (void)self.recent.push_back(&items[i]);
  }
  void run(std::size_t thread, Item* item) const {
    if (item == nullptr) return;
    expect(item->content == 7 || item->content == 0, "the contents came");
    ran.add(thread, item);
  }

  // Worker::notify_woken(), while it may keep.
  void notify_woken() const {
    if (idle.hungry()) notify_of_private();
  }
  // Worker::expose(), notify_local().
  void expose(Worker& self) const {
    std::array<Item*, 2> batch{};
    while (self.recent.size_hint() != 0) {
      const auto count = self.recent.pop_oldest(batch.data(), 2);
      (void)self.deque.push_batch(batch.data(), count);
    }
    notify();
  }
  void notify_local(Worker& self) const {
    if (!idle.hungry()) return;
    expose(self);
    notify();
  }

  // Worker::found(), with what of another is seen.
  void found(Worker& self, Worker& other) const {
    if (!std::exchange(self.searching, false)) return;
    if (idle.stop_search() &&
        (!self.deque.maybe_empty() || !other.deque.maybe_empty() ||
         other.recent.size_hint() != 0)) {
      notify();
    }
  }
  // Worker::take_over(): one to run, the rest is for anybody.
  Item* take_over(Worker& self, Worker& stuck) const {
    if (Item* const stolen = stuck.deque.steal().task) {
      (void)self.recent.push_back(stolen);
    }
    std::array<Item*, 2> raided{};
    for (auto i = stuck.recent.raid(raided.data(), 2); i-- > 0;) {
      (void)self.recent.push_back(raided[i]);
    }
    notify_local(self);
    Item* const newest = self.recent.pop_back();
    return newest != nullptr ? newest : self.deque.pop();
  }
  // Worker::next() of one who has nothing of its own.
  Item* next(Worker& self, Worker& other) const {
    for (;;) {
      progress();
      if (Item* const item = take_over(self, other)) {
        found(self, other);
        return item;
      }
      idle.announce(self.sleeper, std::exchange(self.searching, false));
      base::heavy_barrier();
      if (other.deque.maybe_empty() && other.recent.size_hint() == 0) {
        self.sleeper.sleep_until(base::kForever);
      }  // else for a while
      idle.withdraw(self.sleeper);
      self.searching = true;
    }
  }

  // In finally().
  void expect_each_once(Worker& worker, std::size_t count) const {
    while (Item* left = worker.recent.pop_front()) ran.add(3, left);
    while (Item* left = worker.deque.pop()) ran.add(3, left);
    for (std::size_t i = 0; i < count; ++i) {
      expect(ran.times(&items[i]) < 2, "none is run twice");
      expect(ran.times(&items[i]) > 0, "none is lost");
    }
  }

  sched::Idle& idle;
  Items& items;
  Loot<Item>& ran;
};

// The owner wakes one, keeps it and is stuck; the other falls asleep.
void stuck_owner(Program& p) {
  const Scene s(p);
  auto& owner = p.make<Worker>("owner");
  auto& other = p.make<Worker>("other");
  p.thread("owner", [=, &owner] {
    s.push(owner, 0);
    s.notify_woken();
  });
  p.thread("other", [=, &owner, &other] { s.run(1, s.next(other, owner)); });
  p.finally([=, &owner] {
    expect(s.ran.times(&s.items[0]) == 1, "it ran where nobody was stuck");
    s.expect_each_once(owner, 1);
  });
}

// The same with membarrier, where the owner's store is a light one: who sleeps
// is roused, who is not has seen that somebody waits, and comes back.
void fall_asleep(Program& p) {
  const Scene s(p);
  auto& owner = p.make<Worker>("owner");
  auto& other = p.make<Worker>("other");
  p.thread("owner", [=, &owner] {
    s.push(owner, 0);
    s.notify_woken();
  });
  p.thread("other", [=, &owner, &other] {
    s.idle.announce(other.sleeper, false);
    base::heavy_barrier();
    if (owner.recent.size_hint() == 0) {
      other.sleeper.sleep_until(base::kForever);
    }
    s.idle.withdraw(other.sleeper);
  });
}

// The owner relies on a searcher, who has found something else already and is
// stuck with it, too. The third one, asleep, must hear of it.
void last_searcher(Program& p, bool by_a_load) {
  const Scene s(p);
  auto& owner = p.make<Worker>("owner");
  auto& searcher = p.make<Worker>("searcher");
  auto& sleeper = p.make<Worker>("sleeper");
  searcher.searching = s.idle.start_search(3);
  s.idle.announce(sleeper.sleeper, false);
  p.thread("owner", [=, &owner] {
    s.push(owner, 0);
    if (!by_a_load) return s.notify_woken();
    if (s.idle.hungry()) s.notify();
  });
  p.thread("searcher", [=, &searcher, &owner] { s.found(searcher, owner); });
  p.thread("sleeper", [=, &sleeper] {
    sleeper.sleeper.sleep_until(base::kForever);
    s.idle.withdraw(sleeper.sleeper);
  });
}
void searcher_hears(Program& p) { last_searcher(p, false); }
void searcher_may_not_hear(Program& p) { last_searcher(p, true); }

// The owner keeps what it woke, runs it, then spawns and shares all, while
// another takes it for stuck.
void keep_then_share(Program& p) {
  const Scene s(p);
  auto& owner = p.make<Worker>("owner");
  auto& other = p.make<Worker>("other");
  s.push(owner, 0);
  s.push(owner, 1);
  other.searching = s.idle.start_search(2);
  p.thread("owner", [=, &owner] {
    s.run(0, owner.recent.pop_back());
    s.push(owner, 2);  // push_fresh()
    s.notify_local(owner);
    s.run(0, owner.deque.pop());
  });
  p.thread("other",
           [=, &owner, &other] { s.run(1, s.take_over(other, owner)); });
  p.finally([=, &owner, &other] {
    while (Item* left = other.recent.pop_front()) s.ran.add(3, left);
    while (Item* left = other.deque.pop()) s.ran.add(3, left);
    s.expect_each_once(owner, 3);
  });
}

// Who raids takes more than it runs: the rest is passed on.
void raid_and_pass_on(Program& p) {
  const Scene s(p);
  auto& owner = p.make<Worker>("owner");
  auto& raider = p.make<Worker>("raider");
  auto& sleeper = p.make<Worker>("sleeper");
  s.push(owner, 0);
  s.push(owner, 1);
  raider.searching = s.idle.start_search(3);
  s.idle.announce(sleeper.sleeper, false);
  p.thread("raider", [=, &owner, &raider] {
    s.run(0, s.take_over(raider, owner));
    s.found(raider, owner);
  });
  p.thread("sleeper", [=, &raider, &sleeper] {
    sleeper.sleeper.sleep_until(base::kForever);
    s.idle.withdraw(sleeper.sleeper);
    s.run(1, raider.deque.steal().task);
  });
  p.finally([=, &raider] {
    s.expect_each_once(raider, 2);
    expect(s.ran.times(&s.items[0]) + s.ran.times(&s.items[1]) == 2,
           "each at one of the two");
  });
}

constexpr const char* kHead = "sched/idle.hpp";
constexpr const char* kIdle = "sched/idle.cpp";
constexpr const char* kQueue = "queue/private_queue.hpp";
constexpr const char* kDeque = "queue/work_deque.hpp";
constexpr const char* kHere = "models/kept_model.cpp";

}  // namespace

Protocol kept() {
  const Options heavy{.stale_reads = 2, .heavy_barriers = 1};
  return {
      .name = "kept",
      .files = {kHead},
      .scenarios = {{"stuck owner", stuck_owner, Options{.stale_reads = 2}},
                    {"fall asleep, membarrier", fall_asleep,
                     Options{.heavy_barriers = 1}},
                    {"last searcher", searcher_hears},
                    {"last searcher, membarrier", searcher_hears,
                     Options{.heavy_barriers = 1}},
                    {"last searcher, only a load", searcher_may_not_hear,
                     Options{.heavy_barriers = 1}, Verdict::deadlock},
                    {"keep, then share", keep_then_share},
                    {"keep, then share, membarrier", keep_then_share, heavy},
                    {"raid and pass on", raid_and_pass_on}},
      .mutations = {
          {"light push: relaxed", kHead, "::pop_for_light_push(",
           "word_.fetch_add"},
          {"light push: looks only", kHead, "::pop_for_light_push(",
           "word_.fetch_add", relaxed, Effect::skip},
          {"stop_search release", kHead, "::stop_search(", "word_.fetch_sub",
           release},
          {"stop_search not written", kHead, "::stop_search(",
           "word_.fetch_sub", relaxed, Effect::skip},
          {"announce not written", kIdle, "::announce(", "word_.fetch_add",
           relaxed, Effect::skip},
          {"raid: no barrier", kQueue, "::raid(", "heavy_barrier()"},
          {"sleep: no barrier", kHere, "fall_asleep(", "heavy_barrier()"},
          {"take: size not written", kQueue, "::take(", "size_.store", relaxed,
           Effect::skip},
          {"expose: deque not written", kDeque, "::push_batch(",
           "bottom_.store", relaxed, Effect::skip}}};
}

}  // namespace weft::model
