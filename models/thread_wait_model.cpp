// thread_wait_model.cpp: a plain thread parks, and joins fibers and families.
//
// Everything on the thread's side is the real code down to the futex; the
// worker's side is what sched/finish.cpp does at the end of a fiber.
#include "fiber/family.hpp"
#include "plain_thread.hpp"
#include "protocol.hpp"
#include "wait/park.hpp"
#include "wait/wait.hpp"

namespace weft::model {

namespace {

using fiber::Family;
using fiber::Fiber;
using fiber::WaitNode;

struct Raw {
  Atomic<std::uint32_t> flag{0};
  Plain<int> said = 0;

  void wait() {
    while (flag.load(acquire) == 0) {
      progress();
      (void)waiting::park_if(flag, 0);
    }
    expect(said == 7, "what the waker wrote came");
  }
  void wake(PlainThread& who) {
    said = 7;
    flag.store(1, release);
    waiting::unpark({&who.proxy, 1});
  }
};

void park(Program& p) {
  auto& thread = p.make<PlainThread>("thread");
  auto& raw = p.make<Raw>("raw");
  p.thread("thread", [&] {
    thread.begin();
    raw.wait();
  });
  p.thread("waker", [&] { raw.wake(thread); });
}

// Two conditions, one after the other: a token of one is no wake of the other.
void park_twice(Program& p) {
  auto& thread = p.make<PlainThread>("thread");
  auto& raws = p.make<std::array<Raw, 2>>("raws");
  p.thread("thread", [&] {
    thread.begin();
    raws[0].wait();
    raws[1].wait();
  });
  p.thread("waker1", [&] { raws[0].wake(thread); });
  p.thread("waker2", [&] { raws[1].wake(thread); });
}

// A cancelled thread parks no more: its next park says so at once.
void park_or_cancel(Program& p) {
  auto& thread = p.make<PlainThread>("thread");
  auto& raw = p.make<Raw>("raw");
  p.thread("thread", [&] {
    thread.begin();
    Status got;
    while (raw.flag.load(acquire) == 0 && got) {
      progress();
      got = waiting::park_if(raw.flag, 0);
    }
    expect(got || got.error() == Errc::cancelled, "one or the other");
  });
  p.thread("waker", [&] { raw.wake(thread); });
  p.thread("canceller", [&] { thread.cancel(); });
}

struct Child {
  Fiber fiber;
  Plain<int> result = 0;
  Plain<int> reclaimed = 0;

  Child() {
    fiber.word.reserve();
    fiber.word.publish();
    (void)fiber.word.start(1);
  }
  static void settle(WaitNode* joiner) {
    if (joiner == nullptr) return;
    Fiber* owned = nullptr;
    (void)joiner->settle(fiber::Reason::data, owned);
    if (owned != nullptr) sched::make_runnable(*owned);
  }
  void finish() {
    result = 7;
    fiber.word.done(false);
    const auto [joiner, reclaim] = fiber.join.finish();
    settle(joiner);
    if (reclaim) reclaimed = reclaimed + 1;
  }
  Status join(Deadline deadline) {
    const auto got = waiting::for_end(fiber, nullptr, deadline);
    if (got) {
      expect(result == 7, "the result came");
      reclaimed = reclaimed + 1;
    }
    return got;
  }
};

void join(Program& p) {
  auto& thread = p.make<PlainThread>("thread");
  auto& child = p.make<Child>("child");
  p.thread("thread", [&] {
    thread.begin();
    expect(child.join(Deadline::never()).has_value(), "it ended");
  });
  p.thread("worker", [&] { child.finish(); });
  p.finally([&] { expect(child.reclaimed == 1, "J1: one party reclaims"); });
}

// The first join runs into its deadline at any time; the second one has its
// node where the first had it (B-35).
void join_again(Program& p) {
  auto& thread = p.make<PlainThread>("thread");
  auto& child = p.make<Child>("child");
  p.thread("thread", [&] {
    thread.begin();
    const auto got = child.join(passed());
    if (got) return;
    expect(got.error() == Errc::timed_out, "one or the other");
    progress();
    expect(child.join(Deadline::never()).has_value(), "it ended");
  });
  p.thread("worker", [&] { child.finish(); });
  p.finally([&] { expect(child.reclaimed == 1, "J1: one party reclaims"); });
}

void join_or_cancel(Program& p) {
  auto& thread = p.make<PlainThread>("thread");
  auto& child = p.make<Child>("child");
  p.thread("thread", [&] {
    thread.begin();
    if (child.join(Deadline::never())) return;
    if (child.fiber.join.drop()) child.reclaimed = child.reclaimed + 1;
  });
  p.thread("worker", [&] { child.finish(); });
  p.thread("canceller", [&] { thread.cancel(); });
  p.finally([&] { expect(child.reclaimed == 1, "J1: one party reclaims"); });
}

// Two children against the join of their nursery by a thread, which gives up at
// any time, and then comes again.
struct Home {
  Family family{nullptr};
  std::array<Plain<int>, 2> results{};
  Plain<int> touched = 0;

  Home() {
    family.enter(nullptr);
    family.enter(nullptr);
  }
  void leave(std::size_t i) {
    results[i] = 7;
    (void)touched.get();
    if (family.leave(1)) Child::settle(family.take_joiner());
  }
  void all_gone() {
    for (auto& result : results) expect(result == 7, "what they did came");
    touched = 1;
  }
};

void join_family(Program& p, bool hasty) {
  auto& thread = p.make<PlainThread>("thread");
  auto& home = p.make<Home>("home");
  p.thread("thread", [&, hasty] {
    thread.begin();
    if (hasty) {
      if (waiting::for_family(home.family, passed())) return home.all_gone();
      progress();
    }
    expect(waiting::for_family(home.family, Deadline::never()).has_value(),
           "ended");
    home.all_gone();
  });
  p.thread("child1", [&] { home.leave(0); });
  p.thread("child2", [&] { home.leave(1); });
}
void family_patient(Program& p) { join_family(p, false); }
void family_hasty(Program& p) { join_family(p, true); }

constexpr const char* kCarrier = "sched/carrier.cpp";
constexpr const char* kNode = "fiber/fiber.hpp";
constexpr const char* kNodeHead = "fiber/wait_node.hpp";

}  // namespace

Protocol thread_wait() {
  return {
      .name = "thread wait",
      .files = {kCarrier, kNode, kNodeHead},
      .scenarios = {{"park", park},
                    {"park or cancel", park_or_cancel},
                    {"join", join},
                    {"join again", join_again},
                    {"join or cancel", join_or_cancel},
                    {"family", family_patient},
                    {"family again", family_hasty},
                    {"park twice", park_twice,
                     Options{.spurious_failures = 0}}},
      .mutations = {{"make_runnable not written", kCarrier, "make_runnable(",
                     "wake.store(1", relaxed, Effect::skip},
                    {"sleep_as_proxy: 1 stays", kCarrier, "sleep_as_proxy(",
                     "wake.store(0", relaxed, Effect::skip},
                    {"claim: gone relaxed", kNode, "::claim(", "gone_.store"},
                    {"conclude: gone not written", kNode, "::conclude(",
                     "gone_.store", relaxed, Effect::skip},
                    {"gone relaxed", kNodeHead, "::gone(", "gone_.load"},
                    {"linked not written", kNodeHead, "::linked(",
                     "gone_.store", relaxed, Effect::skip}}};
}

}  // namespace weft::model
