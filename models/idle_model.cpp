// idle_model.cpp: nobody sleeps for ever beside work: queues, idle word, futex.
//
// A worker as in sched/worker.cpp: look, search, announce, look at every queue
// again, sleep, withdraw. Its end after so many items stands for a fiber that
// runs for long, so what is left is for others. One worker is checked with the
// real queues; where several meet, a count stands for them, since each queue's
// own model shows that its push and scan are seq_cst.
#include <type_traits>
#include <utility>

#include "base/futex.hpp"
#include "idle_queues.hpp"
#include "protocol.hpp"
#include "sched/idle.hpp"

namespace weft::model {

namespace {

struct Worker {
  sched::Sleeper sleeper;
  bool searching = false;
};

template <typename Queue>
struct Scene {
  explicit Scene(Program& p)
      : idle(p.make<sched::Idle>("idle")),
        queue(p.make<Queue>("queue")),
        item(p.make<Item>("item")),
        stopping(p.make<Atomic<bool>>("stopping", false)) {}

  // Scheduler::notify(), and where only one worker takes what was pushed.
  void notify() const {
    if (sched::Sleeper* sleeper = idle.pop_for_push()) sleeper->rouse();
  }
  void notify(Worker& target) const {
    if (idle.pop_target(target.sleeper)) {
      target.sleeper.rouse();
    } else {
      notify();
    }
  }
  void push() const { queue.push(item); }

  // Worker::sleep(), in three parts.
  void announce(Worker& self) const {
    idle.announce(self.sleeper, std::exchange(self.searching, false));
  }
  bool anything_visible() const {
    return stopping.load(seq_cst) || !queue.looks_empty();
  }
  void sleep(Worker& self, bool scanned) const {
    if (scanned || !anything_visible()) {
      self.sleeper.sleep_until(base::kForever);
    }
    idle.withdraw(self.sleeper);
    self.searching = true;
  }
  // Worker::found().
  void found(Worker& self) const {
    if (!std::exchange(self.searching, false)) return;
    if (idle.stop_search() && !queue.looks_empty()) notify();
  }
  // Worker::next(). False: the runtime stops.
  bool next(Worker& self) const {
    for (;;) {
      if (queue.take()) {
        found(self);
        return true;
      }
      if (stopping.load(seq_cst)) {
        if (std::exchange(self.searching, false)) (void)idle.stop_search();
        return false;
      }
      announce(self);
      sleep(self, false);
    }
  }

