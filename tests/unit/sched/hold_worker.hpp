// hold_worker.hpp: a fiber that keeps its worker busy, for a reason.
#pragma once

#include <thread>

namespace weft::test {

// Spins on the worker's thread: no other fiber runs there meanwhile. Lends the
// processor to other threads, of which a test may have more than there are.
template <typename Condition>
void hold_worker_until(Condition&& condition) {
  while (!condition()) std::this_thread::yield();
}

}  // namespace weft::test
