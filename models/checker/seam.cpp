// seam.cpp: the explorer as its strands see it. Runs on their stacks.
#include <algorithm>
#include <string>

#include "base/check.hpp"
#include "checker/explorer.hpp"
#include "checker/program.hpp"

namespace weft::model {

namespace {

std::string key_of(const Site& site) {
  return std::string(site.file_name()) + ":" + std::to_string(site.line()) +
         ":" + std::to_string(site.column());
}

// Whose thread calls. `what` is named if nobody's does.
Explorer& here(const char* what) {
  auto* const seam = base::model_seam();
  WEFT_CHECK(seam != nullptr,
             "%s outside of a model's threads: the function that builds the "
             "model ends before they run",
             what);
  return *static_cast<Explorer*>(seam);
}

}  // namespace

void expect(bool holds, const char* what, base::Site site) {
  if (holds) return;
  here("expect()").fail(site.file_name(), static_cast<int>(site.line()), what);
}

void progress() { here("progress()").progress(); }

void Explorer::progress() noexcept {
  self().history.clear();
  self().cycle.clear();
}

std::uint64_t Explorer::post(Pending pending) {
  Thread& thread = self();
  thread.pending = pending;
  thread.strand.leave();
  if (pending.what != What::spin && pending.what != What::sleep &&
      pending.what != What::barrier) {
    check_alive(graph_.location(pending.access.location).address);
    check_made(pending.access.location);
  }
  catch_up();
  return thread.pending.result;
}

// A store that a mutation held back until now.
void Explorer::catch_up() {
  Thread& thread = self();
  if (!thread.late) return;
  const Pending store = *thread.late;
  const Pending answered = thread.pending;
  thread.late.reset();
  answer_if_chosen(store.access.site);
  post(store);
  progress();
  thread.pending = answered;
}

std::string Explorer::name_of(int thread) const {
  const auto i = static_cast<std::size_t>(thread);
  return i < program_->threads_.size() ? program_->threads_[i].name
                                       : std::string("finally");
}

std::byte* Explorer::begin_life(std::size_t size, std::string name) {
  auto* memory = lifetimes_.begin(size, name);
  program_->names_.push_back({memory, size, std::move(name)});
  return memory;
}

void Explorer::end_life(void* object, Site site) {
  auto* life = lifetimes_.at(object);
  note("ends an object", site);
  const int use = graph_.unordered_use(current_, life->begin, life->size);
  const auto* plain = races_.end(life->begin, life->size, current_,
                                 graph_.clock(current_), site);
  life->ended = true;
  if (use == kNoEvent && plain == nullptr) return;
  const int user = use != kNoEvent ? graph_.event(use).thread : plain->thread;
  end(Verdict::race, name_of(current_) + " ends " + life->name +
                         ", which nothing orders after a use by " +
                         name_of(user));
  abandon();
}

void Explorer::check_alive(const void* address) {
  const auto* life = lifetimes_.at(address);
  if (life == nullptr || !life->ended) return;
  end(Verdict::failed,
      name_of(current_) + " uses " + life->name + " after its end");
  abandon();
}

// The making of an object is no atomic operation: it comes first, or races.
void Explorer::check_made(int location) {
  const int maker = graph_.unseen_maker(current_, location);
  if (maker == kSetup) return;
  end(Verdict::race, name_of(current_) +
                         " uses an atomic object whose making by " +
                         name_of(maker) + " nothing orders before");
  abandon();
}

namespace detail {
std::byte* begin_life(std::size_t size, std::string name) {
  return here("create()").begin_life(size, std::move(name));
}
void end_life(void* object, base::Site site) {
  here("destroy()").end_life(object, site);
}
}  // namespace detail

// What the thread last read or wrote there.
std::optional<std::uint64_t> Explorer::known_value(int location) const {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->thread != current_ || step->event == kNoEvent) continue;
    const auto& event = graph_.event(step->event);
    if (event.location == location) {
      return event.writes() ? event.written : event.read;
    }
  }
  return std::nullopt;
}

void Explorer::abandon() {
  for (;;) self().strand.leave();  // nobody comes back
}

