// watchdog.hpp: a liveness test that hangs says why.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace weft::test {

// Prints the state of every runtime and aborts unless destroyed in time. The
// limit is generous: it bounds a hang, it does not measure.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit = std::chrono::seconds(100));
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace weft::test
