// cancel_cases.hpp: calls that wait for what never comes: locks, counts, waits
// of one's own, and waits of those who have run out.
#pragma once

#include <functional>
#include <mutex>
#include <new>
#include <ostream>
#include <string>
#include <vector>

#include <weft/weft.hpp>

namespace weft::test {

// Each call blocks for ever; what it needs is made before and goes after it.
struct Case {
  std::string name;
  std::function<Status()> block;
  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
};

template <typename T>
Status status_of(const Result<T>& result) {
  return result ? Status() : Status(result.error());
}

template <typename Lockable>
Status blocked_on(Lockable& lockable) {
  return status_of(lockable.acquire());
}

// The lock of somebody else, in a nursery of its own that is stopped with the
// fiber that waits.
template <typename Lock, typename Acquire>
Status wait_for_lock(Acquire acquire) {
  Lock lock;
  const std::unique_lock<Lock> held(lock);
  Nursery nursery;
  auto other = nursery.spawn([&] { return acquire(lock); });
  return other.join();
}

inline std::vector<Case> locks() {
  return {
      {"Mutex", [] { return wait_for_lock<Mutex>(&blocked_on<Mutex>); }},
      {"FairMutex",
       [] { return wait_for_lock<FairMutex>(&blocked_on<FairMutex>); }},
      {"SharedMutex",
       [] { return wait_for_lock<SharedMutex>(&blocked_on<SharedMutex>); }},
      {"SharedMutexShared",
       [] {
         return wait_for_lock<SharedMutex>([](SharedMutex& mutex) {
           return status_of(mutex.acquire_shared());
         });
       }},
      {"KeyedMutex",
       [] {
         KeyedMutex<int> mutex;
         auto held = [&] {
           Shield shield;
           return mutex.acquire(1);
         }();
         Nursery nursery;
         auto other =
             nursery.spawn([&] { return status_of(mutex.acquire(1)); });
         return other.join();
       }},
      {"ConditionVariable",
       [] {
         Mutex mutex;
         ConditionVariable changed;
         std::unique_lock lock(mutex);
         return changed.wait(lock);
       }},
  };
}

inline std::vector<Case> counts() {
  return {
      {"Semaphore", [] { return Semaphore(0).acquire(); }},
      {"SemaphorePermit", [] { return status_of(Semaphore(0).permit()); }},
      {"Latch", [] { return Latch(1).wait(); }},
      {"LatchArrive", [] { return Latch(2).arrive_and_wait(); }},
      {"WaitGroup",
       [] {
         WaitGroup group;
         group.add(1);
         const Status end = group.wait();
         group.done();
         return end;
       }},
      {"Barrier", [] { return status_of(Barrier(2).arrive_and_wait()); }},
      {"Event", [] { return Event().wait(); }},
      {"Once",
       [] {
         Once once;
         return once.call([&] {
           Nursery nursery;
           return nursery.spawn([&] { return once.call([] {}); }).join();
         });
       }},
      {"Futex", [] { return Futex().wait(); }},
      {"FutexToken", [] { return Futex().wait(2); }},
      {"Sequencer", [] { return Sequencer().wait(7); }},
      {"Future", [] { return Future<int>().wait().error(); }},
      {"wait_any",
       [] {
         Future<int> one;
         Future<int> other;
         AnyFuture* const both[] = {&one, &other};
         return status_of(wait_any(both));
       }},
  };
}

// A waitable of one's own.
class Never {
 public:
  bool try_complete(Waiter& /*waiter*/) noexcept { return false; }
  bool publish(Waiter& waiter) noexcept {
    const std::lock_guard hold(lock_);
    waiters_.push_back(waiter);
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    const std::lock_guard hold(lock_);
    waiters_.remove(waiter);
  }

 private:
  SpinLock lock_;
  WaitList waiters_;
};

inline std::vector<Case> own_waits() {
  return {
      {"Wait",
       [] {
         Never never;
         return wait(never);
       }},
      {"SelectOwn",
       [] {
         Never never;
         return status_of(select(on(never, [] {})));
       }},
  };
}

// A child in a nursery of its own that has no more than that, and that nobody
// recharges.
template <typename F>
Status with_no_more_than(const Budget& budget, F call) {
  Nursery nursery;
  auto child = nursery.spawn({.budget = budget}, call);
  while (child.state() != FiberState::exhausted && !child.done()) {
    this_fiber::yield();
  }
  return child.join();
}

inline std::vector<Case> recharges() {
  return {
      {"RechargeForCheckpoint",
       [] { return with_no_more_than({}, &this_fiber::checkpoint); }},
      {"RechargeForReceive",
       [] {
         return with_no_more_than({.channel_ops = 1}, [] {
           auto [sender, receiver] = make_channel<int>(1);
           return status_of(receiver.receive());
         });
       }},
      {"RechargeForSyscall",
       [] {
         return with_no_more_than({.syscalls = 1},
                                  [] { return charge_syscall(); });
       }},
      {"RechargeForMemory",
       [] {
         return with_no_more_than({.ops = 10, .memory = 100}, []() -> Status {
           Nursery nursery;
           try {
             (void)nursery.memory()->allocate(1000);
           } catch (const std::bad_alloc&) {
             return this_fiber::checkpoint();  // why there was none
           }
           return {};
         });
       }},
  };
}

}  // namespace weft::test
