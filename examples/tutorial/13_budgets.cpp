// 13_budgets: what a nursery and its children may spend.
#include <cstdio>
#include <memory_resource>
#include <vector>

#include <weft/weft.hpp>

using weft::Budget, weft::Error, weft::Nursery, weft::Resource, weft::Status;
namespace this_fiber = weft::this_fiber;

int wrong = 0;
void show(bool right, const char* what) {
  std::printf("%-6s%s\n", right ? "ok" : "WRONG", what);
  if (!right) ++wrong;
}

// A loop of checked code: one op a turn.
Status count_to(int n) {
  for (int i = 0; i < n; ++i) WEFT_TRY(this_fiber::checkpoint());
  return {};
}

void a_purse_is_split() {
  Nursery nursery({.budget = Budget{.ops = 1'000, .spawn_count = 2}});
  auto child = nursery.spawn({.budget = Budget{.ops = 300}}, count_to, 100);
  show(nursery.budget().ops == 700, "what a child gets the pool has no more");
  show(child.join().has_value() && nursery.budget().ops == 900,
       "what it did not spend comes back");
  (void)nursery.spawn([] {}).join();
  show(nursery.try_spawn([] {}).error() == Error::out_of(Resource::spawns),
       "a third child is refused");
  nursery.join().value();
  Nursery other;
  auto free = other.spawn([] { return this_fiber::ledger().left; });
  show(free.join().value() == Budget::unlimited(), "others have no limits");
  other.join().value();
}

void out_of_ops() {
  Nursery nursery({.budget = Budget::service()});
  auto hungry = nursery.spawn({.budget = Budget{.ops = 10}}, count_to, 25);
  while (auto found = nursery.wait_exhausted()) {  // until no child is left
    show(found->fiber == hungry.id() && found->resource == Resource::ops,
         "it waits, and we are told");
    nursery.recharge(found->fiber, {.ops = 10}).value();
  }
  show(hungry.join().has_value(), "recharged twice it comes to its end");

  auto again = nursery.spawn({.budget = Budget{.ops = 10}}, count_to, 25);
  show(nursery.join().error() == Error::out_of(Resource::ops),
       "join() says if nobody else can help");
  nursery.cancel();
  show(nursery.join().has_value(), "a cancel ends the wait, as any other");
  show(!again.join().has_value(), "and the child");
}

void refused_and_counted() {
  auto [sender, receiver] = weft::make_channel<int>(10);
  Nursery nursery({.budget = Budget::service()});
  const Budget some{.ops = 100, .memory = 10'000, .channel_ops = 3};
  auto flood = nursery.spawn({.budget = some}, [&sender = sender] {
    int sent = 0;
    while (sender.send(1)) ++sent;
    return sent;
  });
  show(flood.join().value() == 3, "the fourth value is refused");
  auto counted = nursery.spawn({.budget = some}, [&nursery] {
    const std::pmr::vector<char> block(4'000, nursery.memory());
    return this_fiber::ledger().left.memory;
  });
  show(counted.join().value() == 6'000, "memory of the nursery is paid for");
  nursery.join().value();
}

int main() {
  const int status = weft::run_main([] {
    a_purse_is_split();
    out_of_ops();
    refused_and_counted();
  });
  return status != 0 || wrong != 0 ? 1 : 0;
}