  sched::Idle& idle;
  Queue& queue;
  Item& item;
  Atomic<bool>& stopping;
};

template <typename Queue>
void expect_nobody_idle(const Scene<Queue>& s) {
  expect(s.idle.sleeping() == 0 && s.idle.searching() == 0, "S3, S5");
  expect(s.queue.looks_empty(), "nothing is left");
}

template <typename Queue>
void one_sleeper(Program& p) {
  const Scene<Queue> s(p);
  auto& worker = p.make<Worker>("worker");
  p.thread("pusher", [=, &worker] {
    s.push();
    if constexpr (std::is_same_v<Queue, Turns>) {
      if (s.idle.hungry()) s.notify();
    } else if constexpr (std::is_same_v<Queue, Pinned>) {
      if (s.idle.pop_target(worker.sleeper)) worker.sleeper.rouse();
    } else if constexpr (std::is_same_v<Queue, Inbox>) {
      s.notify(worker);
    } else {
      s.notify();
    }
  });
  p.thread("worker", [=, &worker] { (void)s.next(worker); });
  p.finally([=] { expect_nobody_idle(s); });
}

// An inbox, which only its worker looks at. Another one sleeps as well, and it
// is the other that notify() would take first (B-16).
void inbox(Program& p, bool targeted) {
  const Scene<Inbox> s(p);
  auto& owner = p.make<Worker>("owner");
  auto& other = p.make<Worker>("other");
  s.announce(owner);
  s.announce(other);
  p.thread("pusher", [=, &owner] {
    s.push();
    targeted ? s.notify(owner) : s.notify();
  });
  p.thread("owner", [=, &owner] {
    s.sleep(owner, false);
    (void)s.next(owner);
  });
  p.finally([=, &other] {
    s.idle.withdraw(other.sleeper);
    (void)s.idle.stop_search();
    expect_nobody_idle(s);
  });
}
void owner_told(Program& p) { inbox(p, true); }
void any_told(Program& p) { inbox(p, false); }

// The owner is searching when the item comes, and the search is in vain.
void search_in_vain(Program& p) {
  const Scene<Count> s(p);
  auto& worker = p.make<Worker>("worker");
  worker.searching = s.idle.start_search(2);
  p.thread("pusher", [=] {
    s.push();
    s.notify();
  });
  p.thread("worker", [=, &worker] { (void)s.next(worker); });
  p.finally([=] { expect_nobody_idle(s); });
}

// Two items for two workers that are announced when the first item comes. One
// has scanned in vain; the other has, or is about to.
void two_sleepers(Program& p, bool second_scanned,
                  const std::function<void(Scene<Count>)>& push) {
  const Scene<Count> s(p);
  p.thread("pusher", [=] { push(s); });
  for (const bool first : {true, false}) {
    const char* const name = first ? "worker1" : "worker2";
    auto& worker = p.make<Worker>(name);
    s.announce(worker);
    p.thread(name, [=, &worker] {
      s.sleep(worker, first || second_scanned);
      (void)s.next(worker);
    });
  }
  p.finally([=] { expect_nobody_idle(s); });
}
void told_twice(Program& p) {
  two_sleepers(p, true, [](const Scene<Count>& s) {
    s.push();
    s.notify();
    s.push();
    s.notify();
  });
}
// S4: who was roused finds one, sees another and rouses the next.
void told_once(Program& p) {
  two_sleepers(p, false, [](const Scene<Count>& s) {
    s.push();
    s.push();
    s.notify();
  });
}

// S4 again: one sleeps, one searches and is about to find something when the
// pusher comes and relies on it.
void last_searcher(Program& p, bool looks_again) {
  const Scene<Count> s(p);
  auto& searcher = p.make<Worker>("searcher");
  auto& sleeper = p.make<Worker>("sleeper");
  searcher.searching = s.idle.start_search(2);
  s.announce(sleeper);
  s.push();
  p.thread("pusher", [=] {
    s.push();
    s.notify();
  });
  p.thread("searcher", [=, &searcher] {
    if (looks_again) return (void)s.next(searcher);
    (void)s.queue.take();
    (void)s.idle.stop_search();
  });
  p.thread("sleeper", [=, &sleeper] {
    s.sleep(sleeper, true);
    (void)s.next(sleeper);
  });
  p.finally([=] { expect_nobody_idle(s); });
}
void searcher_looks(Program& p) { last_searcher(p, true); }
void searcher_does_not_look(Program& p) { last_searcher(p, false); }

// At most half of the workers search.
void search_limit(Program& p) {
  auto& idle = p.make<sched::Idle>("idle");
  auto& searching = p.make<std::array<bool, 3>>("searching");
  for (const std::size_t i : {0u, 1u, 2u}) {
    p.thread("worker" + std::to_string(i),
             [&, i] { searching[i] = idle.start_search(4); });
  }
  p.finally([&] {
    expect(searching[0] + searching[1] + searching[2] == 2, "half of four");
    expect(idle.searching() == 2, "S3");
  });
}

// The runtime stops while an item wakes the same worker.
void stop(Program& p) {
  const Scene<Count> s(p);
  auto& worker = p.make<Worker>("worker");
  p.thread("pusher", [=] {
    s.push();
    s.notify();
  });
  p.thread("stopper", [=, &worker] {
    s.stopping.store(true, seq_cst);
    worker.sleeper.rouse();
  });
  p.thread("worker", [=, &worker] {
    while (s.next(worker)) progress();
  });
  p.finally([=] {
    expect(s.idle.sleeping() == 0 && s.idle.searching() == 0, "S3, S5");
  });
}

// What the notifier wrote comes with the wake.
void rouse(Program& p) {
  auto& sleeper = p.make<sched::Sleeper>("sleeper");
  auto& said = p.make<Plain<int>>("said", 0);
  p.thread("notifier", [&] {
    said = 7;
    sleeper.rouse();
  });
  p.thread("sleeper", [&] {
    sleeper.sleep_until(base::kForever);
    expect(said == 7, "what the notifier wrote came");
  });
}

constexpr const char* kHead = "sched/idle.hpp";
constexpr const char* kFile = "sched/idle.cpp";
constexpr const char* kDeque = "queue/work_deque.hpp";
constexpr const char* kPinned = "sched/pinned_list.hpp";
constexpr const char* kRing = "queue/ring.hpp";

std::vector<Mutation> mutations() {
  return {
      {"pop_for_push acquire", kHead, "::pop_for_push(", "word_.load", acquire},
      {"hungry acquire", kHead, "::hungry(", "word_.load", acquire},
      {"stop_search not written", kHead, "::stop_search(", "word_.fetch_sub",
       relaxed, Effect::skip},
      {"stop_search acq_rel", kHead, "::stop_search(", "word_.fetch_sub",
       acq_rel},
      {"pop not written", kFile, "::pop(", "word_.compare_exchange", relaxed,
       Effect::skip},
      {"pop_target acquire", kFile, "::pop_target(", "word_.load", acquire},
      {"pop_target not written", kFile, "::pop_target(", "word_.fetch_add",
       relaxed, Effect::skip},
      {"start_search not written", kFile, "::start_search(",
       "word_.compare_exchange", relaxed, Effect::skip},
      {"announce acq_rel", kFile, "::announce(", "word_.fetch_add", acq_rel},
      {"announce not written", kFile, "::announce(", "word_.fetch_add", relaxed,
       Effect::skip},
      {"withdraw not written", kFile, "::withdraw(", "word_.fetch_add", relaxed,
       Effect::skip},
      {"push to deque release", kDeque, "::push(", "bottom_.store(b + 1",
       release},
      {"deque maybe_empty acquire", kDeque, "::maybe_empty(",
       "bottom_.load(seq_cst)", acquire},
      {"push to inbox acq_rel", kRing, "::reserve(",
       "tail_.compare_exchange_weak", acq_rel},
      {"inbox maybe_empty acquire", kRing, "::maybe_empty(",
       "tail_.load(seq_cst)", acquire},
      {"push to pinned release", kPinned, "::push(", "first_.store", release},
      {"pinned is_empty acquire", kPinned, "::is_empty(", "first_.load",
       acquire},
      {"rouse acquire", kFile, "::rouse(", "wake.exchange", acquire},
      {"rouse not written", kFile, "::rouse(", "wake.exchange", relaxed,
       Effect::skip},
      {"sleep_until: end relaxed", kFile, "::sleep_until(", "wake.exchange"},
      {"sleep_until: end not written", kFile, "::sleep_until(", "wake.exchange",
       relaxed, Effect::skip}};
}

}  // namespace

Protocol idle() {
  const Options twice{.repeats = 2};  // as for the ring
  return {.name = "idle",
          .files = {kHead, kFile, kPinned},
          .scenarios = {{"one sleeper, deque", one_sleeper<Deque>},
                        {"one sleeper, inbox", one_sleeper<Inbox>, twice},
                        {"one sleeper, global", one_sleeper<Global>, twice},
                        {"one sleeper, pinned", one_sleeper<Pinned>},
                        {"one sleeper, turns", one_sleeper<Turns>,
                         Options{.stale_reads = 2}},
                        {"inbox of one of two", owner_told, twice},
                        {"inbox, any told (B-16)", any_told, twice,
                         Verdict::deadlock},
                        {"search in vain", search_in_vain},
                        {"search limit", search_limit},
                        {"rouse", rouse},
                        {"stop", stop},
                        {"two sleepers, told once", told_once},
                        {"two sleepers, told twice", told_twice},
                        {"last searcher", searcher_looks},
                        {"last searcher stops (S4)",
                         searcher_does_not_look,
                         {},
                         Verdict::deadlock}},
          .mutations = mutations()};
}

}  // namespace weft::model
