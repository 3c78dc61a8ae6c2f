// select.cpp: one wait at several things.
//
// Try each; if none is ready, open a wait, link a node at each, in the order of
// their addresses, and park. Who links never claims others while his own wait
// is open: if a source turns out to be ready he withdraws and tries again (W6).
// Publishing in one order, the first of two selects that meet at two channels
// stays claimable for the other.

#include <algorithm>
#include <functional>

#include "base/check.hpp"
#include "sched/worker.hpp"
#include "sync/channel_core.hpp"
#include "sync/core_in.hpp"
#include "sync/future_access.hpp"
#include "sync/lots.hpp"
#include "sync/sequencer_core.hpp"
#include "wait/charge.hpp"
#include "wait/waiter_access.hpp"
#include <weft/channel.hpp>
#include <weft/detail/select.hpp>

namespace weft::detail {

struct SequencerAccess {
  static sync::SequencerCore& core(Sequencer& sequencer) noexcept {
    return sync::core_in<sync::SequencerCore>(sequencer.core_);
  }
  static sync::SequencerWait& wait(Sequencer::Future& future) noexcept {
    return sync::core_in<sync::SequencerWait>(future.wait_);
  }
};

using fiber::Fiber;
using fiber::WaitNode;
using sync::ChannelCore;
using sync::core_in;
using sync::FutureWord;
using sync::SequencerCore;
using sync::SequencerWait;

namespace {

WaitNode& node_of(Waiter& waiter) noexcept {
  return WaiterAccess::node(waiter);
}

// ---- Channels

ChannelCore& channel_at(void* waitable) noexcept {
  return *static_cast<ChannelCore*>(waitable);
}

template <ChannelSide As>
bool try_channel(void* waitable, Waiter& waiter) noexcept {
  auto& channel = channel_at(waitable);
  auto& io = waiter.slot<ChannelIo>();
  const auto& node = node_of(waiter);
  if (node.reason != fiber::Reason::none) {  // it was ended by the channel
    io.result = channel.result(As, node);
    return true;
  }
  if constexpr (As == ChannelSide::receives) {
    io.result = channel.try_receive(io.value);
  } else if (channel.on_full() == OnFull::wait) {
    io.result = channel.try_send(io.value);
  } else {
    io.result = channel.send_or_drop(io.value);
    return true;
  }
  return io.result.error() != Errc::would_block;
}

template <ChannelSide As>
Published publish_channel(void* waitable, Waiter& waiter) noexcept {
  return channel_at(waitable).publish(As, node_of(waiter)) ? Published::linked
                                                           : Published::ready;
}

template <ChannelSide As>
void unpublish_channel(void* waitable, Waiter& waiter) noexcept {
  auto& node = node_of(waiter);
  if (!node.gone()) channel_at(waitable).unpublish(As, node);
}

// ---- Tasks and futures: one word each, which holds the node.

fiber::JoinWord& join_word_at(void* frame) noexcept {
  return static_cast<Fiber*>(frame)->join;
}

bool is_done(void* frame, Waiter& /*waiter*/) noexcept {
  return join_word_at(frame).is_done();
}

Published await_done(void* frame, Waiter& waiter) noexcept {
  auto& node = node_of(waiter);
  WEFT_CHECK(node.fiber != frame, "a fiber selects on its own end");
  node.linked();
  const auto entered = join_word_at(frame).enter(node);
  WEFT_CHECK(entered != fiber::JoinWord::Entered::taken,
             "a task is selected on while somebody waits for it");
  if (entered == fiber::JoinWord::Entered::waiting) return Published::linked;
  node.unlinked();
  return Published::ready;
}

void leave_done(void* frame, Waiter& waiter) noexcept {
  auto& node = node_of(waiter);
  if (!node.gone() && join_word_at(frame).leave(node)) node.unlinked();
}

FutureWord& word_at(void* future) noexcept {
  return FutureAccess::core(*static_cast<AnyFuture*>(future)).word();
}

bool is_set(void* future, Waiter& /*waiter*/) noexcept {
  return word_at(future).is_set();
}

Published await_word(FutureWord& word, WaitNode& node) noexcept {
  node.linked();
  const auto entered = word.enter(node);
  WEFT_CHECK(entered != FutureWord::Entered::taken,
             "a future is selected on while somebody waits for it");
  if (entered == FutureWord::Entered::waiting) return Published::linked;
  node.unlinked();
  return Published::ready;
}

void leave_word(FutureWord& word, WaitNode& node) noexcept {
  if (!node.gone() && word.leave(node)) node.unlinked();
}

Published await_set(void* future, Waiter& waiter) noexcept {
  return await_word(word_at(future), node_of(waiter));
}

void leave_set(void* future, Waiter& waiter) noexcept {
  leave_word(word_at(future), node_of(waiter));
}

// ---- Sequencers and events: by a future that is set when the token is
// reached, and cancelled when something else happened first.

SequencerCore& sequencer_at(void* waitable) noexcept {
  return SequencerAccess::core(*static_cast<Sequencer*>(waitable));
}

std::uint64_t token_of(const SequencerIo& io, std::uint64_t now) noexcept {
  return io.token.value_or(now | 1);
}

bool is_reached(void* waitable, Waiter& waiter) noexcept {
  if (node_of(waiter).reason != fiber::Reason::none) return true;
  const auto now = sequencer_at(waitable).value();
  return now >= token_of(waiter.slot<SequencerIo>(), now);
}

void forget(Sequencer::Future& done) noexcept {
  SequencerAccess::wait(done).cancel();  // it is set then
  done.reset();
}

Published await_reached(void* waitable, Waiter& waiter) noexcept {
  auto& sequencer = sequencer_at(waitable);
  const auto& io = waiter.slot<SequencerIo>();
  sequencer.wait(token_of(io, sequencer.value()),
                 SequencerAccess::wait(*io.done));
  const auto how = await_word(word_at(io.done), node_of(waiter));
  if (how == Published::ready) forget(*io.done);
  return how;
}

void leave_reached(void* /*waitable*/, Waiter& waiter) noexcept {
  const auto& io = waiter.slot<SequencerIo>();
  auto& node = node_of(waiter);
  leave_word(word_at(io.done), node);
  waiting::until_gone(node);
  forget(*io.done);
}

}  // namespace

const WaitOps kReceives{&try_channel<ChannelSide::receives>,
                        &publish_channel<ChannelSide::receives>,
                        &unpublish_channel<ChannelSide::receives>};
const WaitOps kSends{&try_channel<ChannelSide::sends>,
                     &publish_channel<ChannelSide::sends>,
                     &unpublish_channel<ChannelSide::sends>};
const WaitOps kIsDone{&is_done, &await_done, &leave_done};
const WaitOps kIsSet{&is_set, &await_set, &leave_set};
const WaitOps kIsReached{&is_reached, &await_reached, &leave_reached};

// A wait at some cases: those of `order`, in that order.
struct SelectWait {
  SelectCase* const* cases;
  std::uint16_t* order;
  std::size_t count;
  bool fair;

