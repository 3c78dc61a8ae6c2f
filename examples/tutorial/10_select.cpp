// 10_select: the first of several things; results in their order; to all.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include <weft/weft.hpp>

using namespace std::chrono_literals;
using weft::Deadline, weft::Nursery, weft::Result, weft::Status;

// A worker that takes jobs until it is told to stop, or there are no more.
Result<int> work(weft::Receiver<int> jobs, weft::Event& stop) {
  int done = 0;
  for (bool more = true; more;) {
    // Exactly one case happens. It is a cancel point, so it can fail.
    WEFT_TRY(weft::select(
        weft::on_receive(jobs,
                         [&](Result<int> job) {  // a closed one is ready, too
                           more = job.has_value();
                           if (job) ++done;
                         }),
        weft::on_event(stop, [&] { more = false; }),
        weft::on_deadline(Deadline::after(1h), [] { std::puts("idle"); })));
  }
  return done;
}

Status stop_a_worker() {
  weft::Event stop;
  Nursery nursery;
  auto [jobs, queue] = weft::make_channel<int>(0);  // a rendezvous
  // Moved: with a copy kept here, sends would wait if the worker had failed.
  auto worker = nursery.spawn(work, std::move(queue), std::ref(stop));
  for (int i = 0; i < 3; ++i) WEFT_TRY(jobs.send(i));
  stop.set();
  std::printf("jobs done: %d\n", WEFT_TRY(worker.join()));

  // A value that could not be sent is still ours; and so we need not wait.
  std::string line = "nobody listens";
  auto [log, lines] = weft::make_channel<std::string>(0);
  WEFT_TRY(weft::select(
      weft::on_send(log, std::move(line), [](Status) {}),
      weft::otherwise([&] { std::printf("kept: %s\n", line.c_str()); })));
  return nursery.join();
}

// Two inputs become one, until both have ended. A closed channel is ready: the
// loop takes its case out, or it would spin.
Status merge() {
  Nursery nursery;
  auto [left, from_left] = weft::make_channel<int>(4, {.name = "left"});
  auto [right, from_right] = weft::make_channel<int>(4, {.name = "right"});
  const auto count_to = [](weft::Sender<int> out, int last) -> Status {
    for (int i = 1; i <= last; ++i) WEFT_TRY(out.send(i));
    return {};
  };
  nursery.spawn(count_to, std::move(left), 10);
  nursery.spawn(count_to, std::move(right), 20);
  int sum = 0;
  bool ended = false;
  const auto take = [&](Result<int> got) {
    ended = !got;
    if (got) sum += *got;
  };
  weft::Selector inputs(2);
  WEFT_TRY(inputs.add(weft::on_receive(from_left, take)));
  WEFT_TRY(inputs.add(weft::on_receive(from_right, take)));
  for (int open = 2; open != 0;) {
    const auto which = WEFT_TRY(inputs.wait());
    if (!ended) continue;
    inputs.remove(which);
    --open;
  }
  std::printf("both inputs: %d\n", sum);
  WEFT_TRY(nursery.join());
  return sum == 55 + 210 ? Status() : weft::Errc::failed;
}

// Children run in parallel; what they return comes in the order of spawning.
Status in_order() {
  Nursery nursery;
  auto [jobs, results] = weft::make_ordered<int>(nursery, 4);
  auto reader = nursery.spawn([results = std::move(results)]() mutable {
    int next = 0;  // moved, as above: else spawn() would wait
    while (auto child = results.next()) {  // an error here: the end
      const auto got = child->join();      // an error here: the child's
      if (got && *got == next * next) ++next;
    }
    return next;
  });
  for (int i = 0; i < 20; ++i) {
    WEFT_TRY(jobs.spawn([i] {
      for (int n = i % 5; n > 0; --n) weft::this_fiber::yield();
      return i * i;
    }));
  }
  jobs.close();
  const int right = WEFT_TRY(reader.join());
  std::printf("results in order: %d\n", right);
  WEFT_TRY(nursery.join());
  return right == 20 ? Status() : weft::Errc::failed;
}

// A Broadcast is for every subscriber; a Watch is one value and its changes.
Status to_all() {
  weft::Watch<std::string> mode("day");
  weft::Broadcast<int> ticks(8, weft::OnFull::wait);
  Nursery nursery;
  // Both are older than the nursery, whose children wait there: on every way
  // out they are closed first, and the children end by themselves.
  const weft::CloseGuard no_more_ticks(ticks);
  const weft::CloseGuard no_more_modes(mode);
  const auto listen = [&](weft::Subscription<int> mine) {
    int sum = 0;
    while (auto tick = mine.receive()) sum += *tick;
    return sum;
  };
  auto first = nursery.spawn(listen, ticks.subscribe());
  auto second = nursery.spawn(listen, ticks.subscribe());
  for (int i = 1; i <= 10; ++i) WEFT_TRY(ticks.send(i));
  ticks.close();  // the listeners end, and can be joined
  std::uint64_t seen = mode.version();
  nursery.spawn([&] { mode.set("night"); });
  const auto now = WEFT_TRY(mode.changed(seen));
  const int heard = WEFT_TRY(first.join()) + WEFT_TRY(second.join());
  std::printf("two heard %d, and it is %s\n", heard, now.c_str());
  return heard == 110 ? nursery.join() : weft::Errc::failed;
}

int main() {
  return weft::run_main([]() -> Status {
    WEFT_TRY(stop_a_worker());
    WEFT_TRY(merge());
    WEFT_TRY(in_order());
    return to_all();
  });
}
