// future_model.cpp: futures, with the real code of every wait below them.
//
// Who sees one set sees what came before that, and may destroy it at once; who
// gives up leaves nothing of himself behind.
#include "plain_thread.hpp"
#include "protocol.hpp"
#include "sync/future_core.hpp"

namespace weft::model {

namespace {

using fiber::WaitNode;
using sync::FutureCore;

struct Scene {
  explicit Scene(Program& p)
      : futures(p.make<std::array<FutureCore, 2>>("futures")),
        thread(p.make<PlainThread>("thread")),
        said(p.make<std::array<Plain<int>, 2>>("said")) {}

  void set(std::size_t i) const {
    said[i] = 7;
    futures[i].set(Errc{});
  }
  void expect_set(std::size_t i) const {
    expect(said[i] == 7, "what the setter wrote came");
    said[i] = 8;
  }
  // Tries both ends: it is set, or as it was before.
  void wait(Deadline deadline, Error otherwise) const {
    thread.begin();
    const auto end = futures[0].wait(deadline);
    if (end) return expect_set(0);
    expect(end.error() == otherwise, "one or the other");
  }
  void expect_left(std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      expect(futures[i].is_set(), "set");
      futures[i].check_unused();
    }
  }

  std::array<FutureCore, 2>& futures;
  PlainThread& thread;
  std::array<Plain<int>, 2>& said;
};

void look(Program& p) {
  const Scene s(p);
  p.thread("looks", [=] {
    if (s.futures[0].is_set()) s.expect_set(0);
  });
  p.thread("setter", [=] { s.set(0); });
}

void set(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] { s.wait(Deadline::never(), Errc{}); });
  p.thread("setter", [=] { s.set(0); });
  p.finally([=] { s.expect_left(1); });
}

void set_or_deadline(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] { s.wait(passed(), Errc::timed_out); });
  p.thread("setter", [=] { s.set(0); });
  p.finally([=] { s.expect_left(1); });
}

void set_or_cancel(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] { s.wait(Deadline::never(), Errc::cancelled); });
  p.thread("setter", [=] { s.set(0); });
  p.thread("canceller", [=] { s.thread.cancel(); });
  p.finally([=] { s.expect_left(1); });
}

// B-35: the node of the second wait is where that of the first one was.
void wait_again(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] {
    s.thread.begin();
    if (s.futures[0].wait(passed())) return s.expect_set(0);
    progress();
    s.wait(Deadline::never(), Errc{});
  });
  p.thread("setter", [=] { s.set(0); });
  p.finally([=] { s.expect_left(1); });
}

// The nodes are gone when it returns: they end with the stack.
struct Nodes {
  std::array<WaitNode, 2> nodes;
};
void wait_for_any(const Scene& s, Deadline deadline) {
  s.thread.begin();
  auto& mine = create<Nodes>("nodes");
  FutureCore* const both[] = {&s.futures[0], &s.futures[1]};
  const auto found = FutureCore::wait_any(both, mine.nodes, deadline);
  destroy(mine);
  if (found) return s.expect_set(*found);
  expect(found.error() == Errc::timed_out, "one or the other");
}
void any(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] { wait_for_any(s, Deadline::never()); });
  p.thread("setter1", [=] { s.set(0); });
  p.thread("setter2", [=] { s.set(1); });
  p.finally([=] { s.expect_left(2); });
}
void any_or_deadline(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] { wait_for_any(s, passed()); });
  p.thread("setter", [=] {
    s.set(1);
    s.set(0);
  });
  p.finally([=] { s.expect_left(2); });
}

// Called by the setter, or not at all since it is set.
struct Call : sync::Callback {
  Plain<int> calls = 0;
  Plain<int> made = 0;

  Call() : Callback{&Call::called} {}
  static void called(Callback& it) noexcept {
    auto& self = static_cast<Call&>(it);
    expect(self.made == 7, "what the subscriber wrote came");
    self.calls = self.calls + 1;
  }
};
void callback(Program& p) {
  const Scene s(p);
  auto& call = p.make<Call>("call");
  p.thread("subscriber", [=, &call] {
    call.made = 7;
    if (s.futures[0].subscribe(call)) return;
    s.expect_set(0);
    call.calls = call.calls + 1;
  });
  p.thread("setter", [=] { s.set(0); });
  p.finally([=, &call] {
    expect(call.calls == 1, "called, or set already");
    s.expect_left(1);
  });
}

// P1: who has seen it set may destroy it, though set() has not returned.
void destroyed(Program& p, bool waits) {
  auto& thread = p.make<PlainThread>("thread");
  auto& place = p.make<Atomic<FutureCore*>>("place", nullptr);
  p.thread("owner", [&, waits] {
    thread.begin();
    auto& future = create<FutureCore>("future");
    place.store(&future, release);
    if (!waits || !future.wait(passed())) {
      while (!future.is_set()) pause();
    }
    destroy(future);
  });
  p.thread("setter", [&] {
    while (place.load(acquire) == nullptr) pause();
    place.load(relaxed)->set(Errc{});
  });
}
void seen_and_destroyed(Program& p) { destroyed(p, false); }
void awaited_and_destroyed(Program& p) { destroyed(p, true); }

// Both sides are one's own again, and then another's.
void reset(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] {
    s.wait(Deadline::never(), Errc{});
    s.futures[0].reset();
    expect(!s.futures[0].is_set(), "as new");
    progress();
    s.set(1);
    s.wait(passed(), Errc::timed_out);
  });
  p.thread("setter", [=] { s.set(0); });
}

constexpr const char* kWord = "sync/future_word.hpp";
constexpr const char* kNode = "fiber/fiber.hpp";

}  // namespace

Protocol future() {
  constexpr auto kSkip = Effect::skip;
  return {
      .name = "future",
      .files = {kWord, "sync/future_core.cpp"},
      .scenarios = {{"look", look},
                    {"set", set},
                    // Before those whose nodes are on a stack.
                    {"any or deadline", any_or_deadline},
                    {"set or deadline", set_or_deadline},
                    {"callback", callback},
                    {"seen and destroyed", seen_and_destroyed},
                    {"awaited and destroyed", awaited_and_destroyed},
                    {"reset", reset},
                    {"wait again", wait_again},
                    {"set or cancel", set_or_cancel,
                     Options{.spurious_failures = 0}},
                    {"any", any, Options{.spurious_failures = 0}}},
      .mutations = {
          {"set acquire", kWord, "::set(", "word_.exchange", acquire},
          {"set release", kWord, "::set(", "word_.exchange", release},
          {"set: not written", kWord, "::set(", "word_.exchange", relaxed,
           kSkip},
          {"is_set relaxed", kWord, "::is_set(", "word_.load"},
          {"enter acquire", kWord, "::install(", "(w, whom, acq_rel", acquire},
          {"enter: set, relaxed", kWord, "::install(", "(w, whom, acq_rel",
           relaxed, Effect::weaken_failure},
          {"enter: not written", kWord, "::install(", "(w, whom, acq_rel",
           relaxed, kSkip},
          {"leave: not written", kWord, "::leave(", "(w, 0, acq_rel", relaxed,
           kSkip},
          {"reset: not written", kWord, "::reset(", "word_.store", relaxed,
           kSkip},
          {"conclude: gone relaxed", kNode, "::conclude(", "gone_.store"},
          {"conclude: gone not written", kNode, "::conclude(", "gone_.store",
           relaxed, kSkip}}};
}

}  // namespace weft::model