  void* waitable(std::size_t i) const noexcept { return cases[i]->waitable_; }
  bool try_case(std::size_t i) const noexcept {
    auto& one = *cases[i];
    return one.waitable_ == nullptr ||
           one.ops_->try_complete(one.waitable_, one.waiter_);
  }

  // One that is ready: any of them, or the first. count: none is.
  std::size_t first_ready() const noexcept {
    const auto meets = [this](std::size_t i) { return try_case(i); };
    if (fair) return sync::first_by_lot(order, count, &draw, meets);
    std::size_t i = 0;
    while (i < count && !meets(i)) ++i;
    return i;
  }
  // In a simulation the same lot in the same run.
  static std::uint64_t draw() noexcept {
    auto& here = sched::carrier();
    return here.simulator != nullptr ? here.simulator->draw()
                                     : sync::next_lot(here.lots);
  }

  void sort() const noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      order[i] = static_cast<std::uint16_t>(i);
    }
    const auto before = [this](std::uint16_t a, std::uint16_t b) {
      return std::less<>()(waitable(a), waitable(b));
    };
    constexpr std::size_t kFew = 8;
    if (count > kFew) return std::sort(order, order + count, before);
    for (std::size_t i = 1; i < count; ++i) {
      for (auto k = i; k > 0 && before(order[k], order[k - 1]); --k) {
        std::swap(order[k], order[k - 1]);
      }
    }
  }

  // Links the nodes of the cases in order until one need not. Answers how many
  // are linked; how: what the next one said.
  std::size_t publish(const waiting::Wait& wait, Published& how) noexcept {
    how = Published::linked;
    std::size_t linked = 0;
    while (linked < count) {
      auto& one = *cases[order[linked]];
      auto& node = node_of(one.waiter_);
      wait.own(node);
      node.index = order[linked];
      how = one.ops_->publish(one.waitable_, one.waiter_);
      if (how != Published::linked) break;
      ++linked;
    }
    return linked;
  }
  void unpublish(std::size_t linked) noexcept {
    for (std::size_t i = 0; i < linked; ++i) {
      auto& one = *cases[order[i]];
      one.ops_->unpublish(one.waitable_, one.waiter_);
      waiting::until_gone(node_of(one.waiter_));
    }
  }
  void never_comes(std::size_t i) const noexcept {
    cases[i]->refused_ = Errc::closed;
  }

  // As a simulation asks about it, while the nodes are linked: at both ends of
  // one channel they must not meet.
  static bool is_over(void* it) noexcept {
    const auto& self = *static_cast<const SelectWait*>(it);
    for (std::size_t i = 0; i < self.count; ++i) {
      if (self.is_ready(i)) return true;
    }
    return false;
  }
  bool is_ready(std::size_t i) const noexcept {
    auto& one = *cases[i];
    const bool receives = one.ops_ == &kReceives;
    if (!receives && one.ops_ != &kSends) return try_case(i);
    return channel_at(one.waitable_)
        .is_ready(receives ? ChannelSide::receives : ChannelSide::sends,
                  *node_of(one.waiter_).fiber);
  }
};

