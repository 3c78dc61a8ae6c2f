// lifetimes.cpp: bugs of what is used too early, too late, twice or for ever.

#include <memory>
#include <optional>

#include "corpus/corpus.hpp"
#include "corpus/primitives.hpp"
#include <weft/weft.hpp>

namespace weft::corpus {

namespace {

using testing::Atomic;
using testing::point;
using namespace std::chrono_literals;

template <bool Fixed>
void use_before_init(Simulation& sim) {
  int port = 0;
  const auto configure = [&] {
    point();  // reads a file
    port = 80;
  };
  Nursery nursery;
  if (Fixed) configure();
  nursery.spawn([&] { sim.check(port == 80, "it is configured"); });
  if (!Fixed) configure();
  (void)nursery.join();
}

template <bool Fixed>
void publish_before_construct(Simulation& sim) {
  struct Config {
    Atomic<int> port{0};
  } config;
  Atomic<const Config*> shared{nullptr};
  Nursery nursery;
  nursery.spawn([&] {
    if (Fixed) config.port.store(80);
    shared.store(&config);
    if (!Fixed) config.port.store(80);
  });
  nursery.spawn([&] {
    const auto* found = shared.load();
    sim.check(found == nullptr || found->port.load() == 80, "it is complete");
  });
  (void)nursery.join();
}

template <bool Fixed>
void double_checked_init(Simulation& sim) {
  Mutex mutex;
  Atomic<bool> loaded{false};
  int loads = 0;
  const auto load = [&] {
    if (loaded.load()) return;
    Hold hold(mutex);
    if (Fixed && loaded.load()) return;
    ++loads;
    loaded.store(true);
  };
  Nursery nursery;
  nursery.spawn(load);
  nursery.spawn(load);
  (void)nursery.join();
  sim.check(loads == 1, "it is loaded once");
}

// Sleeps for as long as it usually takes.
template <bool Fixed>
void sleep_as_signal(Simulation& sim) {
  Event ready;
  bool is_ready = false;
  Nursery nursery;
  nursery.spawn([&] {
    (void)this_fiber::sleep_for(1ms);
    is_ready = true;
    ready.set();
  });
  nursery.spawn([&] {
    (void)(Fixed ? ready.wait() : this_fiber::sleep_for(2ms));
    sim.check(is_ready, "it is ready by now");
  });
  (void)nursery.join();
}

template <bool Fixed>
void double_join(Simulation& sim) {
  Mutex mutex;
  std::optional<int> kept;
  Task<int> task;
  Nursery nursery;
  task = nursery.spawn([] { return 7; });
  const auto use = [&] {
    Hold hold(mutex);
    if (!Fixed || !kept) {
      const auto answer = task.join();
      sim.check(answer.has_value(), "the task has an answer");
      kept = *answer;
    }
    sim.check(*kept == 7, "it is the right one");
  };
  nursery.spawn(use);
  nursery.spawn(use);
  (void)nursery.join();
}

template <bool Fixed>
void leaked_fiber(Simulation& sim) {
  static auto* const forgotten = new std::vector<Nursery*>();
  auto background = std::make_unique<Nursery>(sim.runtime());
  background->spawn([] { (void)this_fiber::sleep_for(1ms); });
  const auto patience = Fixed ? Deadline::never() : Deadline::after(1ms);
  // If it still runs, its nursery cannot go: nobody looks after both.
  if (!background->join(patience)) forgotten->push_back(background.release());
}

template <bool Fixed>
void split_release(Simulation& sim) {
  Atomic<int> owners{2};
  Atomic<int> destroyed{0};
  const auto release = [&] {
    if (Fixed) {
      if (owners.fetch_sub(1) == 1) destroyed.fetch_add(1);
    } else {
      owners.fetch_sub(1);
      if (owners.load() == 0) destroyed.fetch_add(1);
    }
  };
  Nursery nursery;
  nursery.spawn(release);
  nursery.spawn(release);
  (void)nursery.join();
  sim.check(destroyed.load() == 1, "it is destroyed once");
}

// One drops the last reference while another finds the object in a table.
template <bool Fixed>
void resurrection(Simulation& sim) {
  Atomic<int> owners{1};
  Atomic<bool> listed{true};
  Atomic<bool> destroyed{false};
  const auto release = [&] {
    if (owners.fetch_sub(1) != 1) return;
    listed.store(false);
    destroyed.store(true);
  };
  const auto find = [&] {
    if (!listed.load()) return false;
    int count = Fixed ? owners.load() : owners.fetch_add(1) + 1;
    while (Fixed && count != 0 &&
           !owners.compare_exchange_weak(count, count + 1)) {
    }
    return count != 0;
  };
  Nursery nursery;
  nursery.spawn(release);
  nursery.spawn([&] {
    if (!find()) return;
    sim.check(!destroyed.load(), "an owner's object is there");
    release();
  });
  (void)nursery.join();
}

template <bool Fixed>
void refused_spawn_keeps_permit(Simulation&) {
  Semaphore permits(1);
  Nursery jobs;
  for (int i = 0; i < 3; ++i) {
    (void)permits.acquire();
    const auto job = jobs.try_spawn([&] { permits.release(); });
    if (Fixed && !job) permits.release();
  }
  (void)jobs.join();
}

// What a fiber was to announce, somebody else must if it never runs.
template <bool Fixed>
void unstarted_fiber(Simulation&) {
  Event ready;
  Nursery users;
  users.spawn([&] { (void)ready.wait(); });
  Nursery starters;
  starters.spawn([&] { ready.set(); });
  const Status started = starters.join();
  if (Fixed && !started) ready.set();
  (void)users.join();
}

}  // namespace

std::vector<Bug> lifetime_bugs() {
  return {
      {"use_before_init", "A fiber starts before what it uses is set.",
       Verdict::assertion, use_before_init<false>, use_before_init<true>},
      {"publish_before_construct",
       "A pointer is published before the object is complete.",
       Verdict::assertion, publish_before_construct<false>,
       publish_before_construct<true>},
      {"double_checked_init",
       "Nobody looks again, under the lock, whether it is loaded.",
       Verdict::assertion, double_checked_init<false>,
       double_checked_init<true>},
      {"sleep_as_signal",
       "A fiber sleeps as long as the other usually takes.",
       Verdict::assertion,
       sleep_as_signal<false>,
       sleep_as_signal<true>,
       {.faults = {Fault::time_passes}}},
      {"double_join", "Two fibers join one task; one gets the answer.",
       Verdict::assertion, double_join<false>, double_join<true>},
      {"leaked_fiber",
       "A shutdown gives up at its deadline, and leaves a fiber behind.",
       Verdict::leaked_fiber, leaked_fiber<false>, leaked_fiber<true>},
      {"split_release",
       "Two owners count down, then both see that nobody is left.",
       Verdict::assertion, split_release<false>, split_release<true>},
      {"resurrection", "A reference is taken to what has lost its last owner.",
       Verdict::assertion, resurrection<false>, resurrection<true>},
      {"refused_spawn_keeps_permit",
       "A permit taken for a fiber is kept when the fiber cannot start.",
       Verdict::deadlock,
       refused_spawn_keeps_permit<false>,
       refused_spawn_keeps_permit<true>,
       {.faults = {Fault::spawn_refused}}},
      {"unstarted_fiber",
       "Somebody waits for a fiber that got no stack to run on.",
       Verdict::deadlock,
       unstarted_fiber<false>,
       unstarted_fiber<true>,
       {.faults = {Fault::allocation_failure}}},
  };
}

}  // namespace weft::corpus
