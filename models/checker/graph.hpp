// graph.hpp: one execution as the memory model sees it.
//
// Events are added one by one, each after those that it reads from and those
// before it in its thread. The graph says what a new event may be: which stores
// a load may read, where in the modification order a store may go. So every
// graph that RC11 allows can be built, and no other:
//
//   coherence   one order of stores for each location, in which no event goes
//               back behind what happened before it
//   atomicity   a read-modify-write directly follows what it read
//   seq_cst     the partial order psc of the seq_cst events has no cycle
//   no cycle of program order and reads-from: load buffering does not exist
//
// A release sequence goes on through read-modify-writes only (C++20). There are
// no fences, as in weft. docs/design/models.md compares this to the standard.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/model_seam.hpp"
#include "checker/clock.hpp"
#include "checker/sc_order.hpp"

namespace weft::model {

using Order = std::memory_order;
using base::Site;

inline constexpr int kNoEvent = -1;
inline constexpr int kSetup = -1;  // the thread of what came before the model

constexpr bool acquires(Order order) noexcept {
  return order == std::memory_order_acquire ||
         order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
constexpr bool releases(Order order) noexcept {
  return order == std::memory_order_release ||
         order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

enum class Kind : std::uint8_t { initial, load, store, rmw };

struct Event {
  int thread = kSetup;
  std::uint16_t index = 0;  // in its thread, from 1
  Kind kind = Kind::initial;
  Order order = std::memory_order_relaxed;
  bool stale = false;  // at that time there was a later store
  bool next_is_rmw = false;
  int location = 0;
  int from = kNoEvent;  // what it read
  int position = 0;     // in the modification order
  int first_reader = kNoEvent;
  int next_reader = kNoEvent;  // of the same store
  int sc = -1;                 // its number among the seq_cst events
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  Clock clock;    // what happened before it, with itself
  Clock release;  // what an acquire that reads it learns
  Site site;

  bool writes() const noexcept { return kind != Kind::load; }
  bool reads() const noexcept {
    return kind == Kind::load || kind == Kind::rmw;
  }
};

struct Location {
  const void* address = nullptr;
  std::size_t size = 0;
  std::vector<int> stores;  // in modification order
};

// What a thread wants to add.
struct Access {
  int thread = 0;
  int location = 0;
  Order order = std::memory_order_relaxed;
  Site site = {};
};

class Graph {
 public:
  void clear();

  // The location at this address; a new one starts with what memory holds.
  int locate(const void* address, std::size_t size, std::uint64_t bits);
  // A thread made a new object here.
  void create(int thread, const void* address, std::size_t size,
              std::uint64_t bits);

  // Whether this load (or, if `writes`, read-modify-write) may read the store.
  bool may_read(const Access& access, int store, bool writes) const;
  // Whether this store may directly follow that one.
  bool may_follow(const Access& access, int store) const;
  // The first of the location's stores that the thread has not left behind.
  int floor(int thread, int location) const;

  int add_load(const Access& access, int store);
  int add_store(const Access& access, int after, std::uint64_t bits);
  int add_rmw(const Access& access, int store, std::uint64_t bits);

  // An event of another thread in this range of memory that does not happen
  // before what this thread does next; kNoEvent if there is none.
  int unordered_use(int thread, const std::byte* begin, std::size_t size) const;
  // Who made the object at this location, if this thread does not know of it;
  // else kSetup.
  int unseen_maker(int thread, int location_id) const;
  // The thread has seen what all others did.
  void join_all(int thread);
  const Clock& clock(int thread) const {
    return clocks_[static_cast<std::size_t>(thread)];
  }
  const Event& event(int id) const {
    return events_[static_cast<std::size_t>(id)];
  }
  const Location& location(int id) const {
    return locations_[static_cast<std::size_t>(id)];
  }
  int size() const noexcept { return static_cast<int>(events_.size()); }
  // Room is left for a finally().
  bool is_full() const noexcept {
    return events_.size() > 0xFFF0 || sc_.size() > kMaxSc - 64;
  }
  int latest(int location_id) const {
    return location(location_id).stores.back();
  }

 private:
  Event& at(int id) { return events_[static_cast<std::size_t>(id)]; }
  Event draft(const Access& access, Kind kind, int from) const;
  int add(Event event, int after);
  bool known(const Clock& clock, const Event& event) const;
  // The psc neighbours of an event that is not in the graph yet. `after`: the
  // store that it reads, or that it directly follows.
  ScSet sc_before(const Event& event, int after) const;
  ScSet sc_after(const Event& event, int after) const;
  bool goes_around(const Event& event, int before) const;
  bool sc_allows(const Event& event, int after) const;
  void initial(Location& location, int id, int thread, std::uint64_t bits);

  std::vector<Event> events_;
  std::vector<Location> locations_;
  std::size_t used_locations_ = 0;
  std::unordered_map<const void*, int> by_address_;
  std::array<Clock, kMaxThreads> clocks_{};
  std::array<std::vector<int>, kMaxThreads> by_thread_;
  std::vector<int> sc_events_;
  ScOrder sc_;
};

}  // namespace weft::model
