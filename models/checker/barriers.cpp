// barriers.cpp: heavy_barrier(), which makes every other thread pass a full
// barrier between two of its operations, as membarrier(2) does.
//
// Where each thread is interrupted is a choice of its own, before each of its
// operations; an execution in which a thread waits for an interrupt that does
// not come is dropped.
#include <algorithm>

#include "checker/explorer.hpp"

namespace weft::model {

// All heavy barriers, and all answers to them, are read-modify-writes of one
// word: each has seen what came before the earlier ones.
int Explorer::barrier_word() {
  static const char kWord = 0;
  return graph_.locate(&kWord, 0, 0);
}

// Before each operation and each use of plain data: interrupts may come here.
void Explorer::answer_if_chosen(Site site) {
  if (current_ >= static_cast<int>(program_->threads_.size())) return;
  while (self().answered < options_.heavy_barriers && choices_.choose(2) == 1) {
    ++self().answered;
    post({.what = What::change,
          .access = {.thread = current_,
                     .location = barrier_word(),
                     .order = std::memory_order_acq_rel,
                     .site = site},
          .change = base::Change::add,
          .answers = true});
  }
}

void Explorer::heavy_barrier(Site site) noexcept {
  if (mutates(site)) return note("skips the barrier", site);
  if (++barriers_ > options_.heavy_barriers) {
    end(Verdict::failed, "more heavy barriers than Options::heavy_barriers");
    abandon();
  }
  const Pending step{.what = What::change,
                     .access = {.thread = current_,
                                .location = barrier_word(),
                                .order = std::memory_order_acq_rel,
                                .site = site},
                     .change = base::Change::add};
  post(step);
  self().barrier = graph_.latest(barrier_word());
  self().let_others_at = kNoEvent;
  post({.what = What::barrier});
  self().barrier = kNoEvent;
  post(step);
}

// Since this beginning of a heavy barrier, has the thread passed one?
bool Explorer::has_answered(int id, int barrier) const {
  const auto& begin = graph_.event(barrier);
  const auto& stores = graph_.location(begin.location).stores;
  for (auto i = static_cast<std::size_t>(begin.position) + 1; i < stores.size();
       ++i) {
    if (graph_.event(stores[i]).thread == id) return true;
  }
  return false;
}

// Does somebody's heavy barrier wait for this thread?
bool Explorer::is_wanted(int id) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const Thread& caller = threads_[i];
    if (static_cast<int>(i) != id && caller.barrier != kNoEvent &&
        !has_answered(id, caller.barrier)) {
      return true;
    }
  }
  return false;
}

// Who runs answers at a place of its own choice. Who has ended, or waits, is
// where it is; but who waits may also go on first, if anybody lets it.
bool Explorer::barrier_may_end(int caller) {
  Thread& thread = threads_[static_cast<std::size_t>(caller)];
  bool some_wait = false;
  int latest = 0;  // event of those
  for (int id = 0; id < static_cast<int>(count_); ++id) {
    if (id == caller || has_answered(id, thread.barrier)) continue;
    const Thread& other = threads_[static_cast<std::size_t>(id)];
    if (other.strand.done() || other.pending.what == What::barrier) continue;
    const auto what = other.pending.what;
    if (what != What::spin && what != What::sleep) return false;
    some_wait = true;
    latest = std::max(latest, last_event(id));
  }
  if (some_wait) {
    // Asked once for each place where they wait.
    if (latest <= thread.let_others_at) return false;
    if (choices_.choose(2) == 1) {
      thread.let_others_at = latest;
      return false;
    }
  }
  for (int id = 0; id < static_cast<int>(count_); ++id) {
    if (id != caller && !has_answered(id, thread.barrier)) answer_for(id);
  }
  return true;
}

void Explorer::answer_for(int id) {
  const int word = barrier_word();
  steps_.push_back(
      {.thread = id,
       .event = graph_.add_rmw(
           {.thread = id, .location = word, .order = std::memory_order_acq_rel},
           graph_.latest(word), 0)});
}

// The number of its last event in the graph, or -1.
int Explorer::last_event(int id) const {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->thread == id && step->event != kNoEvent) return step->event;
  }
  return -1;
}

}  // namespace weft::model
