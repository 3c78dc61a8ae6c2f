// frame_model.cpp: a frame's next life, and those who still know its last one.
//
// A fiber ends on worker 1; whoever the join word names gives the frame back to
// the pool and somebody takes it for another fiber. A third thread has a stale
// handle: it may wake the new fiber for nothing, and no more than that.
#include "fiber/frame_pool.hpp"
#include "protocol.hpp"
#include "sched/pinned_list.hpp"

namespace weft::model {

namespace {

using fiber::Committed;
using fiber::Fiber;
using fiber::FramePool;
using fiber::JoinWord;
using fiber::Who;

constexpr std::uint64_t kFirst = 1;  // id and ticket of the first life
constexpr std::uint64_t kSecond = 2;

Fiber* take(FramePool& pool) {
  std::size_t got = 0;
  return pool.take(1, got);
}

// Two take, two give; each frame has one owner, who uses its link.
void pool(Program& p) {
  auto& pool = p.make<FramePool>("pool", nullptr);
  auto& taken = p.make<std::array<Fiber*, 2>>("taken");
  auto& rest = p.make<Fiber*>("rest", take(pool));
  pool.give(take(pool));
  for (const std::size_t i : {0u, 1u}) {
    p.thread("taker" + std::to_string(i), [&, i] {
      taken[i] = take(pool);
      taken[i]->next = nullptr;
    });
  }
  p.thread("giver", [&] {
    rest->next = nullptr;
    pool.give(rest);
  });
  p.finally([&] {
    expect(taken[0] != taken[1], "no frame has two owners");
    std::size_t frames = 0;
    pool.for_each([&](Fiber&) { ++frames; });
    Fiber* const last = take(pool);
    const bool was_given = taken[0] == rest || taken[1] == rest;
    expect(was_given || last == rest, "what was given comes back");
    expect(frames == (was_given ? 2 : frames), "free ones before fresh ones");
  });
}

// The list of those that only one worker may run.
void pinned(Program& p) {
  auto& list = p.make<sched::PinnedList>("list");
  auto& fibers = p.make<std::array<Fiber, 3>>("fibers");
  auto& taken = p.make<std::array<int, 3>>("taken");
  const auto take_one = [&] {
    progress();
    Fiber* const fiber = list.take();
    if (fiber == nullptr) return;
    fiber->next = nullptr;
    ++taken[static_cast<std::size_t>(fiber - fibers.data())];
  };
  list.push(fibers[0]);
  for (const std::size_t i : {1u, 2u}) {
    p.thread("pusher" + std::to_string(i), [&, i] { list.push(fibers[i]); });
  }
  p.thread("owner", [take_one] {
    take_one();
    take_one();
  });
  p.finally([&, take_one] {
    for (int i = 0; i < 3; ++i) take_one();
    for (const int times : taken) expect(times == 1, "each is taken once");
    expect(list.is_empty(), "nothing is left");
  });
}

struct Scene {
  // The first life has waited once and runs on worker 1.
  explicit Scene(Program& p)
      : pool(p.make<FramePool>("pool", nullptr)),
        frame(*take(pool)),
        result(p.make<Plain<int>>("result", 0)),
        stack(p.make<Plain<int>>("stack", 0)),
        woken(p.make<Atomic<bool>>("woken", false)),
        node(p.make<fiber::WaitNode>("node")) {
    prepare(frame, kFirst);
    (void)frame.word.start(1);
    (void)frame.word.begin_wait(kFirst, false);
    (void)frame.word.withdraw();
    frame.word.end_wait();
  }
  // Scheduler::prepare_frame() and launch().
  static void prepare(Fiber& fiber, std::uint64_t id) {
    fiber.word.reserve();
    fiber.join.reset();
    fiber.id.store(id, relaxed);
    fiber.word.publish();
  }
  // Scheduler::reclaim().
  void reclaim() const {
    frame.word.reclaim();
    frame.id.store(0, relaxed);
    frame.next = nullptr;
    pool.give(&frame);
  }
  // Worker::finish(), once the body has returned.
  void finish() const {
    result = 7;
    stack = 1;
    frame.word.done(false);
    const auto owed = frame.join.finish();
    if (owed.joiner != nullptr) woken.store(true, release);
    if (owed.reclaim) reclaim();
  }
  // The holder: waits for the end and takes the result.
  void join() const {
    if (frame.join.enter(node) == JoinWord::Entered::waiting) {
      while (!woken.load(acquire)) pause();
    }
    expect(result == 7, "the result came");
    result = 0;
    stack = 0;  // the next fiber runs on it
    reclaim();
  }
  // Any thread that wants to start a fiber.
  Fiber& next_life() const {
    Fiber& fiber = *take(pool);
    prepare(fiber, kSecond);
    expect(fiber.word.start(2) == fiber::Started::run, "nobody cancelled it");
    expect(!fiber.join.is_done(), "it has not ended");
    return fiber;
  }

