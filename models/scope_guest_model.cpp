// scope_guest_model.cpp: P4 of scopes: guests, which run in place on the stack
// of their host, whose scope is stopped.
#include "scope_scene.hpp"

namespace weft::model {

namespace {

void guest(Program& p, bool waits) {
  auto& t = p.make<Tree>("tree");
  p.thread("worker", [&, waits] {
    t.lend(t.child);
    if (waits) {
      expect(t.child.wait() == Who::cancelled, "it was stopped");
    } else {
      expect(t.child.poll() == Stop::cancelled, "it was stopped");
    }
    t.word.expect_said();
    t.take_back(t.child);
    expect(t.stopped_here() == Stop::cancelled, "its host as well");
  });
  p.thread("stopper", [&] { t.word.stop(t.scope); });
}
void guest_waits(Program& p) { guest(p, true); }
void guest_polls(Program& p) { guest(p, false); }

// A guest has been a host itself, and goes on when its own guest has ended.
struct Tower : Tree {
  Scope inner{Kind::nursery, &child.fiber};
  Runner top{&inner};
};

void guest_after_guest(Program& p, bool top_looks, bool waits) {
  auto& t = p.make<Tower>("tower");
  t.lend(t.child);
  (void)t.child.stopped_here();
  if (waits) (void)t.fiber.word.host();  // it waited before
  p.thread("worker", [&, top_looks, waits] {
    t.child.lend(t.top);
    if (top_looks) (void)t.top.stopped_here();
    t.child.take_back(t.top);
    if (waits) {
      expect(t.child.wait() == Who::cancelled, "it was stopped");
    } else {
      expect(t.child.poll() == Stop::cancelled, "it was stopped");
    }
  });
  p.thread("stopper", [&] { t.word.stop(t.scope); });
}
void goes_on_and_waits(Program& p) { guest_after_guest(p, true, true); }
void goes_on_and_polls(Program& p) { guest_after_guest(p, false, false); }

}  // namespace

std::vector<Scenario> scope_guests() {
  const Options fewer{.spurious_failures = 0};
  return {{"guest waits", guest_waits, fewer},
          {"guest polls", guest_polls},
          {"guest goes on and waits", goes_on_and_waits, fewer},
          {"guest goes on and polls", goes_on_and_polls}};
}

}  // namespace weft::model
