// linearizable.hpp: was what each call of a channel answered possible, one call
// after the other, in an order that real time allows?
//
// History records when each call began and ended, by one counter. is_legal()
// searches for an order (Wing and Gong, "Testing and verifying concurrent
// objects", 1993; states that led nowhere are remembered) in which a sequential
// channel gives the same answers. That channel is a buffer, a list of senders
// who wait and how it was closed; so a call that waits happens in two steps:
//
//   send     enters: into the buffer, or behind it as one who waits. Ends: by
//            its turn, with a close as C-12 says, or given up. Where full
//            channels drop it does not wait: it fails, or the oldest goes.
//   receive  takes the oldest value, of a sender if there is no buffer; fails
//            when it is closed and nothing is left.
//   close    of the sending side: who waits at a buffer is let in behind it,
//            who waits for a rendezvous fails. Of the receiving side: nothing
//            is left, and who waits fails.
//
// A select is the call of the case that happened. A cancelled or late call has
// had no effect, so it may be anywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <weft/channel.hpp>
#include <weft/result.hpp>

namespace weft::test {

enum class Call : std::uint8_t { send, receive, close_sender, close_receiver };

struct Operation {
  Call call = Call::send;
  bool is_try = false;  // would_block is an answer of its own
  int value = 0;        // sent, or received
  Errc end = Errc{};    // Errc{}: ok
  std::uint64_t began = 0;
  std::uint64_t ended = UINT64_MAX;  // UINT64_MAX: it never did
};

inline std::ostream& operator<<(std::ostream& out, const Operation& one) {
  constexpr const char* kNames[] = {"send", "receive", "close", "hang up"};
  out << one.began << "-" << one.ended << " " << (one.is_try ? "try " : "")
      << kNames[static_cast<std::size_t>(one.call)] << " " << one.value
      << " -> ";
  if (one.end == Errc{}) return out << "ok";
  return out << one.end;
}

// Of one channel. Any fiber or thread.
class History {
 public:
  std::size_t begin(Call call, int value = 0, bool is_try = false) {
    const std::lock_guard hold(mutex_);
    all_.push_back({call, is_try, value, Errc{}, ++now_, UINT64_MAX});
    return all_.size() - 1;
  }
  void end(std::size_t which, Errc how, int value = 0) {
    const std::lock_guard hold(mutex_);
    auto& one = all_[which];
    one.ended = ++now_;
    one.end = how;
    if (one.call == Call::receive) one.value = value;
  }
  // Of a call that has had no effect.
  void forget(std::size_t which) { end(which, Errc::cancelled); }
  // For histories written down by hand.
  void add(const Operation& one) { all_.push_back(one); }
  // Once no call is under way.
  const std::vector<Operation>& all() const { return all_; }

 private:
  std::mutex mutex_;
  std::vector<Operation> all_;
  std::uint64_t now_ = 0;
};

class Linearizer {
 public:
  Linearizer(std::size_t capacity, const History& history,
             OnFull on_full = OnFull::wait)
      : capacity_(capacity),
        on_full_(capacity == 0 && on_full == OnFull::drop_oldest
                     ? OnFull::drop_newest
                     : on_full),
        calls_(history.all()) {}

  bool is_legal() {
    State start;
    start.steps.assign(calls_.size(), Step::before);
    seen_.clear();
    return search(start);
  }

 private:
  // Where a call is. waits: it has entered and holds its value outside.
  // let_in: a sender whose value is in, but who has not answered.
  enum class Step : char { before, waits, let_in, refused, over };

  struct State {
    std::vector<Step> steps;
    std::vector<int> inside;           // the buffer, and behind it late ones
    std::vector<std::size_t> senders;  // who wait, by their number
    bool closed = false;
    bool operator<(const State& other) const {
      return std::tie(steps, inside, senders, closed) <
             std::tie(other.steps, other.inside, other.senders, other.closed);
    }
  };

  // Did what it answered leave no trace?
  static bool has_no_effect(const Operation& one) {
    return one.end == Errc::cancelled || one.end == Errc::timed_out;
  }
  // A send that may have to.
  bool waits(const Operation& one) const {
    return !one.is_try && on_full_ == OnFull::wait;
  }
  bool drops_oldest(const Operation& one) const {
    return !one.is_try && on_full_ == OnFull::drop_oldest;
  }
  static bool never_ended(const Operation& one) {
    return one.ended == UINT64_MAX;
  }

  bool search(const State& state) {
    if (!seen_.insert(state).second) return false;
    const auto until = first_end(state);
    if (until == UINT64_MAX) return true;  // all that ended has happened
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (state.steps[i] == Step::over || calls_[i].began > until) continue;
      if (take_step(state, i)) return true;
    }
    return false;
  }

