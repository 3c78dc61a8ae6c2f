// library.cpp: bugs made with weft's own locks and signals.

#include <mutex>
#include <shared_mutex>
#include <utility>

#include "corpus/corpus.hpp"
#include <weft/weft.hpp>

namespace weft::corpus {

namespace {

template <bool Fixed>
void reader_upgrades(Simulation& sim) {
  SharedMutex mutex;
  int value = 0;
  const auto raise_to_one = [&] {
    std::shared_lock reads(mutex);
    if (value != 0) return;
    if (Fixed) reads.unlock();
    std::unique_lock writes(mutex);
    if (Fixed && value != 0) return;
    ++value;
  };
  Nursery nursery;
  nursery.spawn(raise_to_one);
  nursery.spawn(raise_to_one);
  (void)nursery.join();
  sim.check(value == 1, "it is raised once");
}

template <bool Fixed>
void reader_reads_again(Simulation&) {
  SharedMutex mutex;
  Nursery nursery;
  nursery.spawn([&] {
    std::shared_lock reads(mutex);
    if (Fixed) reads.unlock();
    const std::shared_lock again(mutex);
  });
  nursery.spawn([&] { const std::unique_lock writes(mutex); });
  (void)nursery.join();
}

template <bool Fixed>
void notify_beside_the_mutex(Simulation&) {
  Mutex mutex;
  ConditionVariable changed;
  testing::Atomic<bool> ready{false};
  Nursery nursery;
  nursery.spawn([&] {
    std::unique_lock hold(mutex);
    (void)changed.wait(hold, [&] { return ready.load(); });
  });
  nursery.spawn([&] {
    std::unique_lock hold(mutex, std::defer_lock);
    if (Fixed) hold.lock();
    ready = true;
    changed.notify_one();
  });
  (void)nursery.join();
}

template <bool Fixed>
void permit_lost_by_an_error(Simulation&) {
  Semaphore machines(1);
  const auto use = [&](bool fails) {
    if (Fixed) {
      const auto machine = machines.permit();
      if (fails) return;
    } else {
      (void)machines.acquire();
      if (fails) return;
      machines.release();
    }
  };
  Nursery nursery;
  nursery.spawn(use, true);
  nursery.spawn(use, false);
  (void)nursery.join();
}

template <bool Fixed>
void token_taken_too_late(Simulation&) {
  Futex changed;
  testing::Atomic<bool> ready{false};
  Nursery nursery;
  nursery.spawn([&] {
    for (;;) {
      const auto next = changed.get() + 1;
      if (ready.load()) return;
      (void)(Fixed ? changed.wait(next) : changed.wait());
    }
  });
  nursery.spawn([&] {
    ready = true;
    changed.post();
  });
  (void)nursery.join();
}

template <bool Fixed>
void event_used_as_a_pulse(Simulation&) {
  Event started;
  Nursery nursery;
  nursery.spawn([&] { (void)started.wait(); });
  nursery.spawn([&] {
    started.set();
    if (!Fixed) started.reset();
  });
  (void)nursery.join();
}

template <bool Fixed>
void party_that_never_comes(Simulation&) {
  Barrier barrier(2);
  Nursery nursery;
  nursery.spawn([&] { (void)barrier.arrive_and_wait(); });
  nursery.spawn([&] {
    if (Fixed) barrier.arrive_and_drop();  // it has failed before it came
  });
  (void)nursery.join();
}

template <bool Fixed>
void added_by_the_child(Simulation& sim) {
  WaitGroup group;
  testing::Atomic<int> done{0};
  Nursery nursery;
  for (int i = 0; i < 2; ++i) {
    if (Fixed) group.add();
    nursery.spawn([&] {
      if (!Fixed) group.add();
      ++done;
      group.done();
    });
  }
  (void)group.wait();
  sim.check(done.load() == 2, "all is done after the wait");
  (void)nursery.join();
}

template <bool Fixed>
void keys_in_two_orders(Simulation&) {
  KeyedMutex<int> accounts(2);
  const auto move = [&](int from, int to) {
    if (Fixed && from > to) std::swap(from, to);
    const auto first = accounts.acquire(from);
    const auto second = accounts.acquire(to);
  };
  Nursery nursery;
  nursery.spawn(move, 1, 2);
  nursery.spawn(move, 2, 1);
  (void)nursery.join();
}

}  // namespace

std::vector<Bug> library_bugs() {
  return {
      {"reader_upgrades", "Two readers wait for each other to write.",
       Verdict::deadlock, reader_upgrades<false>, reader_upgrades<true>},
      {"reader_reads_again", "A writer in between waits for the first read.",
       Verdict::deadlock, reader_reads_again<false>, reader_reads_again<true>},
      {"notify_beside_the_mutex", "The change falls between look and wait.",
       Verdict::deadlock, notify_beside_the_mutex<false>,
       notify_beside_the_mutex<true>},
      {"permit_lost_by_an_error", "An early return keeps the permit.",
       Verdict::deadlock, permit_lost_by_an_error<false>,
       permit_lost_by_an_error<true>},
      {"token_taken_too_late", "The post comes between look and token.",
       Verdict::deadlock, token_taken_too_late<false>,
       token_taken_too_late<true>},
      {"event_used_as_a_pulse", "Who comes after the reset waits for ever.",
       Verdict::deadlock, event_used_as_a_pulse<false>,
       event_used_as_a_pulse<true>},
      {"party_that_never_comes", "A party fails and nobody tells the barrier.",
       Verdict::deadlock, party_that_never_comes<false>,
       party_that_never_comes<true>},
      {"added_by_the_child", "The wait sees zero before the first add.",
       Verdict::assertion, added_by_the_child<false>, added_by_the_child<true>},
      {"keys_in_two_orders", "Two keys, locked in opposite orders.",
       Verdict::deadlock, keys_in_two_orders<false>, keys_in_two_orders<true>},
  };
}

}  // namespace weft::corpus
