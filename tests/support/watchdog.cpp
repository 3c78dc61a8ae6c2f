#include "support/watchdog.hpp"

#include <cstdio>
#include <cstdlib>

#include "runtime/registry.hpp"

namespace weft::test {

Watchdog::Watchdog(std::chrono::seconds limit)
    : thread_([this, limit] {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, limit, [this] { return done_; })) return;
        std::fprintf(stderr, "watchdog: no progress for %lld s\n",
                     static_cast<long long>(limit.count()));
        runtime::dump_all();
        std::abort();
      }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

}  // namespace weft::test
