// protocol.hpp: the protocols of weft that are checked, and what their models
// share.
#pragma once

#include <array>
#include <cstddef>

#include "base/atomic.hpp"
#include "checker/check.hpp"

namespace weft::model {

Protocol work_deque();
Protocol ring();
Protocol global_queue();
Protocol private_queue();
Protocol join_word();
Protocol control_word();
Protocol near();
Protocol family();
Protocol scopes();
Protocol frames();
Protocol idle();
Protocol kept();
Protocol ranked();
Protocol timers();
Protocol wait_list();
Protocol thread_wait();
Protocol mutex();
Protocol futex();
Protocol future();
Protocol sequencer();
Protocol lines();
Protocol channel();
Protocol channel_end();
Protocol channel_owner();
Protocol mistakes();
Protocol mistaken_queues();
Protocol admission();

// Something to hand over: who gets it sees what was written before.
struct Item {
  Plain<int> content = 0;
  Plain<Item*> next = nullptr;
};

// What each thread got; every thread has its own row. Asked in finally().
template <typename T, std::size_t Threads = 4, std::size_t Each = 8>
class Loot {
 public:
  void add(std::size_t thread, T* item) {
    if (item == nullptr) return;
    expect(counts_[thread] < Each, "there is an end to what a thread gets");
    rows_[thread][counts_[thread]++] = item;
  }
  int times(const T* item) const {
    int result = 0;
    for (const auto& row : rows_) {
      for (const T* got : row) result += got == item ? 1 : 0;
    }
    return result;
  }

 private:
  std::array<std::array<T*, Each>, Threads> rows_{};
  std::array<std::size_t, Threads> counts_{};
};

}  // namespace weft::model
