// ranked_model.cpp: the hint that fibers of high priority wait.
//
// It is set though the queue is empty, as after the last take; one pushes, and
// one or two look.
#include "protocol.hpp"
#include "sched/ranked.hpp"

namespace weft::model {

namespace {

using fiber::Fiber;
using sched::Idle;
using sched::Ranked;
using Fibers = std::array<Fiber, 3>;

struct Scene {
  explicit Scene(Program& p)
      : idle(p.make<Idle>("idle")),
        ranked(p.make<Ranked>("ranked", idle)),
        fibers(p.make<Fibers>("fibers")),
        loot(p.make<Loot<Fiber>>("loot")) {
    (void)ranked.init();
    for (auto& fiber : fibers) fiber.set_priority(Priority::high);
    ranked.push(fibers[2]);
    loot.add(3, ranked.take_high());
  }
  void look(std::size_t thread) const {
    progress();
    loot.add(thread, ranked.take_high());
  }
  // In finally().
  void expect_hinted() const {
    expect(ranked.maybe_empty() || idle.high_waits(), "R1");
  }
  void expect_each_once(std::size_t count) const {
    for (std::size_t i = 0; i <= count; ++i) look(3);
    for (std::size_t i = 0; i < count; ++i) {
      expect(loot.times(&fibers[i]) == 1, "each is taken once");
    }
    progress();
    expect(!idle.high_waits(), "and then nobody waits");
  }

  Idle& idle;
  Ranked& ranked;
  Fibers& fibers;
  Loot<Fiber>& loot;
};

void one_looks(Program& p) {
  const Scene s(p);
  p.thread("pusher", [s] { s.ranked.push(s.fibers[0]); });
  p.thread("worker", [s] { s.look(1); });
  p.finally([s] {
    s.expect_hinted();
    s.expect_each_once(1);
  });
}

void two_look(Program& p) {
  const Scene s(p);
  p.thread("pusher", [s] { s.ranked.push(s.fibers[0]); });
  p.thread("worker1", [s] { s.look(1); });
  p.thread("worker2", [s] { s.look(2); });
  p.finally([s] {
    s.expect_hinted();
    s.expect_each_once(1);
  });
}

void two_push(Program& p) {
  const Scene s(p);
  p.thread("pusher1", [s] { s.ranked.push(s.fibers[0]); });
  p.thread("pusher2", [s] { s.ranked.push(s.fibers[1]); });
  p.thread("worker", [s] { s.look(2); });
  p.finally([s] {
    s.expect_hinted();
    s.expect_each_once(2);
  });
}

// A mistake: who finds nothing clears the hint, and that is all.
void no_second_look(Program& p) {
  const Scene s(p);
  p.thread("pusher", [s] { s.ranked.push(s.fibers[0]); });
  p.thread("worker", [s] {
    if (s.ranked.maybe_empty()) s.idle.say_none_waits();
  });
  p.finally([s] { s.expect_hinted(); });
}

// The counts of the same word are not touched by it.
void beside_the_counts(Program& p) {
  const Scene s(p);
  p.thread("pusher", [s] { s.ranked.push(s.fibers[0]); });
  p.thread("worker", [s] { s.look(1); });
  p.thread("searcher", [s] {
    expect(s.idle.start_search(2), "nobody else searches");
    expect(s.idle.stop_search(), "it is the last");
  });
  p.finally([s] {
    s.expect_hinted();
    s.expect_each_once(1);
    progress();
    expect(s.idle.calm(), "nobody searches or sleeps");
  });
}

constexpr const char* kIdle = "sched/idle.hpp";

std::vector<Mutation> mutations() {
  return {
      {"set not written", kIdle, "::say_high_waits(", "word_.fetch_or", relaxed,
       Effect::skip},
      {"set: load acquire", kIdle, "::say_high_waits(", "word_.load", acquire},
      {"clear not written", kIdle, "::say_none_waits(", "word_.fetch_and",
       relaxed, Effect::skip},
      {"clear acq_rel", kIdle, "::say_none_waits(", "word_.fetch_and",
       acq_rel}};
}

}  // namespace

Protocol ranked() {
  const Options twice{.repeats = 2};  // as for the ring
  return {
      .name = "ranked",
      .files = {"sched/ranked.hpp"},
      .scenarios = {{"one looks", one_looks, twice},
                    {"two look", two_look, twice},
                    {"two push", two_push, twice},
                    {"beside the counts", beside_the_counts, twice},
                    {"no second look", no_second_look, twice, Verdict::failed}},
      .mutations = mutations()};
}

}  // namespace weft::model
