// mutex_model.cpp: MutexCore, with the real code of every wait below it.
//
// Whatever happens, one at a time is inside and sees what the one before did;
// and when all are gone the mutex is as it was: nobody was forgotten in it.
#include "plain_thread.hpp"
#include "protocol.hpp"
#include "sched/scheduler.hpp"
#include "sync/mutex_core.hpp"
#include <weft/mutex.hpp>

namespace weft::model {

namespace {

using sync::MutexCore;

// To whom every owner seems to be off its worker: such a waiter insists, and is
// given the lock. Nothing runs on it.
sched::Worker& lonely_worker() {
  static auto* const scheduler = new sched::Scheduler(Config{});
  static auto* const worker = new sched::Worker(*scheduler, 0);
  return *worker;
}

struct Scene {
  explicit Scene(Program& p)
      : mutex(p.make<MutexCore>("mutex")),
        threads(p.make<std::array<PlainThread, 3>>("threads")),
        count(p.make<Plain<int>>("count", 0)),
        got(p.make<std::array<Status, 3>>("got")) {}

  // Before the threads run.
  void held_by(std::size_t i) const { (void)mutex.try_lock(threads[i].proxy); }
  void insists(std::size_t i) const {
    threads[i].carrier.worker = &lonely_worker();
  }

  void lock(std::size_t i, Deadline deadline = Deadline::never(),
            bool shield = false) const {
    threads[i].begin();
    auto& self = threads[i].proxy;
    if (!mutex.try_lock(self)) got[i] = mutex.wait(self, shield, deadline);
  }
  void use_and_unlock(std::size_t i) const {
    count = count + 1;
    expect(mutex.unlock(threads[i].proxy), "M1: it is his");
  }
  void visit(std::size_t i, Deadline deadline = Deadline::never()) const {
    lock(i, deadline);
    if (got[i]) use_and_unlock(i);
  }
  void visit_if_free(std::size_t i) const {
    threads[i].begin();
    got[i] = Errc::would_block;
    if (!mutex.try_lock(threads[i].proxy)) return;
    got[i] = Status();
    use_and_unlock(i);
  }
  void expect_left(std::size_t users) const {
    int inside = 0;
    for (std::size_t i = 0; i < users; ++i) inside += got[i] ? 1 : 0;
    expect(count == inside, "one at a time");
    expect(mutex.unused(), "it is free, and knows of no waiter");
  }

  MutexCore& mutex;
  std::array<PlainThread, 3>& threads;
  Plain<int>& count;
  std::array<Status, 3>& got;
};

void two_visits(Program& p) {
  const Scene s(p);
  p.thread("first", [=] { s.visit(0); });
  p.thread("second", [=] { s.visit(1); });
  p.finally([=] { s.expect_left(2); });
}

void three_tries(Program& p) {
  const Scene s(p);
  p.thread("first", [=] { s.visit_if_free(0); });
  p.thread("second", [=] { s.visit_if_free(1); });
  p.thread("third", [=] { s.visit_if_free(2); });
  p.finally([=] { s.expect_left(3); });
}

// The unlock against the waiter that sets its bit, and its deadline.
void handed(Program& p, bool insists, bool hasty) {
  const Scene s(p);
  s.held_by(0);
  if (insists) s.insists(1);
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.use_and_unlock(0);
  });
  p.thread("waiter", [=] { s.visit(1, hasty ? passed() : Deadline::never()); });
  p.finally([=] { s.expect_left(2); });
}
void told(Program& p) { handed(p, false, false); }
void told_or_deadline(Program& p) { handed(p, false, true); }
void given(Program& p) { handed(p, true, false); }
void given_or_deadline(Program& p) { handed(p, true, true); }

void beside_cancel(Program& p, bool insists) {
  const Scene s(p);
  s.held_by(0);
  if (insists) s.insists(1);
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.use_and_unlock(0);
    s.threads[1].cancel();
  });
  p.thread("waiter", [=] { s.visit(1); });
  p.finally([=] { s.expect_left(2); });
}
void told_or_cancel(Program& p) { beside_cancel(p, false); }
void given_or_cancel(Program& p) { beside_cancel(p, true); }

// Whoever comes while the waiter is on his way gets in first.
void beside_try(Program& p, bool insists, bool hasty) {
  const Scene s(p);
  s.held_by(0);
  if (insists) s.insists(1);
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.use_and_unlock(0);
  });
  p.thread("waiter", [=] { s.visit(1, hasty ? passed() : Deadline::never()); });
  p.thread("tries", [=] { s.visit_if_free(2); });
  p.finally([=] { s.expect_left(3); });
}
void told_beside_try(Program& p) { beside_try(p, false, false); }
void given_beside_try(Program& p) { beside_try(p, true, true); }

