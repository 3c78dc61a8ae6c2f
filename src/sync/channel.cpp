// channel.cpp: the public face of channels.

#include <cstdlib>
#include <string>

#include "base/check.hpp"
#include "sched/simulator.hpp"
#include "sched/worker.hpp"
#include "sync/about_to.hpp"
#include "sync/channel_core.hpp"
#include "wait/charge.hpp"
#include <weft/channel.hpp>
#include <weft/detail/channel.hpp>

namespace weft {

namespace detail {

using sched::Op;
using sync::ChannelCore;

namespace {

static_assert(sizeof(ChannelEnds::tail) == sizeof(ChannelCore::End));
static_assert(sizeof(ChannelCore::Ownership) == kOwnerSize);

// A channel is its core, whose ends the header knows as well.
ChannelCore& core_of(ChannelEnds& channel) noexcept {
  return *std::launder(reinterpret_cast<ChannelCore*>(&channel));
}
const ChannelCore& core_of(const ChannelEnds& channel) noexcept {
  return *std::launder(reinterpret_cast<const ChannelCore*>(&channel));
}

// Before an operation that may wait. One that never has to must not keep its
// worker to itself.
Status begin(const ChannelEnds& channel, Op op, Deadline deadline) noexcept {
  auto& here = sched::carrier();
  if (here.current.renew_credit() && here.worker != nullptr &&
      here.lock_depth == 0) {
    if (channel.tail.limit != 0) {
      here.worker->count_as_batch();
    } else {
      here.worker->count_as_many();
    }
  }
  // Asked anew: it may have come to another worker meanwhile.
  if (sched::carrier().current.goes_ahead()) return {};
  if (Status end = sync::cancel_point(&channel, op); !end) return end;
  return waiting::charge(*sched::carrier().current, waiting::kChannelOp, true,
                         deadline);
}

// As the environment says, once for all.
bool is_lock_free_wanted() noexcept {
  static const bool wanted = [] {
    const char* const no = std::getenv("CC_CHAN_NO_LOCKFREE");
    return no == nullptr || std::string_view(no) != "1";
  }();
  return wanted;
}

}  // namespace

ChannelEnds* make_channel(const ElementOps& element, std::size_t capacity,
                          const ChannelSetup& setup) noexcept {
  ChannelSetup wanted = setup;
  wanted.lock_free = setup.lock_free && is_lock_free_wanted();
  auto* const made = reinterpret_cast<ChannelEnds*>(
      ChannelCore::make(element, capacity, wanted));
  if (made != nullptr && !setup.name.empty()) {
    if (auto* const simulator = sched::Simulator::here()) {
      simulator->call(made, "channel \"" + std::string(setup.name) + '"');
    }
  }
  return made;
}

void hold(ChannelEnds& channel, ChannelSide side) noexcept {
  core_of(channel).hold(side);
}

void let_go(ChannelEnds& channel, ChannelSide side) noexcept {
  if (core_of(channel).is_last(side)) sched::interleave(Op::close, &channel);
  if (auto* const simulator = sched::Simulator::here();
      simulator != nullptr && core_of(channel).is_last_of_all(side)) {
    simulator->forget(&channel);
  }
  core_of(channel).let_go(side);
}

Status send(ChannelEnds& channel, void* value, Deadline deadline) noexcept {
  if (const auto end = begin(channel, Op::send, deadline); !end) return end;
  auto& core = core_of(channel);
  if (core.on_full() == OnFull::wait) return core.send(value, deadline);
  return core.send_or_drop(value);
}

Status send_otherwise(ChannelEnds& channel, void* value,
                      Deadline deadline) noexcept {
  auto& core = core_of(channel);
  if (core.on_full() != OnFull::wait) return core.send_or_drop(value);
  return core.transfer<ChannelSide::sends>(value, deadline);
}

Status receive_otherwise(ChannelEnds& channel, void* to,
                         Deadline deadline) noexcept {
  return core_of(channel).transfer<ChannelSide::receives>(to, deadline);
}

Status try_send(ChannelEnds& channel, void* value) noexcept {
  auto& self = sync::about_to(Op::send, &channel);
  const Status paid = waiting::charge(self, waiting::kChannelOp, false);
  if (!paid) return paid;
  return core_of(channel).try_send(value);
}

Status receive(ChannelEnds& channel, void* to, Deadline deadline) noexcept {
  if (const auto end = begin(channel, Op::receive, deadline); !end) {
    return end;
  }
  return core_of(channel).receive(to, deadline);
}

Status try_receive(ChannelEnds& channel, void* to) noexcept {
  auto& self = sync::about_to(Op::receive, &channel);
  const Status paid = waiting::charge(self, waiting::kChannelOp, false);
  if (!paid) return paid;
  return core_of(channel).try_receive(to);
}

void close(ChannelEnds& channel, ChannelSide by, Error reason) noexcept {
  WEFT_CHECK(reason != Errc{},
             "a channel is closed with no error as the reason");
  sched::interleave(Op::close, &channel);
  core_of(channel).close(by, reason);
}

bool is_closed(const ChannelEnds& channel) noexcept {
  sched::interleave(Op::read, &channel);
  return core_of(channel).is_closed();
}

std::size_t size_hint(const ChannelEnds& channel) noexcept {
  return core_of(channel).size_hint();
}

std::size_t capacity(const ChannelEnds& channel) noexcept {
  return core_of(channel).capacity();
}

std::uint64_t dropped(const ChannelEnds& channel) noexcept {
  return core_of(channel).dropped();
}

std::string_view name(const ChannelEnds& channel) noexcept {
  return core_of(channel).name();
}

}  // namespace detail
}  // namespace weft
