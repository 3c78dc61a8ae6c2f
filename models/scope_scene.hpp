// scope_scene.hpp: what the models of scopes share: a fiber, which is a thread
// of the model and waits as wait/wait.hpp does.
#pragma once

#include "fiber/fiber.hpp"
#include "protocol.hpp"

namespace weft::model {

using fiber::Begun;
using fiber::Cause;
using fiber::Committed;
using fiber::Fiber;
using fiber::Listing;
using fiber::Scope;
using fiber::Stop;
using fiber::Who;
using Kind = Scope::Kind;

struct Runner {
  Fiber fiber;
  stack::Stack stack{};
  Listing listing;
  Atomic<int> queued{0};  // how often somebody made it runnable
  Plain<int> taken = 0;

  // Runs on its own stack; its base, if it has one, does not list it yet.
  explicit Runner(Scope* base = nullptr) {
    fiber.word.reserve();
    fiber.word.publish(/*look=*/base != nullptr);
    (void)fiber.word.start(1);
    fiber.scope = base;
    fiber.listed = base == nullptr;
    fiber.stack = &stack;
    listing.fiber = &fiber;
    stack.listing = &listing;
    stack.owner.store(&fiber, relaxed);
  }
  static Runner& of(Fiber& fiber) { return reinterpret_cast<Runner&>(fiber); }

  // Whoever owns them. Links are read before the fiber is out of our hands.
  static void enqueue(Fiber* owned) {
    while (owned != nullptr) {
      Runner& runner = of(*owned);
      owned = owned->next;
      runner.queued.fetch_add(1, release);
    }
  }

  // As sched::stopped_here().
  Stop stopped_here() {
    if (!fiber.word.must_look()) return Stop::none;
    Fiber* owned = nullptr;
    const auto why = look(fiber, owned);
    enqueue(owned);
    return why;
  }
  // Until it is told, at cancel points that do not wait.
  Stop poll() {
    for (;;) {
      if (const auto why = stopped_here(); why != Stop::none) return why;
      if (!fiber.word.must_look()) pause();
    }
  }
  // As Wait: begin_checked(), park_fiber(), end(). False: no wait began.
  bool begin() {
    for (;;) {
      const auto begun = fiber.word.begin_wait(++fiber.wait_ticket, false);
      if (begun == Begun::go_on) return true;
      if (stopped_here() != Stop::none) return false;
      progress();
    }
  }
  Who park() {
    for (;;) {
      before_commit();
      if (fiber.word.commit() == Committed::parked) {
        while (queued.load(acquire) == taken) pause();
        taken = taken + 1;
        fiber.word.resume(1);
      }
      auto who = fiber.word.rewait();
      if (who == Who::open && stopped_here() != Stop::none) {
        who = fiber.word.withdraw(Who::cancelled);
      }
      if (who != Who::open) return who;
      progress();
    }
  }
  Who wait() {
    if (!begin()) return Who::cancelled;
    const auto who = park();
    fiber.word.end_wait();
    return who;
  }
  // Worker::arrive_otherwise() of a guest.
  void before_commit() {
    if (fiber.host == nullptr) return;
    for (Fiber* h = fiber.host; h != nullptr && h->word.host();) h = h->host;
    if (stop_of(fiber) != Stop::none) (void)fiber.word.nudge();
  }
  // As at the end of its body.
  void end() {
    if (fiber.listed) fiber.delist();
    listing.next = nullptr;  // the next one on this stack uses it
    fiber.word.done(false);
  }

  // Worker::call_in_place(), before the child's body and after it.
  void lend(Runner& guest) {
    guest.fiber.stack = fiber.stack.get();
    guest.listing.below = static_cast<Listing*>(fiber.stack->listing);
    fiber.stack->listing = &guest.listing;
    fiber.stack->owner.store(&guest.fiber, relaxed);
    guest.fiber.host = &fiber;
  }
  void take_back(Runner& guest) {
    if (guest.fiber.listed) guest.fiber.delist();
    fiber.word.unhost(1);
    fiber.stack->listing = guest.listing.below;
    fiber.take_back_stack();
    guest.fiber.host = nullptr;
    guest.fiber.stack = nullptr;
    guest.fiber.word.done(false);
  }
};

// What somebody did before a stop.
struct Word {
  Plain<int> said = 0;
  void stop(Scope& scope, Cause why = Cause::cancel) {
    said = 7;
    Runner::enqueue(scope.stop(why));
  }
  void expect_said() { expect(said == 7, "[stop]: what was done before came"); }
};

// Somebody in a scope.
struct Covered : Runner {
  Scope scope{Kind::plain, &fiber};
  Word word;
};

// The same, with a nursery inside, and a child of that.
struct Tree : Covered {
  Scope nursery{Kind::nursery, &fiber};
  Runner child{&nursery};
};

// Part of scopes().
std::vector<Scenario> scope_guests();

}  // namespace weft::model