void SelectCase::use(void* io) noexcept {
  node_of(waiter_).slot = io;
  node_of(waiter_).reason = fiber::Reason::none;
}

std::size_t checked_case_count(std::size_t count) noexcept {
  WEFT_CHECK(count <= kMostCases, "a Selector for %zu cases; at most %zu",
             count, kMostCases);
  return count;
}

Result<std::size_t> select_cases(SelectCase* const* cases, std::uint16_t* order,
                                 std::size_t count, const SelectHow& how,
                                 Deadline deadline) noexcept {
  SelectWait all{cases, order, count, how.fair};
  if (!how.at_once) sched::check_may_park(sched::carrier());
  // One that never has to wait must not keep its worker to itself.
  if (auto* const worker = sched::carrier().worker; worker && !how.at_once) {
    worker->count_as_dispatch();
  }
  const void* const first = count != 0 ? all.waitable(0) : nullptr;
  sched::interleave(sched::carrier(), sched::Op::select, first);
  if (auto& self = *sched::carrier().current; waiting::must_stop(self)) {
    return waiting::refuse_stopped(self).error();
  }
  if (how.is_charged) {
    auto& self = *sched::carrier().current;
    const Status paid =
        waiting::charge(self, waiting::kChannelOp, !how.at_once, deadline);
    if (!paid && paid.error() == Errc::timed_out) {  // its own, or a scope's?
      const auto stop = fiber::stop_of(self);
      if (stop == fiber::Stop::none) return count;
      return to_errc(stop);
    }
    if (!paid) return paid.error();
  }
  for (;;) {
    if (const auto ready = all.first_ready(); ready != count) return ready;
    if (how.at_once) return Errc::would_block;
    if (count == 0 && deadline == Deadline::never()) return Errc::invalid;
    all.sort();
    waiting::Wait wait;
    if (wait.begin(/*shield=*/false) == waiting::Begun::cancelled) {
      return waiting::refuse_stopped(wait.self()).error();
    }
    auto published = Published::linked;
    const auto linked = all.publish(wait, published);
    if (auto* const simulator = sched::carrier().simulator) [[unlikely]] {
      simulator->note(sched::Op::select, first, {&SelectWait::is_over, &all});
    }
    const bool parks = published == Published::linked;
    const auto who = parks ? wait.park(deadline) : wait.withdraw();
    sync::came_back();
    all.unpublish(linked);
    wait.end();
    if (who >= fiber::source(0)) {
      const auto index = static_cast<std::size_t>(who) -
                         static_cast<std::size_t>(fiber::source(0));
      if (all.try_case(index)) return index;
    } else if (who == fiber::Who::deadline) {
      return count;
    } else if (parks || who != fiber::Who::withdrawn) {
      return waiting::outcome(who).error();
    } else if (published == Published::never) {
      all.never_comes(order[linked]);
      return std::size_t{order[linked]};
    }
  }
}

}  // namespace weft::detail
