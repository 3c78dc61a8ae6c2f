// signals.cpp: bugs of wake-ups that come too early, to the wrong one, or not.

#include <deque>
#include <mutex>
#include <type_traits>

#include "corpus/corpus.hpp"
#include "corpus/primitives.hpp"
#include <weft/weft.hpp>

namespace weft::corpus {

namespace {

template <bool LooksAgain, bool OpensFirst>
class Gate {
 public:
  Status pass() { return weft::wait(*this); }
  void open() {
    if (OpensFirst) set_open();
    {
      std::lock_guard hold(lock_);
      waiters_.wake_all();
    }
    if (!OpensFirst) set_open();
  }

  bool try_complete(Waiter&) noexcept {
    std::lock_guard hold(lock_);
    return open_;
  }
  bool publish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.push_back(waiter);
    if (LooksAgain && open_) waiters_.wake_all();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.remove(waiter);
  }

 private:
  void set_open() {
    std::lock_guard hold(lock_);
    open_ = true;
  }

  SpinLock lock_;
  WaitList waiters_;   // guarded by lock_
  bool open_ = false;  // guarded by lock_
};

template <bool Fixed>
void lost_wake(Simulation&) {
  Gate</*LooksAgain=*/Fixed, /*OpensFirst=*/true> gate;
  Nursery nursery;
  nursery.spawn([&] { (void)gate.pass(); });
  nursery.spawn([&] { gate.open(); });
  (void)nursery.join();
}

template <bool Fixed>
void wake_before_change(Simulation&) {
  Gate</*LooksAgain=*/true, /*OpensFirst=*/Fixed> gate;
  Nursery nursery;
  nursery.spawn([&] { (void)gate.pass(); });
  nursery.spawn([&] { gate.open(); });
  (void)nursery.join();
}

template <bool Fixed>
void missed_signal(Simulation&) {
  struct Pulse : Condition {
    void set() { wake_all(); }
  };
  std::conditional_t<Fixed, Event, Pulse> started;
  Nursery nursery;
  nursery.spawn([&] { (void)started.wait(); });
  nursery.spawn([&] { started.set(); });
  (void)nursery.join();
}

template <bool Fixed>
void wake_one_of_two(Simulation&) {
  Mutex mutex;
  Condition changed;
  bool ready = false;
  const auto use = [&] {
    Hold hold(mutex);
    while (!ready) changed.wait(mutex);
  };
  Nursery nursery;
  nursery.spawn(use);
  nursery.spawn(use);
  nursery.spawn([&] {
    Hold hold(mutex);
    ready = true;
    Fixed ? changed.wake_all() : changed.wake_one();
  });
  (void)nursery.join();
}

template <bool Fixed>
void if_not_while(Simulation& sim) {
  Mutex mutex;
  Condition changed;
  std::deque<int> items;
  const auto consume = [&] {
    Hold hold(mutex);
    if (items.empty()) changed.wait(mutex);
    while (Fixed && items.empty()) changed.wait(mutex);
    sim.check(!items.empty(), "who was woken finds an item");
    items.pop_front();
  };
  Nursery nursery;
  nursery.spawn(consume);
  nursery.spawn(consume);
  nursery.spawn([&] {
    for (int i = 0; i < 2; ++i) {
      Hold hold(mutex);
      items.push_back(i);
      changed.wake_one();
    }
  });
  (void)nursery.join();
}

// Two producers and two consumers of one place share one condition.
template <bool Fixed>
void wrong_one_woken(Simulation&) {
  Mutex mutex;
  Condition changed;
  bool full = false;
  const auto turn = [&](bool to) {
    Hold hold(mutex);
    while (full == to) changed.wait(mutex);
    full = to;
    Fixed ? changed.wake_all() : changed.wake_one();
  };
  Nursery nursery;
  for (int i = 0; i < 2; ++i) {
    nursery.spawn([&] { turn(false); });
    nursery.spawn([&] { turn(true); });
  }
  (void)nursery.join();
}

template <bool Fixed>
class Barrier {
 public:
  explicit Barrier(int size) : size_(size) {}
  void arrive_and_wait() {
    int mine = 0;
    bool last = false;
    monitor_.change([&] {
      mine = generation_;
      last = ++arrived_ == size_;
      if (!last) return;
      arrived_ = 0;
      ++generation_;
    });
    if (last) return;
    (void)monitor_.wait_until(
        [&] { return Fixed ? generation_ != mine : arrived_ == 0; });
  }

