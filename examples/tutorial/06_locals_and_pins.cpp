// 06_locals_and_pins: what belongs to a fiber, and what to its thread.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include <weft/weft.hpp>

using weft::Nursery, weft::Status;
namespace this_fiber = weft::this_fiber;

int wrong = 0;
void show(bool right, const char* what) {
  std::printf("%-6s%s\n", right ? "ok" : "WRONG", what);
  if (!right) ++wrong;
}

// One per fiber, made on first use, destroyed at the end of the fiber.
struct Log {
  std::vector<std::string> lines;
  static inline std::atomic<int> destroyed{0};
  Log() = default;
  Log(const Log&) = default;
  ~Log() {
    if (!lines.empty()) ++destroyed;
  }
};
weft::FiberLocal<Log> fiber_log;

void compute(int rounds) {
  for (int i = 0; i < rounds; ++i) asm volatile("");
}

// A fiber may be on another thread after every call that can wait, and the
// compiler does not know it: it may keep the address of a thread_local, of
// errno, or what pthread_self() said, over such a call. gettid() asks anew.
bool changed_thread() {
  const auto before = ::gettid();
  Nursery nursery;
  nursery.spawn(compute, 400'000);  // another worker may take it
  compute(100'000);                 // while this one is busy;
  (void)nursery.join();             // we go on where the child ended
  return ::gettid() != before;
}

int main() {
  const int status = weft::run_main([]() -> Status {
    {  // fiber-locals
      std::atomic<int> right{0};
      Nursery nursery;
      for (int i = 0; i < 100; ++i) {
        nursery.spawn([&, i] {
          fiber_log->lines.push_back(std::to_string(i));
          this_fiber::yield();
          fiber_log->lines.push_back("end");
          if ((*fiber_log).lines.front() == std::to_string(i)) ++right;
        });
      }
      WEFT_TRY(nursery.join());
      show(right == 100, "each fiber has a log of its own");
      show(Log::destroyed == 100, "which went with it");
    }

    {  // migration, and how to forbid it for a while
      int moved = 0;
      for (int i = 0; i < 20; ++i) moved += changed_thread() ? 1 : 0;
      std::printf("      %d of 20 waits ended on another thread\n", moved);

      moved = 0;
      this_fiber::Pin pin;  // until the end of the scope
      for (int i = 0; i < 20; ++i) moved += changed_thread() ? 1 : 0;
      show(moved == 0, "a pinned fiber stays on its thread");
    }

    {  // names and ids, for people
      Nursery nursery;
      auto task = nursery.spawn({.name = "reader"}, [] {
        const std::string first(this_fiber::name());
        return this_fiber::set_name("writer").has_value() &&
               first == "reader" && this_fiber::name() == "writer" &&
               this_fiber::id().value != 0;
      });
      show(task.join().value(), "a fiber has a name and an id");
      nursery.join().value();
    }
    return weft::ok();
  });
  return status != 0 || wrong != 0 ? 1 : 0;
}
