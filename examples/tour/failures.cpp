// failures.cpp: what becomes of an exception, and of a stack that is too small.
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "tour.hpp"

using namespace std::chrono_literals;

namespace tour {

namespace {

// Deeper than any stack.
int recurse(int depth, const char* above) {
  char here[512];
  std::memset(here, *above, sizeof here);
  return depth == 0 ? here[1] : recurse(depth - 1, here) + here[1];
}

}  // namespace

void exceptions() {
  stop("errors", "an exception crosses fibers and threads with its type");
  Nursery nursery;
  auto task = nursery.spawn([] {
    Nursery inner;
    inner.spawn([] {
      try {
        throw std::out_of_range("from a grandchild");
      } catch (...) {
        this_fiber::yield();  // a catch block may wait: the exception travels
        throw;
      }
    });
    inner.join().value();  // rethrows it
  });
  std::string heard;
  try {
    (void)task.join();
  } catch (const std::out_of_range& error) {
    heard = error.what();
  }
  tell(heard == "from a grandchild", "caught std::out_of_range: %s",
       heard.c_str());
  try {
    (void)nursery.join();
    tell(false, "the nursery lost it");
  } catch (const std::out_of_range&) {
  }
}

int overflow() {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  return weft::run_main([]() -> int {
    Nursery nursery;
    // With a deadline it cannot run in place, on the stack of this fiber.
    auto deep = nursery.spawn({.name = "deep"}, recurse, 1 << 30, "x");
    return deep.join(Deadline::after(1h)).value();
  });
}

void guards() {
  stop("stacks", "an overflow is reported, not silent");
  constexpr std::array kNames{"automatic", "madvise", "mprotect", "canary"};
  const auto runtime = this_fiber::runtime();
  tell(true, "%zu KiB each, guarded by %s",
       static_cast<std::size_t>(runtime.config().stack_size) >> 10,
       kNames[static_cast<std::size_t>(runtime.guard())]);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  char self[4096];
  const auto length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return;
  self[length] = '\0';
  const std::string command =
      "exec '" + std::string(self) + "' --overflow 2>&1";
  std::FILE* child = ::popen(command.c_str(), "re");
  if (child == nullptr) return;
  char line[256] = "";
  bool reported = false;
  while (std::fgets(line, sizeof line, child) != nullptr) {
    line[std::strcspn(line, "\n")] = '\0';
    if (std::strstr(line, "stack overflow in fiber") != nullptr) {
      reported = std::strstr(line, "\"deep\"") != nullptr;
      tell(true, "a second process says: %s", line);
    }
  }
  const int end = ::pclose(child);
  tell(reported && end != 0, "and died of it");
#endif
}

}  // namespace tour