Access Explorer::access_to(base::ModelWord word, Order order, Site site) {
  return {.thread = current_,
          .location = graph_.locate(word.address, word.size, word.bits),
          .order = order,
          .site = site};
}

bool Explorer::mutates(const Site& site) {
  if (options_.mutation == nullptr) return false;
  const auto [found, added] = mutated_sites_.try_emplace(key_of(site));
  if (added) found->second = applies(*options_.mutation, site);
  if (found->second) ++report_.mutated;
  return found->second;
}

void Explorer::use(const Site& site, SiteKind kind, Order order,
                   bool on_failure) {
  if (!options_.collect_sites) return;
  const auto key = key_of(site) + (on_failure ? "!" : "");
  if (used_sites_.insert(key).second) {
    report_.sites.push_back({site, kind, order, on_failure});
  }
}

void Explorer::created(base::ModelWord word) noexcept {
  graph_.create(current_, word.address, word.size, word.bits);
}

// By a mutation, in place of a look. A loop around it may have no end.
std::uint64_t Explorer::keep(std::uint64_t known, Site site) {
  note("does not look again", site);
  if (steps_.size() > static_cast<std::size_t>(options_.max_steps)) {
    end(Verdict::too_long, "a loop that does not look again");
    abandon();
  }
  return known;
}

std::uint64_t Explorer::load(base::ModelWord word, Order order,
                             Site site) noexcept {
  answer_if_chosen(site);
  wait_if_repeating(site);
  Pending pending{.what = What::load, .access = access_to(word, order, site)};
  use(site, SiteKind::load, order, false);
  if (mutates(site)) {
    if (options_.mutation->effect == Effect::stale) {
      if (const auto known = known_value(pending.access.location)) {
        return keep(*known, site);
      }
    } else {
      pending.access.order = options_.mutation->weaker;
    }
  }
  return post(pending);
}

void Explorer::store(base::ModelWord word, std::uint64_t bits, Order order,
                     Site site) noexcept {
  answer_if_chosen(site);
  Pending pending{.what = What::store,
                  .access = access_to(word, order, site),
                  .operand = bits};
  use(site, SiteKind::store, order, false);
  if (mutates(site)) {
    if (options_.mutation->effect == Effect::skip) {
      return note("skips the store", site);
    }
    if (options_.mutation->effect == Effect::late) {
      catch_up();  // not two at a time
      note("puts the store off", site);
      self().late = pending;
      return;
    }
    pending.access.order = options_.mutation->weaker;
  }
  post(pending);
  self().history.clear();
  self().cycle.clear();
}

std::uint64_t Explorer::change(base::ModelWord word, base::Change what,
                               std::uint64_t operand, Order order,
                               Site site) noexcept {
  answer_if_chosen(site);
  Pending pending{.what = What::change,
                  .access = access_to(word, order, site),
                  .change = what,
                  .operand = operand};
  use(site, SiteKind::change, order, false);
  if (mutates(site)) {
    pending.skip = options_.mutation->effect == Effect::skip;
    if (!pending.skip) pending.access.order = options_.mutation->weaker;
  }
  return post(pending);
}

bool Explorer::compare_exchange(base::ModelWord word, std::uint64_t& expected,
                                std::uint64_t desired, Order success,
                                Order failure, bool weak, Site site) noexcept {
  answer_if_chosen(site);
  wait_if_repeating(site);
  Pending pending{.what = What::compare,
                  .access = access_to(word, success, site),
                  .failure = failure,
                  .weak = weak,
                  .operand = desired,
                  .expected = expected};
  use(site, SiteKind::change, success, false);
  use(site, SiteKind::load, failure, true);
  if (mutates(site)) {
    const auto effect = options_.mutation->effect;
    pending.skip = effect == Effect::skip;
    if (effect == Effect::weaken) {
      pending.access.order = options_.mutation->weaker;
    } else if (effect == Effect::weaken_failure) {
      pending.failure = options_.mutation->weaker;
    }
  }
  const auto seen = post(pending);
  if (self().pending.success) return true;
  expected = seen;
  return false;
}

