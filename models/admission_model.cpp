// admission_model.cpp: who closes the doors and counts none is alone.
//
// A fiber is its counts: in, by the worker or outside, and out. Whoever sums up
// may see old counts, but never so that one that is in is missed.
#include "base/futex.hpp"
#include "protocol.hpp"
#include "sched/admission.hpp"
#include "sched/stats.hpp"

namespace weft::model {

namespace {

struct Scene {
  explicit Scene(Program& p)
      : admission(p.make<sched::Admission>("admission")),
        workers(p.make<std::array<sched::Counters, 2>>("workers")) {}

  // Scheduler::live().
  std::uint64_t live() const {
    return admission.live(
        [this] {
          return workers[0].finished.get() + workers[1].finished.get();
        },
        [this] { return workers[0].spawned.get() + workers[1].spawned.get(); });
  }
  // Scheduler::new_frame_slowly(), from outside.
  bool spawn(std::uint64_t limit = 0) const {
    (void)admission.count_spawn();
    if (admission.admits(limit)) return true;
    admission.count_end();
    admission.one_less(limit);
    return false;
  }
  // On a worker: Scheduler::new_frame(), Worker::finish().
  void spawn_on(std::size_t worker) const { workers[worker].spawned.add(); }
  void end_on(std::size_t worker) const {
    workers[worker].finished.add();
    admission.one_less(0);
  }

