// line_model.cpp: what is handed from one to the next in line, with the real
// code of every wait below it.
//
// Whatever a waiter gives up for, what he was about to be given goes to the
// next, or stays; and who was given something may destroy what gave it.
#include "plain_thread.hpp"
#include "protocol.hpp"
#include "sync/line_cores.hpp"
#include <weft/latch.hpp>
#include <weft/semaphore.hpp>

namespace weft::model {

namespace {

using sync::FairCore;
using sync::FairPlace;
using sync::FutureCore;
using sync::OnceCore;
using sync::SemaphoreCore;
using sync::SharedCore;

// How the wait of a thread may end.
struct How {
  Deadline deadline = Deadline::never();
};
const How kPatient;
const How kHasty{passed()};

template <typename Core>
struct Scene {
  template <typename... Arguments>
  explicit Scene(Program& p, Arguments... arguments)
      : core(p.make<Core>("core", arguments...)),
        threads(p.make<std::array<PlainThread, 3>>("threads")),
        count(p.make<Plain<int>>("count", 0)),
        got(p.make<std::array<bool, 3>>("got")) {}

  fiber::Fiber& self(std::size_t i) const { return threads[i].proxy; }
  void expect_left() const {
    int inside = 0;
    for (const bool one : got) inside += one ? 1 : 0;
    expect(count == inside, "one at a time");
    expect(core.unused(), "it is free, and nobody waits");
  }
  // Of an exclusive lock.
  void use_and_unlock(std::size_t i) const {
    got[i] = true;
    count = count + 1;
    expect(core.unlock(self(i)), "it is his");
  }
  void visit(std::size_t i, How how) const {
    threads[i].begin();
    if (core.try_lock(self(i)) || core.wait(self(i), false, how.deadline)) {
      use_and_unlock(i);
    }
  }

  Core& core;
  std::array<PlainThread, 3>& threads;
  Plain<int>& count;
  std::array<bool, 3>& got;
};

// The owner unlocks, and perhaps cancels who waits.
template <typename Core>
void hand_over(Program& p, How how, bool cancels) {
  const Scene<Core> s(p);
  (void)s.core.try_lock(s.self(0));
  p.thread("waiter", [=] { s.visit(1, how); });
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.use_and_unlock(0);
    if (cancels) s.threads[1].cancel();
  });
  p.finally([=] { s.expect_left(); });
}
void fair(Program& p) { hand_over<FairCore>(p, kPatient, false); }
void fair_or_deadline(Program& p) { hand_over<FairCore>(p, kHasty, false); }
void fair_or_cancel(Program& p) { hand_over<FairCore>(p, kPatient, true); }
void writer_or_deadline(Program& p) { hand_over<SharedCore>(p, kHasty, false); }

// A place that nobody waits at: its turn comes, or it leaves the line.
void fair_turn(Program& p) {
  const Scene<FairCore> s(p);
  auto& turn = p.make<FutureCore>("turn");
  auto& place = p.make<FairPlace>("place", turn);
  (void)s.core.try_lock(s.self(0));
  p.thread("comes", [=, &turn, &place] {
    s.threads[1].begin();
    if (!s.core.enter(s.self(1), place)) {
      if (s.core.leave(place)) return;
      while (!turn.is_set()) pause();
    }
    s.use_and_unlock(1);
  });
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.use_and_unlock(0);
  });
  p.finally([=] { s.expect_left(); });
}

// The reader came after the writer, and waits for him alone.
void writer_gives_up(Program& p) {
  const Scene<SharedCore> s(p);
  (void)s.core.try_lock_shared();  // and keeps it
  p.thread("reader", [=] {
    s.threads[0].begin();
    const bool read =
        s.core.try_lock_shared() ||
        s.core.wait_shared(s.self(0), false, Deadline::never()).has_value();
    expect(read && s.core.unlock_shared(), "he reads beside the other");
  });
  p.thread("writer", [=] { s.visit(1, kHasty); });
  p.finally([=] {
    expect(s.core.unlock_shared(), "still held");
    s.expect_left();
  });
}