 private:
  Monitor monitor_;
  const int size_;
  int arrived_ = 0;
  int generation_ = 0;
};

template <bool Fixed>
void barrier_reuse(Simulation&) {
  Barrier<Fixed> barrier(2);
  const auto work = [&] {
    for (int round = 0; round < 2; ++round) barrier.arrive_and_wait();
  };
  Nursery nursery;
  nursery.spawn(work);
  nursery.spawn(work);
  (void)nursery.join();
}

template <bool Fixed>
void forgotten_close(Simulation&) {
  struct Close {
    Queue& queue;
    ~Close() {
      if (Fixed) queue.close();
    }
  };
  Queue queue;
  Nursery nursery;
  nursery.spawn([&] {
    Close in_any_case{queue};
    for (int i = 0; i < 3; ++i) {
      if (!this_fiber::checkpoint()) return;
      queue.push(i);
    }
    queue.close();
  });
  nursery.spawn([&] {
    int item = 0;
    while (queue.pop(item)) {
    }
  });
  (void)nursery.join();
}

// The last of two producers closes the queue: if it knows that it is the last.
template <bool Fixed>
void nobody_is_last(Simulation&) {
  Queue queue;
  testing::Atomic<int> left{2};
  const auto produce = [&] {
    queue.push(1);
    if (Fixed) {
      if (left.fetch_sub(1) == 1) queue.close();
    } else {
      if (left.load() == 1) queue.close();
      left.fetch_sub(1);
    }
  };
  Nursery nursery;
  nursery.spawn(produce);
  nursery.spawn(produce);
  nursery.spawn([&] {
    int item = 0;
    while (queue.pop(item)) {
    }
  });
  (void)nursery.join();
}

}  // namespace

std::vector<Bug> signal_bugs() {
  return {
      {"lost_wake", "A waiter does not look again after it is in the list.",
       Verdict::lost_wake, lost_wake<false>, lost_wake<true>},
      {"wake_before_change", "Waiters are woken before there is a reason.",
       Verdict::lost_wake, wake_before_change<false>, wake_before_change<true>},
      {"missed_signal",
       "An event without a memory is signalled before somebody waits.",
       Verdict::deadlock, missed_signal<false>, missed_signal<true>},
      {"wake_one_of_two", "Two could go on, and one of them is woken.",
       Verdict::deadlock, wake_one_of_two<false>, wake_one_of_two<true>},
      {"if_not_while",
       "Who was woken does not look whether another was faster.",
       Verdict::assertion, if_not_while<false>, if_not_while<true>},
      {"wrong_one_woken",
       "A consumer wakes a consumer, while a producer could go on.",
       Verdict::deadlock,
       wrong_one_woken<false>,
       wrong_one_woken<true>,
       {},
       /*exhaustive_finds=*/false},
      {"barrier_reuse",
       "Who is through a barrier arrives again before others have left.",
       Verdict::deadlock, barrier_reuse<false>, barrier_reuse<true>},
      {"forgotten_close",
       "A producer that is cancelled does not close the queue.",
       Verdict::deadlock,
       forgotten_close<false>,
       forgotten_close<true>,
       {.faults = {Fault::cancel_at_checkpoint}}},
      {"nobody_is_last",
       "Two producers look who is the last one before they count themselves.",
       Verdict::deadlock, nobody_is_last<false>, nobody_is_last<true>},
  };
}

}  // namespace weft::corpus
