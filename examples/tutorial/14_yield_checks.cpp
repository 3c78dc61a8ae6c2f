// 14_yield_checks: loops that never wait, and share all the same. CMake calls
// weft_enable_yield_checks() for this program; nothing below mentions a check
// but the last part, which shows those by hand.
#include <atomic>
#include <cstdio>

#include <weft/weft.hpp>

using weft::Budget, weft::Errc, weft::Nursery, weft::Resource;

int wrong = 0;
void show(bool right, const char* what) {
  std::printf("%-6s%s\n", right ? "ok" : "WRONG", what);
  if (!right) ++wrong;
}

// Two players on one worker. Each waits for the other in a loop that neither
// yields nor parks.
void two_loops_on_one_worker() {
  std::atomic<int> ball{0};
  const auto play = [&ball](int mine) {
    for (int i = 0; i < 100; ++i) {
      while (ball.load() != mine) {
      }
      ball.store(1 - mine);
    }
  };
  Nursery nursery;
  nursery.spawn(play, 0);
  nursery.spawn(play, 1);
  show(nursery.join().has_value(), "a loop that spins lets the other run");
}

// Somebody else's code, which does not end.
std::atomic<unsigned> digits{0};
void plugin() {
  for (;;) digits.store(digits.load() * 10 + 1);
}

void a_plugin_with_a_budget() {
  Nursery sandbox({.budget = Budget{.ops = 20'000, .spawn_count = 1}});
  auto task = sandbox.spawn({.budget = Budget{.ops = 10'000}}, plugin);

  auto out = sandbox.wait_exhausted();
  show(out && out->fiber == task.id() && out->resource == Resource::ops,
       "it has run out of ops, and waits");
  show(sandbox.recharge(task.id(), {.ops = 5'000}).has_value(), "some more");
  show(sandbox.wait_exhausted().has_value(), "it has used them up as well");

  sandbox.cancel();  // it never looks: so it is given up
  show(task.join().error() == Errc::exhausted, "its task ends with exhausted");
  show(!sandbox.join(), "and so does the nursery");
}

// Where the compiler's checks are too many or too few. What is charged by hand
// is the same with every compiler.
int twice(int x) { return 2 * x; }
void checks_by_hand() {
  Nursery nursery({.budget = Budget::service()});
  auto spent =
      nursery.spawn({.budget = Budget{.ops = 50'000, .memory = 100}}, [] {
        int sum = 0;
        int i = 0;
        for (weft::LoopCheck check; i < 1'000; check.turn()) {
          sum += WEFT_CALL(twice(i++));
        }
        weft::charge_allocation(64);
        show(sum == 999'000, "a loop with checks");
        return weft::this_fiber::ledger().spent;
      });
  const auto cost = spent.join().value_or(Budget());
  show(cost.ops >= 2'001, "a turn, a call, an allocation: 1 op each");
  show(cost.memory == 64, "and the bytes");
  show(nursery.join().has_value(), "what is left goes back");
}

int main() {
  auto runtime = weft::Runtime::start({.workers = 1});
  if (!runtime) return 1;
  const auto end = runtime->run([] {
    two_loops_on_one_worker();
    a_plugin_with_a_budget();
    checks_by_hand();
  });
  return end && wrong == 0 ? 0 : 1;
}
