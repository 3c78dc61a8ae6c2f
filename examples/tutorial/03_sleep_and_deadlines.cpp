// 03_sleep_and_deadlines: time, giving up, and cancelling one child.
#include <chrono>
#include <cstdio>

#include <weft/weft.hpp>

using namespace std::chrono_literals;
using weft::Deadline, weft::Errc, weft::Nursery, weft::Status;
namespace this_fiber = weft::this_fiber;

int wrong = 0;
void show(bool right, const char* what) {
  std::printf("%-6s%s\n", right ? "ok" : "WRONG", what);
  if (!right) ++wrong;
}

// Works for ever, but asks at each round whether it should go on.
Status count(long& rounds) {
  for (;;) {
    ++rounds;
    WEFT_TRY(this_fiber::checkpoint());
  }
}

int main() {
  const int status = weft::run_main([]() -> Status {
    {  // sleeping costs a fiber, not a thread
      const auto before = weft::Clock::now();
      Nursery nursery;
      for (int i = 0; i < 5'000; ++i) {
        nursery.spawn([] { return this_fiber::sleep_for(20ms); });
      }
      WEFT_TRY(nursery.join());
      const auto took = weft::Clock::now() - before;
      std::printf("      5000 sleeps of 20 ms took %lld ms together\n",
                  static_cast<long long>(took / 1ms));
      show(took >= 20ms, "no sleep ends before its time");
    }

    {  // a deadline bounds the wait, not the child
      Nursery nursery;
      auto slow = nursery.spawn([] { return this_fiber::sleep_for(1h); });
      const Status early = slow.join(Deadline::after(5ms));
      show(early.error() == Errc::timed_out, "join() gives up at its deadline");
      show(!slow.done() && slow, "the child goes on, the handle stays valid");

      slow.cancel();  // its waits fail from now on
      show(slow.join().error() == Errc::cancelled, "cancel() ends its sleep");
      show(nursery.join().has_value(), "which is no failure of the nursery");
    }

    {  // code that computes is cancelled where it looks: at a checkpoint
      long rounds = 0;
      Nursery nursery;
      auto busy = nursery.spawn(count, std::ref(rounds));
      while (busy.state() == weft::FiberState::ready) this_fiber::yield();
      busy.cancel();
      show(busy.join().error() == Errc::cancelled && rounds > 0,
           "checkpoint() ends a loop");
      nursery.join().value();
    }

    {  // cancelled before it started: the body never runs
      bool ran = false;
      Nursery nursery;
      auto task = nursery.spawn([&] { ran = true; });
      task.cancel();
      const Status end = task.join();
      show(end.has_value() == ran,
           "a cancelled body runs wholly or not at all");
      nursery.join().value();
    }

    // One deadline for several calls: it does not start again at each of them.
    const auto until = Deadline::after(10ms);
    Nursery nursery;
    auto a = nursery.spawn([] { return this_fiber::sleep_for(1h); });
    auto b = nursery.spawn([] { return this_fiber::sleep_for(1h); });
    show(a.join(until).error() == Errc::timed_out &&
             b.join(until).error() == Errc::timed_out && until.expired(),
         "two joins share one deadline");
    a.cancel();
    b.cancel();
    return nursery.join();
  });
  return status != 0 || wrong != 0 ? 1 : 0;
}
