// 04_own_primitive: a turnstile that fibers and threads wait at.
//
// Three functions make a class waitable. Deadlines, cancel, plain threads and
// the order of arrival are weft's part.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

#include <weft/weft.hpp>

using namespace std::chrono_literals;
using weft::Deadline, weft::Errc, weft::Nursery, weft::Status, weft::Waiter;

class Turnstile {
 public:
  // Lets the caller through once there is room; gives its number.
  weft::Result<int> pass(Deadline deadline = Deadline::never()) {
    int number = 0;
    WEFT_TRY(weft::wait(*this, number, deadline));
    return number;
  }
  void admit(int count) {
    std::lock_guard hold(lock_);
    room_ += count;
    while (count-- > 0 && waiters_.wake_one()) {
    }
  }

  // Finishes without parking, if it can.
  bool try_complete(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    if (room_ == 0) return false;
    --room_;
    waiter.slot<int>() = ++passed_;  // the `number` of pass()
    return true;
  }
  // Links the waiter. Room that came since try_complete() must wake somebody.
  bool publish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.push_back(waiter);
    if (room_ > 0) waiters_.wake_one();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.remove(waiter);
  }

 private:
  weft::SpinLock lock_;
  weft::WaitList waiters_;  // guarded by lock_
  int room_ = 0;            // guarded by lock_
  int passed_ = 0;          // guarded by lock_
};
static_assert(weft::Waitable<Turnstile>);

int wrong = 0;
void show(bool right, const char* what) {
  std::printf("%-6s%s\n", right ? "ok" : "WRONG", what);
  if (!right) ++wrong;
}

int main() {
  Turnstile gate;
  const int status = weft::run_main([&]() -> Status {
    Nursery nursery;
    auto enter = [&]() -> Status {
      WEFT_TRY(gate.pass());
      return weft::ok();
    };
    for (int i = 0; i < 99; ++i) nursery.spawn(enter);
    std::thread outsider([&] { show(enter().has_value(), "a thread passes"); });
    gate.admit(100);
    outsider.join();  // blocks this worker; see the hazards in the guide
    WEFT_TRY(nursery.join());
    gate.admit(1);
    show(gate.pass().value() == 101, "101 passed, each with its own number");

    show(gate.pass(Deadline::after(2ms)).error() == Errc::timed_out,
         "a deadline ends the wait, and no number was taken");

    Nursery second;
    auto stuck = second.spawn(enter);
    stuck.cancel();
    show(stuck.join().error() == Errc::cancelled, "a cancel ends the wait");
    gate.admit(1);
    show(gate.pass().value() == 102, "what was cancelled took nothing");
    return second.join();
  });
  return status != 0 || wrong != 0 ? 1 : 0;
}
