// lock_free.cpp: bugs of programs that do without locks.

#include <cstdint>

#include "corpus/corpus.hpp"
#include "corpus/primitives.hpp"
#include <weft/weft.hpp>

namespace weft::corpus {

namespace {

using testing::Atomic;

template <bool Fixed>
void lost_update(Simulation& sim) {
  Atomic<int> count{0};
  const auto increment = [&] {
    Fixed ? (void)count.fetch_add(1) : count.store(count.load() + 1);
  };
  Nursery nursery;
  nursery.spawn(increment);
  nursery.spawn(increment);
  (void)nursery.join();
  sim.check(count.load() == 2, "both count");
}

template <bool Fixed>
void over_admission(Simulation& sim) {
  Atomic<int> inside{0};
  const auto enter = [&] {
    int seen = inside.load();
    if (Fixed) {
      while (seen < 1 && !inside.compare_exchange_weak(seen, seen + 1)) {
      }
    }
    if (seen >= 1) return;
    if (!Fixed) inside.fetch_add(1);
    sim.check(inside.load() <= 1, "there is room for one");
    inside.fetch_sub(1);
  };
  Nursery nursery;
  nursery.spawn(enter);
  nursery.spawn(enter);
  (void)nursery.join();
}

template <bool Fixed>
void test_then_set(Simulation& sim) {
  Atomic<bool> taken{false};
  Atomic<int> inside{0};
  const auto work = [&] {
    while (Fixed ? taken.exchange(true) : taken.load()) this_fiber::yield();
    if (!Fixed) taken.store(true);
    sim.check(inside.fetch_add(1) == 0, "one at a time");
    inside.fetch_sub(1);
    taken.store(false);
  };
  Nursery nursery;
  nursery.spawn(work);
  nursery.spawn(work);
  (void)nursery.join();
}

// Nodes by number, 0 is none. A word is a version and the node on top.
template <bool Fixed>
class Stack {
 public:
  static constexpr std::uint32_t kNodes = 3;

  void push(std::uint32_t node) {
    auto top = top_.load();
    do {
      next_[node].store(top % kVersion);
    } while (!top_.compare_exchange_weak(top, after(top) + node));
  }
  std::uint32_t pop() {
    auto top = top_.load();
    for (;;) {
      const auto node = top % kVersion;
      if (node == 0) return 0;
      const auto next = next_[node].load();
      if (top_.compare_exchange_weak(top, after(top) + next)) return node;
    }
  }

 private:
  static constexpr std::uint32_t kVersion = kNodes + 1;
  static std::uint32_t after(std::uint32_t top) {
    return Fixed ? (top / kVersion + 1) * kVersion : 0;
  }

  Atomic<std::uint32_t> top_{0};
  Atomic<std::uint32_t> next_[kNodes + 1];
};

template <bool Fixed>
void aba_stack(Simulation& sim) {
  Stack<Fixed> stack;
  bool mine[Stack<Fixed>::kNodes + 1] = {};
  const auto take = [&] {
    const auto node = stack.pop();
    sim.check(node == 0 || !mine[node], "a node has one owner");
    mine[node] = node != 0;
    return node;
  };
  for (auto node = Stack<Fixed>::kNodes; node != 0; --node) stack.push(node);
  Nursery nursery;
  nursery.spawn([&] { (void)take(); });
  nursery.spawn([&] {
    const auto first = take();
    (void)take();
    mine[first] = false;
    stack.push(first);
  });
  (void)nursery.join();
  while (take() != 0) {
  }
}

template <bool Fixed>
void torn_read(Simulation& sim) {
  Atomic<unsigned> version{0};
  Atomic<int> low{0};
  Atomic<int> high{0};
  Nursery nursery;
  nursery.spawn([&] {
    version.store(1);
    low.store(1);
    high.store(1);
    version.store(2);
  });
  nursery.spawn([&] {
    for (;; this_fiber::yield()) {
      const auto before = version.load();
      if (before % 2 != 0) continue;
      const int seen_low = low.load();
      const int seen_high = high.load();
      if (Fixed && version.load() != before) continue;
      sim.check(seen_low == seen_high, "both are of one version");
      return;
    }
  });
  (void)nursery.join();
}

// A worker says that it sleeps and sleeps; who brings work wakes it if so.
template <bool Fixed>
void sleeper_handshake(Simulation&) {
  Atomic<int> work{0};
  Atomic<bool> sleeps{false};
  Event wake;
  Nursery nursery;
  nursery.spawn([&] {
    if (Fixed) sleeps.store(true);
    if (work.load() != 0) return;
    if (!Fixed) sleeps.store(true);
    (void)wake.wait();
  });
  nursery.spawn([&] {
    work.store(1);
    if (sleeps.load()) wake.set();
  });
  (void)nursery.join();
}

// Work is handed to one fiber that is started when there is none.
template <bool Fixed>
void late_clear(Simulation& sim) {
  Atomic<int> work{0};
  Atomic<int> done{0};
  Atomic<bool> started{false};
  const auto drain = [&] {
    if (Fixed) started.store(false);
    done.fetch_add(work.exchange(0));
    if (!Fixed) started.store(false);
  };
  Nursery drains;
  const auto add = [&] {
    work.fetch_add(1);
    if (!started.exchange(true)) drains.spawn(drain);
  };
  (void)with_nursery([&](Nursery& adders) {
    adders.spawn(add);
    adders.spawn(add);
  });
  (void)drains.join();
  sim.check(done.load() == 2, "all is done");
}

// Each lets the other go first, for ever, unless a turn decides (Peterson).
template <bool Fixed>
void after_you(Simulation&) {
  Atomic<bool> wants[2] = {false, false};
  Atomic<int> turn{0};
  const auto pass = [&](int me) {
    wants[me].store(true);
    turn.store(1 - me);
    while (wants[1 - me].load() && (!Fixed || turn.load() != me)) {
      this_fiber::yield();
    }
    wants[me].store(false);
  };
  Nursery nursery;
  nursery.spawn([&] { pass(0); });
  nursery.spawn([&] { pass(1); });
  (void)nursery.join();
}

}  // namespace

std::vector<Bug> lock_free_bugs() {
  return {
      {"lost_update", "A load and a store instead of one addition.",
       Verdict::assertion, lost_update<false>, lost_update<true>},
      {"over_admission",
       "Two see that there is room for one more, and both enter.",
       Verdict::assertion, over_admission<false>, over_admission<true>},
      {"test_then_set", "A spin lock that looks first and takes afterwards.",
       Verdict::assertion, test_then_set<false>, test_then_set<true>},
      {"aba_stack",
       "The top of a stack is the same node again, with another below it.",
       Verdict::assertion, aba_stack<false>, aba_stack<true>},
      {"torn_read",
       "A reader does not look whether the version changed meanwhile.",
       Verdict::assertion, torn_read<false>, torn_read<true>},
      {"sleeper_handshake",
       "A worker looks for work before it says that it sleeps.",
       Verdict::deadlock, sleeper_handshake<false>, sleeper_handshake<true>},
      {"late_clear",
       "A flag is cleared after the work that it announces was taken.",
       Verdict::assertion, late_clear<false>, late_clear<true>},
      {"after_you",
       "Two polite fibers let each other go first, for ever.",
       Verdict::step_limit,
       after_you<false>,
       after_you<true>,
       {.max_steps = 500}},
  };
}

}  // namespace weft::corpus
