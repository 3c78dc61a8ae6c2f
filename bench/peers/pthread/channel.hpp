// channel.hpp: the textbook channel of a mutex and conditions, for the kernel
// thread peer; and the functions of its other files.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "../common/peer.hpp"

using peer::i64;
using peer::Run;

// Bounded, any number of producers and consumers. Capacity 0 is a rendezvous:
// the sender waits until its item is taken.
class Channel {
 public:
  explicit Channel(std::size_t capacity) : capacity_(capacity) {}

  bool push(i64 value) {
    std::unique_lock<std::mutex> hold(mutex_);
    std::size_t limit = capacity_ ? capacity_ : 1;
    space_.wait(hold, [&] { return items_.size() < limit || closed_; });
    if (closed_) return false;
    items_.push_back(value);
    i64 mine = ++put_;
    filled_.notify_one();
    if (!capacity_)
      handed_over_.wait(hold, [&] { return taken_ >= mine || closed_; });
    return true;
  }
  bool pop(i64& value) {
    std::unique_lock<std::mutex> hold(mutex_);
    filled_.wait(hold, [&] { return !items_.empty() || closed_; });
    if (items_.empty()) return false;
    value = items_.front();
    items_.pop_front();
    ++taken_;
    space_.notify_one();
    if (!capacity_) handed_over_.notify_all();
    return true;
  }
  void close() {
    std::unique_lock<std::mutex> hold(mutex_);
    closed_ = true;
    space_.notify_all();
    filled_.notify_all();
    handed_over_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable space_, filled_, handed_over_;
  std::deque<i64> items_;
  std::size_t capacity_;
  i64 taken_ = 0, put_ = 0;
  bool closed_ = false;
};

// echo.cpp: both take the port as run.asked and never return.
void echo_threads(const Run& run);
void echo_epoll(const Run& run);