void reader_and_writer(Program& p) {
  const Scene<SharedCore> s(p);
  (void)s.core.try_lock(s.self(0));
  p.thread("reader", [=] {
    s.threads[1].begin();
    if (!s.core.wait_shared(s.self(1), false, kHasty.deadline)) return;
    expect(s.count > 0, "what the writer wrote came");
    expect(s.core.unlock_shared(), "it is his");
  });
  p.thread("writer", [=] {
    s.threads[0].begin();
    s.use_and_unlock(0);
    s.visit(2, kPatient);
  });
  p.finally([=] { s.expect_left(); });
}

void one_permit(Program& p) {
  const Scene<SemaphoreCore> s(p, 0);
  p.thread("hasty", [=] {
    s.threads[0].begin();
    s.got[0] = s.core.wait(kHasty.deadline).has_value();
  });
  p.thread("releaser", [=] { s.core.release(1); });
  p.finally([=] {
    expect((s.got[0] ? 1 : 0) + s.core.permits == 1, "no permit is lost");
    expect(s.core.unused(), "nobody waits");
  });
}

void two_for_permits(Program& p) {
  const Scene<SemaphoreCore> s(p, 0);
  for (const std::size_t i : {0U, 1U}) {
    p.thread(i == 0 ? "hasty" : "patient", [=] {
      s.threads[i].begin();
      s.got[i] = s.core.wait((i == 0 ? kHasty : kPatient).deadline).has_value();
    });
  }
  p.thread("releaser", [=] { s.core.release(2); });
  p.finally([=] {
    expect(s.got[1], "he is given one");
    expect((s.got[0] ? 2 : 1) + s.core.permits == 2, "no permit is lost");
    expect(s.core.unused(), "nobody waits");
  });
}

// The latch ends with the wait; who counted may still be inside.
template <bool kLooks>
void latch_destroyed(Program& p) {
  auto& thread = p.make<PlainThread>("thread");
  auto& place = p.make<Atomic<Latch*>>("place", nullptr);
  auto& said = p.make<Plain<int>>("said", 0);
  p.thread("waiter", [&] {
    thread.begin();
    auto& latch = create<Latch>("latch", 1);
    place.store(&latch, release);
    if (!kLooks || !latch.try_wait()) (void)latch.wait();
    expect(said == 7, "what came before is seen");
    destroy(latch);
  });
  p.thread("counts", [&] {
    while (place.load(acquire) == nullptr) pause();
    said = 7;
    place.load(relaxed)->count_down();
  });
}

void once(Program& p, bool succeeds) {
  const Scene<OnceCore> s(p);
  for (const std::size_t i : {0U, 1U}) {
    p.thread(i == 0 ? "first" : "second", [=] {
      s.threads[i].begin();
      const auto runs = s.core.begin(Deadline::never());
      expect(runs.has_value(), "no error");
      if (*runs) {
        s.got[i] = true;
        s.count = s.count + 1;
        s.core.end(succeeds || s.count == 2);
      } else {
        expect(s.count > 0, "what the call did came");
      }
    });
  }
  p.thread("looks", [=] {
    if (s.core.is_done()) expect(s.count > 0, "what the call did came");
  });
  p.finally([=] {
    expect(s.core.is_done() && s.count == (succeeds ? 1 : 2), "done once");
    s.expect_left();
  });
}
void once_for_two(Program& p) { once(p, true); }
void once_more(Program& p) { once(p, false); }

// Who is told that the call failed may be cancelled then: the other one tries.
void once_passed_on(Program& p) {
  const Scene<OnceCore> s(p);
  s.core.state.store(OnceCore::State::running, relaxed);  // nobody knows it yet
  s.core.runner = &s.self(0);
  for (const std::size_t i : {1U, 2U}) {
    p.thread(i == 1 ? "first" : "second", [=] {
      s.threads[i].begin();
      const auto runs = s.core.begin(Deadline::never());
      if (runs.has_value() && *runs) s.core.end(true);
    });
  }
  p.thread("runner", [=] {
    s.threads[0].begin();
    s.core.end(false);
    s.threads[1].cancel();
  });
  p.finally([=] {
    expect(s.core.is_done(), "one of them did it");
    expect(s.core.unused(), "nobody waits");
  });
}

