#include "checker/graph.hpp"

namespace weft::model {

void Graph::clear() {
  events_.clear();
  used_locations_ = 0;
  by_address_.clear();
  clocks_ = {};
  for (auto& events : by_thread_) events.clear();
  sc_events_.clear();
  sc_.clear();
}

int Graph::locate(const void* address, std::size_t size, std::uint64_t bits) {
  const auto [found, added] =
      by_address_.try_emplace(address, static_cast<int>(used_locations_));
  if (added) {
    if (used_locations_ == locations_.size()) locations_.emplace_back();
    Location& location = locations_[used_locations_];
    location.address = address;
    location.size = size;
    initial(location, static_cast<int>(used_locations_), kSetup, bits);
    ++used_locations_;
  }
  return found->second;
}

void Graph::create(int thread, const void* address, std::size_t size,
                   std::uint64_t bits) {
  by_address_.erase(address);
  const int id = locate(address, size, bits);
  Event& event = at(latest(id));
  event.thread = thread;
  const auto t = static_cast<std::size_t>(thread);
  event.index = ++clocks_[t][t];
  event.clock = clocks_[t];
  by_thread_[t].push_back(latest(id));
}

void Graph::initial(Location& location, int id, int thread,
                    std::uint64_t bits) {
  Event event;
  event.thread = thread;
  event.location = id;
  event.written = bits;
  location.stores.assign(1, size());
  events_.push_back(event);
}

bool Graph::known(const Clock& clock, const Event& event) const {
  return event.thread == kSetup ||
         clock[static_cast<std::size_t>(event.thread)] >= event.index;
}

int Graph::floor(int thread, int location_id) const {
  const auto& stores = location(location_id).stores;
  const Clock& now = clock(thread);
  for (auto i = stores.size(); i-- > 1;) {
    const Event& store = event(stores[i]);
    if (known(now, store)) return store.position;
    for (int r = store.first_reader; r != kNoEvent; r = event(r).next_reader) {
      if (known(now, event(r))) return store.position;
    }
  }
  return 0;
}

bool Graph::may_read(const Access& access, int store, bool writes) const {
  if (writes && event(store).next_is_rmw) return false;
  if (access.order != std::memory_order_seq_cst) return true;
  return sc_allows(draft(access, writes ? Kind::rmw : Kind::load, store),
                   store);
}

bool Graph::may_follow(const Access& access, int store) const {
  if (event(store).next_is_rmw) return false;
  if (access.order != std::memory_order_seq_cst) return true;
  return sc_allows(draft(access, Kind::store, kNoEvent), store);
}

Event Graph::draft(const Access& access, Kind kind, int from) const {
  const auto t = static_cast<std::size_t>(access.thread);
  Event result;
  result.thread = access.thread;
  result.kind = kind;
  result.order = access.order;
  result.location = access.location;
  result.site = access.site;
  result.from = from;
  result.clock = clocks_[t];
  result.index = ++result.clock[t];
  if (from != kNoEvent) {
    const Event& store = event(from);
    result.read = store.written;
    if (acquires(access.order)) result.clock.join(store.release);
    if (kind == Kind::rmw) result.release = store.release;
  }
  if (kind != Kind::load && releases(access.order)) {
    result.release.join(result.clock);
  }
  return result;
}

int Graph::add_load(const Access& access, int store) {
  return add(draft(access, Kind::load, store), store);
}

int Graph::add_store(const Access& access, int after, std::uint64_t bits) {
  auto event = draft(access, Kind::store, kNoEvent);
  event.written = bits;
  return add(event, after);
}

int Graph::add_rmw(const Access& access, int store, std::uint64_t bits) {
  auto event = draft(access, Kind::rmw, store);
  event.written = bits;
  return add(event, store);
}

int Graph::add(Event event, int after) {
  const int id = size();
  auto& stores = locations_[static_cast<std::size_t>(event.location)].stores;
  event.stale = stores.back() != after;
  if (event.order == std::memory_order_seq_cst) {
    const auto before = sc_before(event, after);
    const auto behind = sc_after(event, after);
    event.sc = static_cast<int>(sc_.size());
    sc_.add(before, behind);
    sc_events_.push_back(id);
  }
  if (event.reads()) {
    event.next_reader = at(event.from).first_reader;
    at(event.from).first_reader = id;
    if (event.kind == Kind::rmw) at(event.from).next_is_rmw = true;
  }
  const auto t = static_cast<std::size_t>(event.thread);
  clocks_[t] = event.clock;
  by_thread_[t].push_back(id);
  events_.push_back(event);
  if (event.writes()) {
    const auto place = at(after).position + 1;
    stores.insert(stores.begin() + place, id);
    for (auto i = static_cast<std::size_t>(place); i < stores.size(); ++i) {
      at(stores[i]).position = static_cast<int>(i);
    }
  }
  return id;
}

bool Graph::sc_allows(const Event& draft, int after) const {
  const auto behind = sc_after(draft, after);
  return behind.none() || sc_.allows(sc_before(draft, after), behind);
}

ScSet Graph::sc_after(const Event& draft, int after) const {
  ScSet result;
  const auto& stores = location(draft.location).stores;
  const auto first = static_cast<std::size_t>(event(after).position) + 1;
  for (auto i = first; i < stores.size(); ++i) {
    const Event& store = event(stores[i]);
    if (store.sc >= 0) result.set(static_cast<std::size_t>(store.sc));
  }
  return result;
}

// psc = [SC] (sb | sb-other-location; hb; sb-other-location | hb on the same
// location | mo | reads-before) [SC]
ScSet Graph::sc_before(const Event& draft, int after) const {
  ScSet result;
  const int place = event(after).position;
  for (std::size_t n = 0; n < sc_events_.size(); ++n) {
    const Event& other = event(sc_events_[n]);
    bool before = other.thread == draft.thread;
    if (!before && known(draft.clock, other)) {
      before =
          other.location == draft.location || goes_around(draft, sc_events_[n]);
    }
    if (!before && other.location == draft.location && draft.writes()) {
      const int position = other.kind == Kind::load ? event(other.from).position
                                                    : other.position;
      before = position <= place;
    }
    if (before) result.set(n);
  }
  return result;
}

// Is there a way from `before` to the draft that starts and ends with a step to
// another location?
bool Graph::goes_around(const Event& draft, int before) const {
  const auto& own = by_thread_[static_cast<std::size_t>(draft.thread)];
  auto last = own.rbegin();
  while (last != own.rend() && event(*last).location == draft.location) ++last;
  if (last == own.rend()) return false;
  const Event& other = event(before);
  const auto u = static_cast<std::size_t>(other.thread);
  for (std::size_t i = other.index; i < by_thread_[u].size(); ++i) {
    const Event& next = event(by_thread_[u][i]);
    if (next.index > event(*last).clock[u]) return false;
    if (next.location != other.location) return true;
  }
  return false;
}

int Graph::unordered_use(int thread, const std::byte* begin,
                         std::size_t size) const {
  const Clock& now = clock(thread);
  for (int id = 0; id < this->size(); ++id) {
    const Event& other = event(id);
    const auto* at =
        static_cast<const std::byte*>(location(other.location).address);
    if (std::less<>()(at, begin) || !std::less<>()(at, begin + size)) continue;
    if (other.thread != kSetup && other.thread != thread &&
        !known(now, other)) {
      return id;
    }
  }
  return kNoEvent;
}

int Graph::unseen_maker(int thread, int location_id) const {
  const Event& made = event(location(location_id).stores.front());
  const bool seen = made.thread == kSetup || made.thread == thread ||
                    known(clock(thread), made);
  return seen ? kSetup : made.thread;
}

void Graph::join_all(int thread) {
  auto& clock = clocks_[static_cast<std::size_t>(thread)];
  for (std::size_t i = 0; i < kMaxThreads; ++i) {
    clock.join(clocks_[i]);
    ++clock[i];  // also what it did after its last event
  }
}

}  // namespace weft::model
