// idle_queues.hpp: the queues of weft as the model of sleeping workers uses
// them: push one, take one, and does it look empty?
#pragma once

#include "base/asymmetric.hpp"
#include "protocol.hpp"
#include "queue/global_queue.hpp"
#include "queue/private_queue.hpp"
#include "queue/work_deque.hpp"
#include "sched/pinned_list.hpp"

namespace weft::model {

struct Deque {
  void push(Item& item) { (void)items.push(&item); }
  bool take() {
    for (;;) {
      progress();
      const auto stolen = items.steal();
      if (stolen.task != nullptr || !stolen.lost_race) return stolen.task;
    }
  }
  bool looks_empty() { return items.maybe_empty(); }
  queue::WorkDeque<Item, 2> items;
};

template <typename Queue>
struct Fifo {
  Fifo() { (void)items.init(2); }
  void push(Item& item) { (void)items.push(&item); }
  // A slot that is reserved and not filled keeps the worker awake: it searches
  // again and again, which here is a wait.
  bool take() {
    progress();
    for (;; pause()) {
      const auto taken = items.take();
      if (!taken.busy) return taken.item != nullptr;
    }
  }
  bool looks_empty() { return items.maybe_empty(); }
  Queue items;
};
using Inbox = Fifo<queue::Ring<Item>>;
using Global = Fifo<queue::GlobalQueue<Item>>;

// What a worker keeps to itself, and others take if it stays in one fiber.
struct Turns {
  void push(Item& item) { (void)items.push_back(&item); }
  bool take() {
    progress();
    Item* taken = nullptr;
    return items.raid(&taken, 1) != 0;
  }
  bool looks_empty() {
    base::heavy_barrier();
    return items.size_hint() == 0;
  }
  queue::PrivateQueue<Item, 2> items;
};

struct Pinned {
  void push(Item&) { items.push(fiber); }
  bool take() {
    progress();
    return items.take() != nullptr;
  }
  bool looks_empty() { return items.is_empty(); }
  sched::PinnedList items;
  fiber::Fiber fiber;
};

// As many as it says.
struct Count {
  void push(Item&) { items.fetch_add(1, seq_cst); }
  bool take() {
    progress();
    for (int seen = items.load(relaxed); seen != 0;) {
      if (items.compare_exchange_strong(seen, seen - 1, seq_cst)) return true;
    }
    return false;
  }
  bool looks_empty() { return items.load(seq_cst) == 0; }
  Atomic<int> items{0};
};

}  // namespace weft::model
