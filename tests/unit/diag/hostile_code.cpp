#include "unit/diag/hostile_code.hpp"

#include <functional>
#include <new>

#include "unit/diag/checked_code.hpp"
#include <weft/fiber.hpp>

namespace weft::test {

void fork_for_ever(std::atomic<int>& started) {
  Nursery own;
  for (;;) {
    Budget half = this_fiber::ledger().left;
    half.ops /= 2;
    half.spawn_count /= 2;
    if (own.try_spawn({.budget = half}, fork_for_ever, std::ref(started))) {
      ++started;
    }
  }
}

void allocate_for_ever(std::pmr::memory_resource& from, std::size_t& bytes) {
  constexpr std::size_t kBlock = 4096;
  try {
    for (;;) {
      (void)from.allocate(kBlock);
      bytes += kBlock;
    }
  } catch (const std::bad_alloc&) {  // it must stop, and does not
    checked_spin_for_ever();
  }
}

void new_for_ever(KeptBlock*& kept) {
  for (;;) {
    try {
      auto* const block = new KeptBlock;
      block->next = kept;
      kept = block;
    } catch (const std::bad_alloc&) {
      checked_turns(5'000);
    }
  }
}

void send_for_ever(Sender<int>& to, int value, int& sent) {
  for (;;) {
    if (to.try_send(int{value})) ++sent;
  }
}

}  // namespace weft::test
