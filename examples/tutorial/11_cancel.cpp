// 11_cancel: stop what is inside a scope, early and cleanly.
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

#include <weft/weft.hpp>

using namespace std::chrono_literals;
using weft::Deadline, weft::Errc, weft::Error, weft::Nursery, weft::Status;
namespace this_fiber = weft::this_fiber;

int wrong = 0;
void show(bool right, const char* what) {
  std::printf("%-6s%s\n", right ? "ok" : "WRONG", what);
  if (!right) ++wrong;
}

// Waits for what never comes, and takes no deadline.
Status wait_for_ever() { return weft::Event().wait(); }

void deadline_for_all_inside() {
  {
    weft::CancelScope scope(Deadline::after(5ms));
    show(this_fiber::deadline() != Deadline::never(), "code can ask for it");
    show(wait_for_ever().error() == Errc::timed_out, "the deadline ends waits");
    show(!this_fiber::checkpoint() && scope.timed_out(), "and all that follow");
  }
  show(this_fiber::checkpoint().has_value(), "behind the scope we go on");

  const auto tree = [](Nursery& nursery) {  // children, and their children
    nursery.spawn([](Nursery& own) { own.spawn(wait_for_ever); });
  };
  const auto end = weft::with_nursery({.deadline = Deadline::after(5ms)}, tree);
  show(end.error() == Errc::timed_out, "a nursery has one, too");
}

void first_failure_stops_the_others() {
  weft::Latch waiting(1);
  Status seen;
  Nursery nursery;
  auto patient = nursery.spawn([&] {
    waiting.count_down();
    return seen = wait_for_ever();
  });
  nursery.spawn([&]() -> Status {
    WEFT_TRY(waiting.wait());
    return Error::user(7);
  });
  show(nursery.join().error() == Error::user(7), "join() gives the failure");
  show(seen.error() == Errc::cancelled, "it ended the sibling's wait");
  show(patient.join().error() == Error::user(7), "whose task tells the reason");
}

// Says good-bye, whoever stops it.
Status visit(weft::Latch& inside, weft::Sender<std::string> door) {
  inside.count_down();
  const Status end = wait_for_ever();
  const weft::Shield shield(Deadline::after(1h));  // may wait, but not for ever
  WEFT_TRY(door.send("bye"));
  return end;  // cancelled, because we were: no failure
}

void clean_up_behind_a_shield() {
  weft::Latch inside(1);
  auto [door, heard] = weft::make_channel<std::string>(0);
  Nursery nursery;
  auto guest = nursery.spawn(visit, std::ref(inside), std::move(door));
  inside.wait().value();
  guest.cancel();  // this child alone
  show(heard.receive().value() == "bye", "a shielded send waits for us");
  show(guest.join().error() == Errc::cancelled && nursery.join().has_value(),
       "then it ends, which is no failure");
}

void enough_is_known() {
  auto [found, results] = weft::make_channel<int>(4);
  Nursery nursery;
  for (int i = 1; i <= 4; ++i) {
    nursery.spawn([found = found, i]() mutable -> Status {
      WEFT_TRY(found.send(i));
      return wait_for_ever();
    });
  }
  const int first = results.receive().value();
  nursery.cancel();  // the children, and our own waits until join()
  show(first >= 1 && this_fiber::cancelled(), "cancel() stops all inside");
  show(nursery.join().has_value() && nursery.cancelled(), "as we asked: ok");
}

int main() {
  const int status = weft::run_main([] {
    deadline_for_all_inside();
    first_failure_stops_the_others();
    clean_up_behind_a_shield();
    enough_is_known();
  });
  return status != 0 || wrong != 0 ? 1 : 0;
}
