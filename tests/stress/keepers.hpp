// keepers.hpp: makes a fiber change its worker, for certain.
//
// A keeper is pinned to each worker. Asked by a fiber that runs there, it wakes
// that fiber and holds the worker until the fiber runs, hence elsewhere.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "stress/baton.hpp"
#include <weft/weft.hpp>

namespace weft::test {

// A system call: to the compiler pthread_self() would be a constant.
[[gnu::noinline]] inline pid_t thread_now() {
  asm volatile("");
  return ::gettid();
}

class Keepers {
 public:
  // On a plain thread, while all workers are free.
  explicit Keepers(const Runtime& runtime)
      : count_(runtime.ref().worker_count()),
        keepers_(std::make_unique<Keeper[]>(count_)),
        nursery_(runtime) {
    std::atomic<unsigned> up{0};
    std::atomic<unsigned> ready{0};
    for (unsigned i = 0; i < count_; ++i) {
      nursery_.spawn([this, i, &up, &ready] {
        ++up;  // held until all are up: each has a worker of its own
        while (up != count_) std::this_thread::yield();
        this_fiber::Pin pin;
        keepers_[i].thread = thread_now();
        ++ready;
        keep(keepers_[i]);
      });
    }
    while (ready != count_) std::this_thread::yield();
  }
  // On a plain thread, when nobody moves any more.
  ~Keepers() {
    stop_ = true;
    for (unsigned i = 0; i < count_; ++i) keepers_[i].asked.give();
    EXPECT_TRUE(nursery_.join());
  }

  // One fiber at a time. Returns on another worker.
  void move_on() {
    const pid_t before = thread_now();
    Keeper* here = &keepers_[0];
    while (here->thread != before) ++here;
    here->asked.give();
    EXPECT_TRUE(go_.take());
    EXPECT_NE(thread_now(), before);
    here->moved = true;
  }

 private:
  struct Keeper {
    pid_t thread = 0;
    Baton asked;
    std::atomic<bool> moved{false};
  };

  void keep(Keeper& mine) {
    for (;;) {
      EXPECT_TRUE(mine.asked.take());
      EXPECT_EQ(thread_now(), mine.thread);
      if (stop_) return;
      go_.give();
      while (!mine.moved.exchange(false)) std::this_thread::yield();
    }
  }

  const unsigned count_;
  std::unique_ptr<Keeper[]> keepers_;
  Baton go_;
  std::atomic<bool> stop_{false};
  Nursery nursery_;
};

}  // namespace weft::test