// The waiters first: a bound counts less of what comes in this order.
void two_wait(Program& p, bool cancels, bool hasty) {
  const Scene s(p);
  s.held_by(0);
  p.thread("first", [=] { s.visit(1); });
  p.thread("second", [=] { s.visit(2, hasty ? passed() : Deadline::never()); });
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.use_and_unlock(0);
    if (cancels) s.threads[1].cancel();
  });
  p.finally([=] { s.expect_left(3); });
}
void two_waiters(Program& p) { two_wait(p, false, false); }
// Who is told may be cancelled then: the other one must hear of it, unless he
// has given up as well.
void pass_it_on(Program& p) { two_wait(p, true, false); }
void pass_it_on_or_keep(Program& p) { two_wait(p, true, true); }

// Two who are given it, one after the other.
void two_insist(Program& p) {
  const Scene s(p);
  s.held_by(0);
  s.insists(1);
  s.insists(2);
  p.thread("first", [=] { s.visit(1); });
  p.thread("second", [=] { s.visit(2); });
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.use_and_unlock(0);
  });
  p.finally([=] { s.expect_left(3); });
}

// The first is not counted on: the second is told, or given it, as well.
void pinned_first(Program& p, bool insists, bool cancels) {
  const Scene s(p);
  s.held_by(0);
  s.threads[1].proxy.pins = 1;
  if (insists) s.insists(2);
  p.thread("pinned", [=] { s.visit(1); });
  p.thread("second", [=] { s.visit(2); });
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.use_and_unlock(0);
    if (cancels) s.threads[1].cancel();
  });
  p.finally([=] { s.expect_left(3); });
}
void pinned_and_told(Program& p) { pinned_first(p, false, false); }
void pinned_and_given(Program& p) { pinned_first(p, true, false); }
void pinned_and_cancelled(Program& p) { pinned_first(p, false, true); }

// Who has it after the owner may destroy it, though unlock() has not returned.
void destroyed(Program& p, bool insists) {
  auto& threads = p.make<std::array<PlainThread, 2>>("threads");
  auto& place = p.make<Atomic<MutexCore*>>("place", nullptr);
  if (insists) threads[1].carrier.worker = &lonely_worker();
  p.thread("owner", [&] {
    threads[0].begin();
    auto& mutex = create<MutexCore>("mutex");
    expect(mutex.try_lock(threads[0].proxy), "a new one is free");
    place.store(&mutex, release);
    expect(mutex.unlock(threads[0].proxy), "it is his");
  });
  p.thread("next", [&] {
    threads[1].begin();
    while (place.load(acquire) == nullptr) pause();
    MutexCore& mutex = *place.load(relaxed);
    auto& self = threads[1].proxy;
    if (!mutex.try_lock(self)) {
      const auto never = Deadline::never();
      expect(mutex.wait(self, /*shield=*/true, never).has_value(), "its turn");
    }
    expect(mutex.unlock(self), "it is his");
    expect(mutex.unused(), "nobody is left");
    destroy(mutex);
  });
}
void told_and_destroyed(Program& p) { destroyed(p, false); }
void given_and_destroyed(Program& p) { destroyed(p, true); }

constexpr const char* kCore = "sync/mutex_core.cpp";
constexpr const char* kHead = "sync/mutex_core.hpp";

}  // namespace

Protocol mutex() {
  constexpr auto kSkip = Effect::skip;
  const Options few{.preemptions = 3, .spurious_failures = 0};
  const Options fewer{
      .preemptions = 1, .spurious_failures = 0, .stale_reads = 1};
  return {
      .name = "mutex",
      .files = {kCore, kHead},
      .scenarios = {{"two visits", two_visits},
                    {"three tries", three_tries},
                    {"told", told},
                    {"told or deadline", told_or_deadline},
                    {"given", given},
                    {"given or deadline", given_or_deadline},
                    {"given or cancel", given_or_cancel},
                    {"told beside try", told_beside_try, few},
                    {"given beside try", given_beside_try, few},
                    {"pass it on or keep it", pass_it_on_or_keep, fewer},
                    {"told or cancel", told_or_cancel},
                    {"two waiters", two_waiters, fewer},
                    {"pass it on", pass_it_on, fewer},
                    {"two insist", two_insist, fewer},
                    {"pinned and told", pinned_and_told, fewer},
                    {"pinned and given", pinned_and_given, fewer},
                    {"pinned and cancelled", pinned_and_cancelled, fewer},
                    {"told and destroyed", told_and_destroyed},
                    {"given and destroyed", given_and_destroyed}},
      .mutations = {
          {"enter relaxed", kCore, "::enter(", "(w, mine, acquire"},
          {"no waiters bit", kCore, "::mark(", "word_.compare_exchange",
           relaxed, kSkip},
          {"try_lock relaxed", kHead, "::try_lock(", "(self), acquire"},
          {"unlock relaxed", kCore, "::unlock(", "(w, 0, release"},
          {"told: not free", kCore, "::unlock(", "word_.store", relaxed, kSkip},
          {"told: free relaxed", kCore, "::unlock(", "word_.store"},
          {"give: not named", kCore, "::give_to_next(", "word_.store(owned_by",
           relaxed, kSkip},
          {"give: nobody, free relaxed", kCore, "::give_to_next(",
           "word_.store(0"},
          {"give: nobody, not free", kCore, "::give_to_next(", "word_.store(0",
           relaxed, kSkip}}};
}

}  // namespace weft::model
