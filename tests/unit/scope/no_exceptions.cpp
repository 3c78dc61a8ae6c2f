// no_exceptions.cpp: a client built with -fno-exceptions -fno-rtti.
//
// It names every part of the interface that is a template, so that all of it is
// compiled that way. The library itself has exceptions.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <weft/weft.hpp>

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "this is to be built with -fno-exceptions -fno-rtti"
#endif

namespace {

using namespace std::chrono_literals;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "no_exceptions: %s\n", what);
  std::exit(1);
}

weft::FiberLocal<std::string> local;

long fib(int n) {
  if (n < 2) return n;
  weft::Nursery nursery;
  auto left = nursery.spawn(fib, n - 1);
  const long right = fib(n - 2);
  return left.join().value() + right;
}

weft::Result<int> fails() { return weft::Errc::denied; }
weft::Status passes_on() {
  WEFT_TRY(fails());
  return {};
}

weft::Status body(weft::Nursery& nursery) {
  expect(fib(12) == 144, "fib");
  auto moved = nursery.spawn([] { return std::make_unique<int>(7); });
  expect(*moved.join().value() == 7, "a result that can only be moved");
  expect(nursery.spawn([] {}).join().has_value(), "no result");
  *local = "kept";
  expect(weft::this_fiber::sleep_for(1ms).has_value(), "sleep");
  weft::this_fiber::yield();
  expect(*local == "kept", "local");
  weft::SpinLock lock;
  lock.lock();
  lock.unlock();
  std::atomic<bool> began{false};  // cancelled before that it has no result
  auto sleeper = nursery.spawn([&began] {
    began = true;
    return weft::this_fiber::sleep_for(1h).has_value();
  });
  while (!began) weft::this_fiber::yield();
  expect(!sleeper.join(weft::Deadline::after(1us)), "deadline");
  sleeper.cancel();
  expect(!sleeper.join().value_or(true), "cancel");
  std::vector<weft::Task<int>> tasks;
  for (int i = 0; i < 2; ++i) tasks.push_back(nursery.spawn([] { return 1; }));
  expect(weft::join_race(tasks).has_value(), "join_race");
  expect(weft::join_all(tasks).value().size() == 2, "join_all");
  expect(weft::join_any(tasks).error() == weft::Errc::invalid, "join_any");
  const auto one = [] { return 1; };
  expect(weft::all(one, [] {}).has_value(), "all");
  expect(weft::race(one, one).value().value == 1, "race");
  expect(weft::any(fails, one).value().index == 1, "any");
  return {};
}

}  // namespace

int main() {
  auto runtime = weft::Runtime::start(weft::Config{.workers = 2});
  expect(runtime.has_value(), "start");
  expect(runtime->run(body).has_value(), "run");
  expect(runtime->run(passes_on).error() == weft::Errc::denied, "error");
  expect(runtime->run([](weft::Nursery& nursery) {
                  (void)nursery.spawn(fails).join();
                })
                 .error() == weft::Errc::denied,
         "a child's error");
  return 0;
}