  FramePool& pool;
  Fiber& frame;
  Plain<int>& result;
  Plain<int>& stack;
  Atomic<bool>& woken;
  fiber::WaitNode& node;
};

// The second life waits while `stale` reaches for the first one. Only its own
// waker ends that wait, and one party makes it runnable.
void next_life(Program& p, const std::function<bool(Fiber&)>& stale) {
  const Scene s(p);
  auto& owners = p.make<Atomic<int>>("owners", 0);
  auto& parked = p.make<bool>("parked", false);
  p.thread("worker", [=] { s.finish(); });
  p.thread("joiner", [=, &owners, &parked] {
    s.join();
    Fiber& next = s.next_life();
    expect(&next == &s.frame, "the frame is used again");
    while (next.word.begin_wait(kSecond, false) == fiber::Begun::cancelled) {
      next.word.begin_look();  // told for nothing: its scopes are not stopped
    }
    while (next.word.commit() == Committed::resume_now) {
      expect(next.word.rewait() == Who::open, "woken for nothing at most");
    }
    parked = true;
    if (next.word.claim(kSecond, fiber::source(0)) ==
        fiber::Claimed::won_and_owns) {
      owners.fetch_add(1, relaxed);
    }
  });
  p.thread("stale", [=, &owners] {
    if (stale(s.frame)) owners.fetch_add(1, relaxed);
  });
  p.finally([=, &owners, &parked] {
    expect(parked && owners.load(relaxed) == 1, "C1: one owner");
    s.frame.word.resume(1);
    expect(s.frame.word.rewait() == fiber::source(0), "its own waker ended it");
  });
}

void stale_claim(Program& p) {
  next_life(p, [](Fiber& frame) {
    const auto claimed = frame.word.claim(kFirst, fiber::source(1));
    expect(claimed == fiber::Claimed::lost, "that wait is over");
    return false;
  });
}
// waiting::unpark().
void stale_unpark(Program& p) {
  next_life(p, [](Fiber& frame) {
    if (frame.id.load(relaxed) != kFirst) return false;
    return frame.word.unpark() == fiber::Unparked::owns;
  });
}

// Scope::stop(), of a guest that has ended: P3.
void stale_tell(Program& p) {
  next_life(p, [](Fiber& frame) {
    return frame.word.nudge() == fiber::Unparked::owns;
  });
}

// A handle is dropped while the fiber ends, and the frame has another life
// elsewhere: neither of the two touches it any more.
void dropped(Program& p) {
  const Scene s(p);
  p.thread("worker", [=] { s.finish(); });
  auto& used = p.make<Plain<int>>("used", 0);
  p.thread("holder", [=, &used] {
    used = 1;
    if (s.frame.join.drop()) s.reclaim();
  });
  p.thread("spawner", [=, &used] {
    Fiber& next = s.next_life();
    if (&next == &s.frame) used = 2;
    next.next = nullptr;
    next.word.done(false);
    expect(!next.join.finish().reclaim, "its handle is held");
  });
  p.finally([=] {
    const bool free = s.frame.word.state_now() == fiber::State::free;
    expect(free || s.frame.id.load(relaxed) == kSecond, "J1: reclaimed once");
  });
}

// A sweep cancels whatever it finds while the fiber ends and another begins.
void sweep(Program& p) {
  const Scene s(p);
  p.thread("worker", [=] { s.finish(); });
  p.thread("joiner", [=] {
    s.join();
    Fiber& next = *take(s.pool);
    Scene::prepare(next, kSecond);
    (void)next.word.start(2);
    next.word.done(false);
    s.result = next.join.finish().reclaim ? 1 : 2;
  });
  p.thread("owner", [=] {
    s.pool.for_each([](Fiber& fiber) {
      expect(fiber.word.cancel() == fiber::Unparked::nothing, "none waits");
    });
  });
  p.finally([=] {
    expect(s.result == 2 && s.frame.word.is_done(), "it ended once more");
    s.reclaim();
    s.frame.word.reserve();
    s.frame.word.publish();
    expect(s.frame.word.start(1) == fiber::Started::run,
           "an old cancel is not for the next life");
  });
}

// B-03, a mistake: the worker is still on the stack when it says that the fiber
// has ended, so the joiner uses it, too.
void stack_in_use(Program& p) {
  const Scene s(p);
  p.thread("worker", [=] {
    s.finish();
    s.stack = 2;
  });
  p.thread("joiner", [=] { s.join(); });
}

// B-17, a mistake: who takes the frame does not begin a new ticket, so a claim
// of the last life is one of this life.
void ticket_kept(Program& p) {
  const Scene s(p);
  p.thread("worker", [=] { s.finish(); });
  p.thread("joiner", [=] {
    s.join();
    Fiber& next = s.next_life();
    (void)next.word.begin_wait(kFirst, false);
    expect(next.word.withdraw() == Who::withdrawn, "nobody ended the wait");
  });
  p.thread("stale",
           [=] { (void)s.frame.word.claim(kFirst, fiber::source(1)); });
}

constexpr const char* kPinned = "sched/pinned_list.hpp";
constexpr const char* kWord = "fiber/control_word.hpp";
constexpr const char* kJoin = "fiber/join_word.hpp";
constexpr const char* kLock = "base/spin_lock.hpp";

std::vector<Mutation> mutations() {
  return {
      {"lock relaxed", kLock, "::try_lock(", "held_.exchange"},
      {"lock not written", kLock, "::try_lock(", "held_.exchange", relaxed,
       Effect::skip},
      {"unlock relaxed", kLock, "::unlock(", "held_.store"},
      {"unlock skipped", kLock, "::unlock(", "held_.store", relaxed,
       Effect::skip},
      {"pinned: push skipped", kPinned, "::push(", "first_.store", relaxed,
       Effect::skip},
      {"pinned: take skipped", kPinned, "::take(", "first_.store", relaxed,
       Effect::skip},
      {"finish relaxed", kJoin, "::finish(", "word_.exchange"},
      {"enter: failure relaxed", kJoin, "::enter(", "compare_exchange_strong",
       relaxed, Effect::weaken_failure},
      {"drop relaxed", kJoin, "::drop(", "compare_exchange_strong"},
      {"drop not written", kJoin, "::drop(", "compare_exchange_strong", relaxed,
       Effect::skip},
      {"done not written", kWord, "::done(", "word_.store", relaxed,
       Effect::skip},
      {"reclaim not written", kWord, "::reclaim(", "word_.store", relaxed,
       Effect::skip},
      {"reset not written", kJoin, "::reset(", "word_.store", relaxed,
       Effect::skip},
  };
}

}  // namespace

Protocol frames() {
  return {
      .name = "frames",
      .files = {"fiber/frame_pool.cpp", kLock},
      .scenarios = {{"pool", pool},
                    {"pinned list", pinned},
                    {"stale claim", stale_claim},
                    {"stale unpark", stale_unpark},
                    {"stale tell", stale_tell},
                    {"dropped", dropped},
                    {"sweep", sweep},
                    {"stack in use (B-03)", stack_in_use, {}, Verdict::race},
                    {"ticket kept (B-17)", ticket_kept, {}, Verdict::failed}},
      .mutations = mutations()};
}

}  // namespace weft::model
