// idle_model.cpp: nobody sleeps for ever beside work: queue, idle word, futex.
#include <utility>

#include "base/futex.hpp"
#include "protocol.hpp"
#include "queue/work_deque.hpp"
#include "sched/idle.hpp"

namespace weft::model {

namespace {

struct Scene {
  explicit Scene(Program& p)
      : idle(p.make<sched::Idle>("idle")),
        deque(p.make<queue::WorkDeque<Item, 2>>("deque")),
        items(p.make<std::array<Item, 2>>("items")) {}

  void notify() const {
    if (sched::Sleeper* sleeper = idle.pop_for_push()) sleeper->rouse();
  }
  void push(std::size_t i) const {
    (void)deque.push(&items[i]);
    notify();
  }
  Item* steal() const {
    for (;;) {
      progress();
      const auto stolen = deque.steal();
      if (stolen.task != nullptr || !stolen.lost_race) return stolen.task;
    }
  }
  // A worker as in sched/worker.cpp, until it has found one item.
  void work(sched::Sleeper& self) const {
    bool searching = false;
    for (;;) {
      if (steal() != nullptr) break;
      idle.announce(self, std::exchange(searching, false));
      if (deque.maybe_empty()) self.sleep_until(base::kForever);
      idle.withdraw(self);
      searching = true;
    }
    if (searching && idle.stop_search() && !deque.maybe_empty()) notify();
  }

  sched::Idle& idle;
  queue::WorkDeque<Item, 2>& deque;
  std::array<Item, 2>& items;
};

void one_sleeper(Program& p) {
  const Scene s(p);
  auto& sleeper = p.make<sched::Sleeper>("sleeper");
  p.thread("pusher", [=] { s.push(0); });
  p.thread("worker", [=, &sleeper] { s.work(sleeper); });
  p.finally([=] {
    expect(s.idle.sleeping() == 0 && s.idle.searching() == 0, "S3, S5");
  });
}

void two_sleepers(Program& p) {
  const Scene s(p);
  auto& first = p.make<sched::Sleeper>("sleeper1");
  auto& second = p.make<sched::Sleeper>("sleeper2");
  p.thread("pusher", [=] {
    s.push(0);
    s.push(1);
  });
  p.thread("worker1", [=, &first] { s.work(first); });
  p.thread("worker2", [=, &second] { s.work(second); });
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

}  // namespace

Protocol idle() {
  return {
      .name = "idle",
      .files = {kHead, kFile},
      .scenarios = {{"one sleeper", one_sleeper},
                    {"rouse", rouse},
                    {"two sleepers", two_sleepers, Options{.preemptions = 2}}},
      .mutations = {
          {"pop_for_push acquire", kHead, "::pop_for_push(", "word_.load",
           acquire},
          {"announce acq_rel", kFile, "::announce(", "word_.fetch_add",
           acq_rel},
          {"announce not written", kFile, "::announce(", "word_.fetch_add",
           relaxed, Effect::skip},
          {"push release", kDeque, "::push(", "bottom_.store(b + 1", release},
          {"maybe_empty acquire", kDeque, "::maybe_empty(",
           "bottom_.load(seq_cst)", acquire},
          {"rouse acquire", kFile, "::rouse(", "wake.exchange", acquire},
          {"rouse not written", kFile, "::rouse(", "wake.exchange", relaxed,
           Effect::skip},
          {"sleep_until: end relaxed", kFile, "::sleep_until(",
           "wake.exchange"}}};
}

}  // namespace weft::model