// Who finds it done may destroy it, though end() has not returned.
void once_destroyed(Program& p) {
  auto& threads = p.make<std::array<PlainThread, 2>>("threads");
  auto& place = p.make<Atomic<Once*>>("place", nullptr);
  p.thread("first", [&] {
    threads[0].begin();
    auto& it = create<Once>("once");
    (void)it.call([&] { place.store(&it, release); });
  });
  p.thread("second", [&] {
    threads[1].begin();
    while (place.load(acquire) == nullptr) pause();
    Once& it = *place.load(relaxed);
    expect(it.call([] {}).has_value(), "done");
    destroy(it);
  });
}

// Who gave up has not arrived, and comes again.
void barrier(Program& p) {
  auto& core = p.make<sync::BarrierCore>("barrier", 2);
  auto& threads = p.make<std::array<PlainThread, 2>>("threads");
  auto& last = p.make<std::array<bool, 2>>("last");
  p.thread("hasty", [&] {
    threads[0].begin();
    auto end = core.arrive_and_wait(passed());
    progress();
    if (!end) end = core.arrive_and_wait(Deadline::never());
    last[0] = *end;
  });
  p.thread("patient", [&] {
    threads[1].begin();
    last[1] = *core.arrive_and_wait(Deadline::never());
  });
  p.finally([&] {
    expect(last[0] != last[1], "one came last");
    expect(core.arrived == 0 && core.round == 1, "one round");
    expect(core.unused(), "nobody waits");
  });
}

constexpr const char* kCounts = "sync/counts.cpp";
constexpr const char* kCores = "sync/line_cores.hpp";
constexpr const char* kLock = "base/spin_lock.hpp";
constexpr const char* kNode = "fiber/fiber.hpp";

}  // namespace

Protocol lines() {
  constexpr auto kSkip = Effect::skip;
  const Options few{.preemptions = 2, .spurious_failures = 0};
  const Options fewer{
      .preemptions = 1, .spurious_failures = 0, .stale_reads = 1};
  return {
      .name = "lines",
      .files = {kCounts, kCores, "sync/locks.cpp"},
      .scenarios = {{"fair", fair},
                    {"fair or deadline", fair_or_deadline},
                    {"fair or cancel", fair_or_cancel},
                    {"fair turn", fair_turn},
                    {"writer or deadline", writer_or_deadline},
                    {"writer gives up", writer_gives_up, fewer},
                    {"reader and writer", reader_and_writer, fewer},
                    {"permit", one_permit},
                    {"two for permits", two_for_permits, fewer},
                    {"latch destroyed", latch_destroyed<false>},
                    {"latch seen and destroyed", latch_destroyed<true>, few},
                    {"once for two", once_for_two, few},
                    {"once more", once_more, few},
                    {"once passed on", once_passed_on, fewer},
                    {"once destroyed", once_destroyed, few},
                    {"barrier", barrier, few}},
      .mutations = {
          {"lock relaxed", kLock, "::try_lock(", "held_.exchange"},
          {"unlock relaxed", kLock, "::unlock(", "held_.store"},
          {"conclude: gone not written", kNode, "::conclude(", "gone_.store",
           relaxed, kSkip},
          {"once: is_done relaxed", kCores, "::is_done(", "state.load"},
          {"once: done relaxed", kCounts, "::end(", "State::done, release"},
          {"once: done not written", kCounts, "::end(", "State::done, release",
           relaxed, kSkip},
          {"once: idle not written", kCounts, "::end(", "State::idle, relaxed",
           relaxed, kSkip},
          {"once: running not written", kCounts, "", "State::running, relaxed",
           relaxed, kSkip}}};
}

}  // namespace weft::model
