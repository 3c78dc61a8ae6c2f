// queue_probe.hpp: a producer that stops between reserving and filling a slot.
#pragma once

#include "queue/global_queue.hpp"
#include "queue/ring.hpp"

namespace weft::queue {

struct QueueProbe {
  template <typename T>
  static bool reserve(Ring<T>& ring, std::size_t& position) {
    return ring.reserve(position);
  }
  template <typename T>
  static void fill(Ring<T>& ring, std::size_t position, T* item) {
    ring.fill(position, item);
  }
  template <typename T>
  static Ring<T>& ring(GlobalQueue<T>& queue) {
    return queue.ring_;
  }
};

}  // namespace weft::queue
