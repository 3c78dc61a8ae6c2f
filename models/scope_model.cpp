// scope_model.cpp: stops against those who look, wait, come and go.
//
// Each fiber is a thread of the model, which waits as wait/wait.hpp does.
// Nobody but the stop ends its wait: one that is missed is a deadlock.
#include "scope_scene.hpp"

namespace weft::model {

namespace {

using fiber::Timeout;

// (a) P2. Told for nothing, it looks while its scope is stopped.
void stop_or_wait(Program& p) {
  auto& f = p.make<Covered>("fiber");
  p.thread("fiber", [&] {
    expect(f.wait() == Who::cancelled, "it was stopped");
    f.word.expect_said();
  });
  p.thread("stopper", [&] { f.word.stop(f.scope); });
}

void told_for_nothing(Program& p) {
  auto& f = p.make<Covered>("fiber");
  p.thread("fiber", [&] {
    expect(f.wait() == Who::cancelled, "it was stopped");
    f.word.expect_said();
    expect(f.fiber.word.must_look(), "the next cancel point says so as well");
  });
  p.thread("stopper", [&] { f.word.stop(f.scope); });
  p.thread("other", [&] {
    if (f.fiber.word.nudge() == fiber::Unparked::owns)
      Runner::enqueue(&f.fiber);
  });
}

void stop_or_poll(Program& p) {
  auto& f = p.make<Covered>("fiber");
  (void)f.fiber.word.nudge();
  p.thread("fiber", [&] {
    expect(f.poll() == Stop::cancelled, "it was stopped");
    f.word.expect_said();
  });
  p.thread("stopper", [&] { f.word.stop(f.scope); });
}

// P1: the first cause stays, and who is cancelled itself looks the same way.
void two_causes(Program& p) {
  auto& f = p.make<Covered>("fiber");
  p.thread("fiber", [&] { expect(f.wait() == Who::cancelled, "stopped"); });
  p.thread("stopper", [&] { f.word.stop(f.scope, Cause::deadline); });
  p.thread("canceller", [&] { Runner::enqueue(cancel(f.fiber)); });
  p.finally([&] {
    const bool own = f.scope.cause() == Cause::deadline;
    expect(own || f.scope.cause() == Cause::outer_cancel, "P1: one of them");
    expect(stop_of(f.fiber) == (own ? Stop::timed_out : Stop::cancelled),
           "the innermost says why");
  });
}

// No stop counts when nothing is inside any more.
void stop_or_over(Program& p) {
  auto& f = p.make<Covered>("fiber");
  p.thread("fiber", [&] {
    f.scope.be_over();
    expect(f.stopped_here() == Stop::none, "P1: it is over");
  });
  p.thread("stopper", [&] { f.word.stop(f.scope); });
}

// [leave]: who sees that its scope was stopped may go before the stopper is
// through with it.
void leave_or_told(Program& p) {
  auto& f = p.make<Runner>("fiber");
  auto& open = p.make<Atomic<Scope*>>("open", nullptr);
  p.thread("fiber", [&] {
    auto& scope = create<Scope>("scope", Kind::plain, &f.fiber);
    open.store(&scope, release);
    while (scope.stopped() == Stop::none) pause();
    scope.be_over();
    scope.close();
    destroy(scope);
  });
  p.thread("stopper", [&] {
    Scope* scope = nullptr;
    while ((scope = open.load(acquire)) == nullptr) pause();
    Runner::enqueue(scope->stop(Cause::cancel));
  });
}

// A mistake: who looks reads first and clears its bit then.
void look_too_early(Program& p) {
  auto& f = p.make<Covered>("fiber");
  (void)f.fiber.word.nudge();
  p.thread("fiber", [&] {
    while (stop_of(f.fiber) == Stop::none) {
      f.fiber.word.begin_look();
      while (!f.fiber.word.must_look()) pause();
    }
  });
  p.thread("stopper", [&] { f.word.stop(f.scope); });
}

// A mistake: who stops tells first and writes its state then.
void tell_too_early(Program& p) {
  auto& scope = p.make<Scope>("scope", Kind::plain, nullptr);
  auto& f = p.make<Runner>("fiber");
  f.fiber.scope = &scope;  // it does not know whom to tell
  p.thread("fiber", [&] { expect(f.wait() == Who::cancelled, "stopped"); });
  p.thread("stopper", [&] {
    if (f.fiber.word.nudge() == fiber::Unparked::owns) {
      Runner::enqueue(&f.fiber);
    }
    (void)scope.stop(Cause::cancel);
  });
}

// (b) A nursery without an owner, and its children.
struct Home {
  Scope nursery{Kind::nursery, nullptr};
  std::array<Runner, 2> children{Runner(&nursery), Runner(&nursery)};
  Word word;
};

// Into the list while it is stopped.
void first_wait(Program& p) {
  auto& home = p.make<Home>("home");
  p.thread("child", [&] {
    expect(home.children[0].wait() == Who::cancelled, "it was stopped");
    home.word.expect_said();
    home.children[0].end();
  });
  p.thread("stopper", [&] { home.word.stop(home.nursery); });
}

void two_first_waits(Program& p) {
  auto& home = p.make<Home>("home");
  for (const std::size_t i : {0u, 1u}) {
    p.thread("child" + std::to_string(i), [&, i] {
      expect(home.children[i].wait() == Who::cancelled, "it was stopped");
      home.children[i].end();
    });
  }
  p.thread("stopper", [&] { home.word.stop(home.nursery); });
}

// One child is in the list and waits; the other one looks once, and ends while
// it is told. Who is told keeps its place until that is over.
void ends_while_told(Program& p) {
  auto& home = p.make<Home>("home");
  (void)home.children[0].stopped_here();
  (void)home.children[1].stopped_here();
  p.thread("waits", [&] {
    expect(home.children[0].wait() == Who::cancelled, "it was stopped");
    home.children[0].end();
  });
  p.thread("ends", [&] { home.children[1].end(); });
  p.thread("stopper", [&] { home.word.stop(home.nursery); });
}

// Down the tree: who is stopped from outside tells its own nursery.
void down_the_tree(Program& p) {
  auto& t = p.make<Tree>("tree");
  (void)t.child.stopped_here();
  p.thread("owner", [&] { expect(t.wait() == Who::cancelled, "stopped"); });
  p.thread("child", [&] {
    expect(t.child.wait() == Who::cancelled, "it was stopped");
    t.word.expect_said();
    t.child.end();
  });
  p.thread("stopper", [&] { t.word.stop(t.scope, Cause::deadline); });
  p.finally([&] {
    expect(t.nursery.cause() == Cause::outer_deadline, "told by its owner");
  });
}

// Past an owner that has not looked: the child asks, and both tell the nursery
// between them. P6.
void past_the_owner(Program& p) {
  auto& t = p.make<Tree>("tree");
  (void)t.child.stopped_here();
  p.thread("owner", [&] { (void)t.stopped_here(); });
  p.thread("child", [&] {
    while (stop_of(t.child.fiber) == Stop::none) pause();
    t.word.expect_said();
    t.child.fiber.word.look_again();  // as if it had been told
    expect(t.child.stopped_here() == Stop::cancelled, "it was stopped");
    expect(t.nursery.cause() == Cause::outer_cancel, "and says so");
    t.child.end();
  });
  p.thread("stopper", [&] { t.word.stop(t.scope); });
}

// A nursery that is opened inside of another by name, while that is stopped:
// it hears of it, or knows.
struct Opened {
  explicit Opened(Scope& around) : scope(Kind::nursery, nullptr, &around) {}
  Scope scope;
  fiber::Inside place{scope};
};
void open_inside(Program& p) {
  auto& home = p.make<Home>("home");
  auto& inner = p.make<Opened>("inner", home.nursery);
  auto& child = p.make<Runner>("child", &inner.scope);
  p.thread("opens", [&] {
    if (home.nursery.add(inner.place)) return;
    Runner::enqueue(inner.scope.stop(Cause::outer_cancel));
  });
  p.thread("child", [&] {
    expect(child.wait() == Who::cancelled, "it was stopped");
    home.word.expect_said();
    child.end();
  });
  p.thread("stopper", [&] { home.word.stop(home.nursery); });
}

// It goes while it is told.
void end_inside(Program& p) {
  auto& home = p.make<Home>("home");
  p.thread("owner", [&] {
    auto& inner = create<Opened>("inner", home.nursery);
    (void)home.nursery.add(inner.place);
    home.nursery.remove_inside(inner.place);
    inner.scope.close();
    destroy(inner);
  });
  p.thread("stopper", [&] { home.word.stop(home.nursery); });
}

// (c) The scope ends while its deadline comes.
struct Deadlined {
  explicit Deadlined(Fiber& covered) : scope(Kind::plain, &covered) {}
  Scope scope;
  Timeout timeout{scope};
};
struct Timed : Runner {
  time::TimerHeap timers;
  Timed() { (void)timers.grow(); }
  // Worker::poll_timers().
  void poll_timers() {
    if (timers.next_deadline() > 1) return;
    Timeout* scopes = nullptr;
    timers.lock.lock();
    while (time::TimerNode* node = timers.pop_expired(1)) {
      expect(node->is_scope(), "a scope's");
      Timeout::of(*node).begin_firing(scopes);
    }
    timers.lock.unlock();
    while (Timeout* const timeout = scopes) {
      scopes = timeout->next();
      enqueue(timeout->scope().stop(Cause::deadline));
      timeout->fired();
    }
  }
};

void timeout_or_end(Program& p) {
  auto& f = p.make<Timed>("fiber");
  p.thread("fiber", [&] {
    auto& inside = create<Deadlined>("inside", f.fiber);
    (void)f.timers.arm(inside.timeout.node(), 1);
    inside.timeout.disarm();
    inside.scope.be_over();
    inside.scope.close();
    destroy(inside);
    (void)f.stopped_here();
  });
  p.thread("poller", [&] { f.poll_timers(); });
  p.finally([&] { expect(f.timers.size() == 0, "its timer is in no heap"); });
}

// It comes while the fiber waits.
void timeout_or_wait(Program& p) {
  auto& f = p.make<Timed>("fiber");
  auto& inside = p.make<Deadlined>("inside", f.fiber);
  (void)f.timers.arm(inside.timeout.node(), 1);
  p.thread("fiber", [&] {
    expect(f.wait() == Who::cancelled, "it was stopped");
    expect(inside.scope.stopped() == Stop::timed_out, "by its deadline");
    inside.timeout.disarm();
    inside.scope.close();
  });
  p.thread("poller", [&] { f.poll_timers(); });
}

constexpr const char* kHead = "fiber/scope.hpp";
constexpr const char* kFile = "fiber/scope.cpp";
constexpr const char* kWord = "fiber/control_word.hpp";
constexpr const char* kFiber = "fiber/fiber.cpp";
constexpr const char* kFrame = "fiber/fiber.hpp";
constexpr const char* kLock = "base/spin_lock.hpp";

std::vector<Mutation> mutations() {
  constexpr const char* kState = "state_.compare_exchange_strong";
  return {
      {"begin_stop acquire", kFile, "::begin_stop(", kState, acquire},
      {"begin_stop not written", kFile, "::begin_stop(", kState, relaxed,
       Effect::skip},
      {"stopped relaxed", kHead, "::stopped(", "state_.load(acquire)"},
      {"nudge acquire", kWord, "::interrupt(", "compare_exchange_weak",
       acquire},
      {"nudge not written", kWord, "::interrupt(", "compare_exchange_weak",
       relaxed, Effect::skip},
      {"begin_look release", kWord, "::begin_look(", "fetch_and", release},
      {"begin_look not written", kWord, "::begin_look(", "fetch_and", relaxed,
       Effect::skip},
      {"look_again acquire", kWord, "::look_again(", "fetch_or", acquire},
      {"look_again release", kWord, "::look_again(", "fetch_or", release},
      {"look_again not written", kWord, "::look_again(", "fetch_or", relaxed,
       Effect::skip},
      {"lock relaxed", kLock, "::try_lock(", "held_.exchange"},
      {"unlock relaxed", kLock, "::unlock(", "held_.store"},
      {"fired relaxed", kHead, "::fired(", "firing_.store"},
      {"fired not written", kHead, "::fired(", "firing_.store", relaxed,
       Effect::skip},
      {"begin_firing not written", kHead, "::begin_firing(", "firing_.store",
       relaxed, Effect::skip},
      {"disarm: firing relaxed", kFile, "::disarm(", "firing_.load"},
      {"told relaxed", kFile, "::stop(", "waits.store"},
      {"told not written", kFile, "::stop(", "waits.store", relaxed,
       Effect::skip},
      {"tell_all: waits not written", kFile, "::tell_all(", "waits.store",
       relaxed, Effect::skip},
      {"remove_inside: waits relaxed", kFile, "::remove_inside(", "waits.load"},
      {"be_over not written", kHead, "::be_over(", "state_.fetch_or", relaxed,
       Effect::skip},
      {"be_over: first not written", kHead, "::be_over(", "state_.store",
       relaxed, Effect::skip},
      {"tell_all: telling relaxed", kFile, "::tell_all(", "state_.fetch_and"},
      {"close: telling relaxed", kFrame, "::close(", "state_.load"},
      {"wait_for_stopper relaxed", kFile, "::wait_for_stopper(", "state_.load"},
  };
}

}  // namespace

Protocol scopes() {
  const Options fewer{.spurious_failures = 0};
  const Options least{
      .preemptions = 1, .spurious_failures = 0, .stale_reads = 1};
  std::vector<Scenario> scenarios = {
      {"stop or wait", stop_or_wait},
      {"told for nothing", told_for_nothing, fewer},
      {"stop or poll", stop_or_poll},
      {"stop or over", stop_or_over},
      {"leave or told", leave_or_told},
      {"two causes", two_causes, fewer},
      {"look too early", look_too_early, {}, Verdict::deadlock},
      {"tell too early", tell_too_early, {}, Verdict::deadlock},
      {"first wait", first_wait},
      {"ends while told", ends_while_told, fewer},
      {"down the tree", down_the_tree, fewer},
      {"past the owner", past_the_owner, fewer},
      {"open inside", open_inside, fewer},
      {"end inside", end_inside},
      {"timeout or end", timeout_or_end},
      {"timeout or wait", timeout_or_wait},
      {"two first waits", two_first_waits, least}};
  for (auto& guest : scope_guests()) scenarios.push_back(std::move(guest));
  return {.name = "scopes",
          .files = {kHead, kFile, kFiber, kFrame},
          .scenarios = std::move(scenarios),
          .mutations = mutations()};
}

}  // namespace weft::model