  // No call may happen that begins after one has ended that has not happened.
  std::uint64_t first_end(const State& state) const {
    std::uint64_t first = UINT64_MAX;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (state.steps[i] == Step::over) continue;
      first = std::min(first, calls_[i].ended);
    }
    return first;
  }

  bool take_step(const State& state, std::size_t which) {
    const auto& one = calls_[which];
    State next = state;
    auto& step = next.steps[which];
    switch (one.call) {
      case Call::send:
        return step == Step::before ? sends(next, which) : answers(next, which);
      case Call::receive:
        return receives(next, which);
      case Call::close_sender:
      case Call::close_receiver:
        step = Step::over;
        close(next, one.call == Call::close_receiver);
        return search(next);
    }
    return false;
  }

  bool sends(State& next, std::size_t which) {
    const auto& one = calls_[which];
    auto& step = next.steps[which];
    if (next.closed) {
      // A call that gave up may have done so before it looked.
      if (one.end != Errc::closed && !has_no_effect(one)) return false;
      step = Step::over;
      return search(next);
    }
    const bool room = capacity_ != 0 && next.inside.size() < capacity_ &&
                      next.senders.empty();
    if (!waits(one)) {
      // At a rendezvous it succeeds by way of a receiver, see meets_try().
      const bool makes_room = room || drops_oldest(one);
      if (one.end == Errc{} && makes_room) {
        if (!room) next.inside.erase(next.inside.begin());
        next.inside.push_back(one.value);
      } else if (!has_no_effect(one) &&
                 (one.end != Errc::would_block || makes_room)) {
        return false;
      }
      step = Step::over;
      return search(next);
    }
    if (room) {
      if (one.end != Errc{} && !never_ended(one)) {
        return has_no_effect(one) && finish(next, which);
      }
      next.inside.push_back(one.value);
      step = Step::let_in;
    } else {
      next.senders.push_back(which);
      step = Step::waits;
    }
    return search(next);
  }

  // A sender that has entered says how it went.
  bool answers(State& next, std::size_t which) {
    const auto& one = calls_[which];
    if (never_ended(one)) return false;
    switch (next.steps[which]) {
      case Step::let_in:
        return one.end == Errc{} && finish(next, which);
      case Step::refused:
        return one.end == Errc::closed && finish(next, which);
      case Step::waits:
        if (!has_no_effect(one)) return false;
        std::erase(next.senders, which);
        return finish(next, which);
      default:
        return false;
    }
  }

  bool receives(State& next, std::size_t which) {
    const auto& one = calls_[which];
    const bool something = !next.inside.empty() || !next.senders.empty();
    if (has_no_effect(one)) return finish(next, which);
    if (one.end == Errc::would_block) {
      return !something && !next.closed && finish(next, which);
    }
    if (one.end != Errc{}) {
      return !something && next.closed && finish(next, which);
    }
    if (!something) return meets_try(next, which);
    int oldest = 0;
    if (!next.inside.empty()) {
      oldest = next.inside.front();
      next.inside.erase(next.inside.begin());
      if (!next.senders.empty()) let_in(next);
    } else {
      oldest = calls_[next.senders.front()].value;
      next.steps[next.senders.front()] = Step::let_in;
      next.senders.erase(next.senders.begin());
    }
    if (oldest != one.value && !never_ended(one)) return false;
    next.steps[which] = Step::over;
    return search(next);
  }

  // A receive that waits, and a try_send that finds it: at once.
  bool meets_try(const State& state, std::size_t which) {
    const auto& one = calls_[which];
    if (capacity_ != 0 || one.is_try || state.closed) return false;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const auto& other = calls_[i];
      if (state.steps[i] != Step::before || other.call != Call::send) continue;
      if (waits(other) || other.end != Errc{}) continue;
      if (other.began > first_end(state)) continue;
      if (!never_ended(one) && other.value != one.value) continue;
      State next = state;
      next.steps[which] = Step::over;
      next.steps[i] = Step::over;
      if (search(next)) return true;
    }
    return false;
  }

  bool finish(State& next, std::size_t which) {
    next.steps[which] = Step::over;
    return search(next);
  }

  void let_in(State& next) const {
    const auto first = next.senders.front();
    next.senders.erase(next.senders.begin());
    next.steps[first] = Step::let_in;
    next.inside.push_back(calls_[first].value);
  }

  void close(State& next, bool by_receiver) const {
    const bool first = !next.closed;
    next.closed = true;
    if (first && !by_receiver && capacity_ != 0) {
      while (!next.senders.empty()) let_in(next);
    }
    if (first) {
      for (const auto i : next.senders) next.steps[i] = Step::refused;
      next.senders.clear();
    }
    if (by_receiver) next.inside.clear();
  }

  const std::size_t capacity_;
  const OnFull on_full_;
  const std::vector<Operation> calls_;
  std::set<State> seen_;
};

// Answers "" or the history that no channel has.
inline std::string why_not_linearizable(std::size_t capacity,
                                        const History& history,
                                        OnFull on_full = OnFull::wait) {
  if (Linearizer(capacity, history, on_full).is_legal()) return "";
  std::ostringstream out;
  out << "no channel of capacity " << capacity << " answers so:";
  for (const auto& one : history.all()) out << "\n  " << one;
  return out.str();
}

}  // namespace weft::test
