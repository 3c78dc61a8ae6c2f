// near_model.cpp: a fiber begins its wait as it leaves its stack, and is kept
// on the worker of its waker.
#include "base/spin_lock.hpp"
#include "control_word_scene.hpp"

namespace weft::model {

namespace {

using Scene = WordScene;

// It stands linked under a lock, which is free when it has begun its wait and
// left its stack. Its waker is worker 2, and keeps it. `also` is what a third
// one does, who runs what he finds in the queue then.
template <typename Also>
void leaves_locked(Program& p, Also&& also) {
  const Scene s(p);
  auto& lock = p.make<base::SpinLock>("lock");
  auto& taken = p.make<int>("taken", 0);
  (void)lock.try_lock();
  p.thread("worker1", [=, &lock] {
    s.frame.registers = 1;
    const auto committed = s.frame.word.commit_wait(1);
    lock.unlock();
    if (committed == Committed::resume_now) s.go_on();
  });
  p.thread("worker2", [=, &lock] {
    lock.lock();
    s.frame.said[0] = 7;
    const auto answer = s.frame.word.claim(1, source(0), 2);
    s.frame.won[0] = answer != Claimed::lost;
    lock.unlock();
    if (answer != Claimed::won_and_owns) return;
    expect(s.frame.word.is_running_on(2), "C3: it is that worker's");
    s.go_on();
  });
  p.thread("other", [=, &taken] {
    also(s);
    s.look(taken);
  });
  p.finally([=, &taken] { s.expect_one_winner(taken); });
}
void alone(Program& p) {
  leaves_locked(p, [](const Scene&) {});
}
void with_cancel(Program& p) {
  leaves_locked(p, [](const Scene& s) { s.cancel(); });
}
void with_teller(Program& p) {
  leaves_locked(p, [](const Scene& s) { s.nudge(); });
}

// Another raids the private queue of worker 2 before that runs it.
void taken_over(Program& p) {
  const auto s = Scene(p).waits();
  p.thread("worker1", [=] { s.park(); });
  p.thread("worker2", [=] {
    s.frame.said[0] = 7;
    const auto answer = s.frame.word.claim(1, source(0), 2);
    s.frame.won[0] = answer != Claimed::lost;
    if (answer != Claimed::won_and_owns) return;
    s.frame.word.yielded();
    s.enqueue();
  });
  p.thread("canceller", [=] { s.cancel(); });
  p.finally([=] { s.expect_one_winner(0); });
}

constexpr const char* kFile = "fiber/control_word.hpp";

}  // namespace

Protocol near() {
  constexpr const char* kExchange = "compare_exchange_weak";
  const Options weak{.spurious_failures = 1};
  return {
      .name = "near",
      .files = {kFile},
      .scenarios = {{"alone", alone, weak},
                    {"cancel", with_cancel},
                    {"told for nothing", with_teller},
                    {"taken over", taken_over, weak}},
      .mutations = {
          {"commit_wait acquire", kFile, "::commit_wait(", kExchange, acquire},
          {"commit_wait not written", kFile, "::commit_wait(", kExchange,
           relaxed, Effect::skip},
          {"claim acquire", kFile, "::claim(", kExchange, acquire},
          {"claim not written", kFile, "::claim(", kExchange, relaxed,
           Effect::skip},
          {"yielded not written", kFile, "::yielded(", kExchange, relaxed,
           Effect::skip}}};
}

}  // namespace weft::model