void Explorer::plain(const void* address, bool writes, Site site) noexcept {
  answer_if_chosen(site);
  steps_.push_back({.thread = current_,
                    .address = address,
                    .text = writes ? "writes" : "reads",
                    .site = site});
  check_alive(address);
  const auto* other =
      races_.use(address, current_, graph_.clock(current_), writes, site);
  if (other == nullptr) return catch_up();
  end(Verdict::race, "data race of " + name_of(other->thread) + " and " +
                         name_of(current_) + " on plain data");
  abandon();
}

void Explorer::note(const char* text, Site site) {
  steps_.push_back({.thread = current_, .text = text, .site = site});
}

void Explorer::pause(Site site) noexcept {
  auto& history = self().history;
  if (!history.empty()) wait_for_change(history, site);
}

// In place of the loop's next round.
void Explorer::wait_for_change(std::vector<Read> reads, Site site) {
  Thread& thread = self();
  if (reads == thread.cycle) {
    ended_ = dropped_ = true;
    abandon();
  }
  note("waits for a change", site);
  thread.history.clear();
  thread.cycle = std::move(reads);
  post({.what = What::spin});
  const auto& first = thread.cycle.front();
  const bool same_word =
      std::all_of(thread.cycle.begin(), thread.cycle.end(),
                  [&](auto& read) { return read.location == first.location; });
  if (same_word) {
    thread.floor_location = first.location;
    thread.floor_store = thread.cycle.back().store;
  }
}

void Explorer::wait_if_repeating(Site site) {
  Thread& thread = self();
  const auto& history = thread.history;
  if (!thread.cycle.empty() && history.size() == thread.cycle.size()) {
    if (history == thread.cycle) {
      ended_ = dropped_ = true;
      abandon();
    }
    thread.cycle.clear();
  }
  constexpr std::size_t kLongest = 6;
  const auto repeats = static_cast<std::size_t>(options_.repeats);
  for (std::size_t k = 1; k <= kLongest && k * repeats <= history.size(); ++k) {
    const auto tail = history.end() - static_cast<std::ptrdiff_t>(k);
    const auto first = history.end() - static_cast<std::ptrdiff_t>(k * repeats);
    // A sequence equals itself shifted by k: it consists of copies.
    if (std::equal(first, tail, first + static_cast<std::ptrdiff_t>(k))) {
      return wait_for_change({tail, history.end()}, site);
    }
  }
}

// The kernel's lock on the word's queue is a word of its own: whoever comes
// second has seen what the first did before.
void Explorer::futex_wait(base::ModelWord word, std::uint32_t expected,
                          bool has_deadline) noexcept {
  const auto site = Site::current();
  const base::ModelWord queue{static_cast<const char*>(word.address) + 1, 0, 0};
  change(queue, base::Change::add, 1, std::memory_order_acq_rel, site);
  has_deadline = has_deadline && options_.deadlines;
  auto& waiting = sleepers_[word.address];
  const int id = current_;
  self().woken = false;
  waiting.push_back(id);
  const bool same =
      load(word, std::memory_order_relaxed, site) == std::uint64_t{expected};
  const bool gives_up = !same || (has_deadline && choices_.choose(2) == 1);
  if (!gives_up) {
    note("sleeps", site);
    self().sleeps_until = has_deadline;
    post({.what = What::sleep});
    note("wakes", site);
  }
  auto& left = sleepers_[word.address];
  left.erase(std::remove(left.begin(), left.end(), id), left.end());
}

void Explorer::futex_wake(base::ModelWord word, int count) noexcept {
  const base::ModelWord queue{static_cast<const char*>(word.address) + 1, 0, 0};
  change(queue, base::Change::add, 1, std::memory_order_acq_rel,
         Site::current());
  auto& waiting = sleepers_[word.address];
  for (; count > 0 && !waiting.empty(); --count) {
    threads_[static_cast<std::size_t>(waiting.front())].woken = true;
    waiting.erase(waiting.begin());
  }
}

void Explorer::fail(const char* file, int line, const char* text) noexcept {
  std::string where = file;
  where = where.substr(where.find_last_of('/') + 1);
  end(Verdict::failed,
      std::string(text) + " (" + where + ":" + std::to_string(line) + ")");
  abandon();
}

}  // namespace weft::model