  sched::Admission& admission;
  std::array<sched::Counters, 2>& workers;
};

// [admit]: one of them sees the other.
void close(Program& p) {
  const Scene s(p);
  auto& came_in = p.make<bool>("came_in", false);
  auto& was_empty = p.make<bool>("was_empty", false);
  p.thread("spawner", [=, &came_in] { came_in = s.spawn(); });
  p.thread("owner", [=, &was_empty] {
    s.admission.close();
    was_empty = s.live() == 0;
  });
  p.finally([=, &came_in, &was_empty] {
    expect(!came_in || !was_empty, "who is in is counted");
    expect(s.live() == (came_in ? 1 : 0), "who was refused is not");
  });
}

// A fiber is in. Whatever the others do, there is always one.
void never_empty(Program& p, const Scene& s) {
  p.thread("owner", [=] { expect(s.live() != 0, "somebody is in"); });
  p.finally([=] { expect(s.live() == 1, "one is in"); });
}

// It starts another, then it ends.
void successor(Program& p) {
  const Scene s(p);
  expect(s.spawn(), "it is open");
  p.thread("worker", [=] {
    s.spawn_on(0);
    s.end_on(0);
  });
  never_empty(p, s);
}

// It starts another, which is stolen and ends elsewhere.
void stolen(Program& p) {
  const Scene s(p);
  auto& queued = p.make<Atomic<bool>>("queued", false);
  expect(s.spawn(), "it is open");
  p.thread("worker", [=, &queued] {
    s.spawn_on(0);
    queued.store(true, release);
  });
  p.thread("thief", [=, &queued] {
    while (!queued.load(acquire)) pause();
    s.end_on(1);
  });
  never_empty(p, s);
}

// Another comes from outside and is refused.
void refused(Program& p) {
  const Scene s(p);
  expect(s.spawn(), "it is open");
  s.admission.close();
  p.thread("spawner", [=] { expect(!s.spawn(), "it is closed"); });
  never_empty(p, s);
}

// At most two at a time.
void limit(Program& p) {
  const Scene s(p);
  auto& in = p.make<std::array<bool, 3>>("in");
  for (const std::size_t i : {0u, 1u, 2u}) {
    p.thread("spawner" + std::to_string(i), [=, &in] { in[i] = s.spawn(2); });
  }
  p.finally([=, &in] {
    const auto count = static_cast<unsigned>(in[0] + in[1] + in[2]);
    expect(count <= 2 && count > 0, "at most two, and not none");
    expect(s.live() == count, "who was refused is not counted");
    for (unsigned i = 0; i < count; ++i) s.admission.one_less(2);
    expect(s.spawn(2) && s.spawn(2), "there is room again");
    expect(!s.spawn(2), "and no more");
  });
}

// The owner sleeps until the last one is out. A tick may end that sleep early;
// after the first one all that the worker did is seen, or it would never end.
void drain(Program& p, bool known) {
  const Scene s(p);
  auto& past = p.make<Atomic<bool>>("past", false);
  expect(s.spawn(), "it is open");
  if (known) (void)s.admission.wait_until_empty(0, [=] { return s.live(); });
  p.thread("worker", [=, &past] {
    s.end_on(0);
    past.store(true, release);
  });
  p.thread("owner", [=, &past] {
    s.admission.close();
    auto live = [=, &past, calls = 0]() mutable {
      if (++calls > 2) {
        while (!past.load(acquire)) pause();
      }
      return s.live();
    };
    expect(s.admission.wait_until_empty(base::kForever, live), "no deadline");
    expect(!s.spawn(), "nobody comes in any more");
  });
}
void drain_known(Program& p) { drain(p, true); }
// An end that just misses that somebody waits: this is what the tick is for,
// and a model may sleep past it.
void drain_unknown(Program& p) { drain(p, false); }

// A waker from outside: the fiber that it pushed may end, and the runtime go,
// before it is on its way out.
void visit(Program& p) {
  const Scene s(p);
  auto& runtime = p.make<Plain<int>>("runtime", 1);
  auto& queued = p.make<Atomic<bool>>("queued", false);
  auto& joined = p.make<Atomic<bool>>("joined", false);
  p.thread("waker", [=, &runtime, &queued] {
    const sched::Admission::Visit inside(s.admission);
    queued.store(true, release);
    expect(runtime == 1, "the runtime is there");  // it notifies
  });
  p.thread("worker", [=, &queued, &joined] {
    while (!queued.load(acquire)) pause();
    s.end_on(0);
    joined.store(true, release);  // its thread ends
  });
  p.thread("owner", [=, &runtime, &joined] {
    while (!joined.load(acquire)) pause();
    s.admission.wait_for_visitors();
    runtime = 0;
  });
}

constexpr const char* kFile = "sched/admission.hpp";
constexpr const char* kStats = "sched/stats.hpp";

std::vector<Mutation> mutations() {
  return {
      {"close release", kFile, "::close(", "admits_.store", release},
      {"count_spawn acq_rel", kFile, "::count_spawn(",
       "outside_spawns_.fetch_add", acq_rel},
      {"count_spawn not written", kFile, "::count_spawn(",
       "outside_spawns_.fetch_add", relaxed, Effect::skip},
      {"admits acquire", kFile, "::admits(", "admits_.load", acquire},
      {"live acquire", kFile, "::live(", "outside_spawns_.load", acquire},
      {"count_end not written", kFile, "::count_end(",
       "outside_ends_.fetch_add", relaxed, Effect::skip},
      {"count_end relaxed", kFile, "::count_end(", "outside_ends_.fetch_add"},
      {"live: ends relaxed", kFile, "::live(", "outside_ends_.load"},
      {"add relaxed", kStats, "EndCounter::add(", "value_.store"},
      {"get relaxed", kStats, "EndCounter::get(", "value_.load"},
      {"limit not written", kFile, "::admits(", "capped_live_.fetch_add",
       relaxed, Effect::skip},
      {"one_less: limit not written", kFile, "::one_less(",
       "capped_live_.fetch_sub", relaxed, Effect::skip},
      {"drained not written", kFile, "::one_less(", "drained_.fetch_add",
       relaxed, Effect::skip},
      {"visit not written", kFile, "::Visit(", "visits_.fetch_add", relaxed,
       Effect::skip},
      {"visit: end relaxed", kFile, "::~Visit(", "visits_.fetch_sub"},
      {"visit: end not written", kFile, "::~Visit(", "visits_.fetch_sub",
       relaxed, Effect::skip},
      {"wait_for_visitors relaxed", kFile, "::wait_for_visitors(",
       "visits_.load"},
  };
}

}  // namespace

Protocol admission() {
  const Options no_tick{.deadlines = false};
  return {.name = "admission",
          .files = {kFile, kStats},
          .scenarios = {{"close", close},
                        {"successor", successor},
                        {"stolen", stolen},
                        {"refused", refused},
                        {"limit", limit},
                        {"drain", drain_known},
                        {"drain, woken", drain_known, no_tick},
                        {"drain, no tick", drain_unknown, no_tick,
                         Verdict::deadlock},
                        {"visit", visit}},
          .mutations = mutations()};
}

}  // namespace weft::model
