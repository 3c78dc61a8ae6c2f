// 15_sandbox: code that is not trusted with more than it is given.
#include <atomic>
#include <cstdio>
#include <utility>

#include <weft/weft.hpp>

using weft::Budget, weft::Errc, weft::Resource, weft::Status;
using Sandbox = weft::NurseryIn<weft::profile::Sovereign>;

int wrong = 0;
void show(bool right, const char* what) {
  std::printf("%-6s%s\n", right ? "ok" : "WRONG", what);
  if (!right) ++wrong;
}

// Authority is an argument: what a plugin may do stands in its signature.
Status plugin(weft::CapSpawn may_spawn, weft::CapChannel may_talk) {
  (void)may_spawn;
  for (;;) {  // it never ends by itself
    auto line = WEFT_TRY(weft::make_channel<int>(may_talk, 1));
    WEFT_TRY(line.sender.send(1));  // one op, and one channel_op
  }
}

void authority(weft::Runtime& runtime, weft::Capabilities& all) {
  show(runtime.authority().error() == Errc::denied, "the first has it all");
  auto ten = all.spawn.narrow({.max_tasks = 10, .task_budget = {}}).value();
  show(ten.narrow({.max_tasks = 11, .task_budget = {}}).error() == Errc::denied,
       "a part can be split further, never widened");
  // weft::CapSpawn two = ten;             does not compile: no copies
  // weft::NurseryIn<weft::profile::Core>  does not compile: no scheduler
}

void hungry_plugin(weft::Runtime& runtime, weft::Capabilities& all) {
  Sandbox sandbox(runtime, all.budget, Budget::service());
  auto none = all.spawn.narrow({}).value();
  auto lines = all.channel.narrow({.max_buffer = 1, .max_channels = 2}).value();
  const Budget meal{.ops = 100, .channel_ops = 1'000};
  auto task = sandbox.spawn(all.spawn, {.name = "plugin", .budget = meal},
                            plugin, std::move(none), std::move(lines));
  // sandbox.spawn(plugin)  does not compile: no authority

  const auto who = sandbox.wait_exhausted().value();
  show(who.fiber == task.id() && who.resource == Resource::ops,
       "out of ops, it waits; others run");
  sandbox.recharge(who.fiber, {.ops = 50}).value();
  show(sandbox.wait_exhausted().value().fiber == who.fiber,
       "one more chance, and it waits again");
  show(sandbox.join().error() == weft::Error::out_of(Resource::ops),
       "join() says that nobody will feed it");
  sandbox.cancel();
  show(sandbox.join().has_value(), "a cancel ends it");
}

void fork_bomb(weft::Runtime& runtime, weft::Capabilities& all) {
  auto few = all.spawn.narrow({4, Budget::unlimited()}).value();
  std::atomic<int> started{0};
  weft::Event over;
  Sandbox sandbox(runtime, all.budget, Budget::service());
  for (int i = 0; i < 1'000; ++i) {
    started += sandbox.try_spawn(few, [&] { (void)over.wait(); }).has_value();
  }
  show(started == 4, "of a thousand four may live at once");
  over.set();
  show(sandbox.join().has_value() && few.limits().max_tasks == 4,
       "and their places are free again");
}

int main() {
  auto runtime =
      weft::Runtime::start({.profile = weft::Profile::sovereign}).value();
  auto all = runtime.authority().value();
  authority(runtime, all);
  hungry_plugin(runtime, all);
  fork_bomb(runtime, all);

  weft::Nursery plain(runtime);  // code that knows nothing of all this
  show(plain.try_spawn([] {}).error() == Errc::denied, "a plain spawn: denied");
  const auto audit = runtime.ref().stats().audit;
  std::printf("spawns granted %llu, denied %llu\n",
              static_cast<unsigned long long>(audit.spawn.granted),
              static_cast<unsigned long long>(audit.spawn.denied));
  return wrong != 0 ? 1 : 0;
}
