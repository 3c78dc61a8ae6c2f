// unchecked.hpp: a stretch in which checks of budgets and turns only count.
//
// For calls of user code at a moment when others wait for the fiber to go on:
// they spin, or sleep for what it has taken. What that code waits for by itself
// it still waits for.
#pragma once

#include "sched/carrier.hpp"

namespace weft::sched {

class Unchecked {
 public:
  Unchecked() noexcept : self_(*carrier().current), before_(self_.unchecked) {
    self_.unchecked = true;
  }
  Unchecked(const Unchecked&) = delete;
  Unchecked& operator=(const Unchecked&) = delete;
  ~Unchecked() { self_.unchecked = before_; }

 private:
  Fiber& self_;  // which may be on another thread by then
  const bool before_;
};

}  // namespace weft::sched
