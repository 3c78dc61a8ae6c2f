// channel_marks.cpp: both ends of a buffer say that somebody waits.

#include "sync/channel_core.hpp"

namespace weft::sync {

using detail::kRingLocked;
using detail::kRingWaits;

// N2. False: something changed, so agree() may succeed now.
bool ChannelCore::mark_waiting(ChannelSide as) noexcept {
  auto t = tail_.word.load(relaxed);  // the exchange decides
  if ((t & kRingLocked) != 0) return true;
  const auto h = head_.word.load(relaxed);
  if (as == ChannelSide::receives) {
    if ((t & kRingWaits) != 0) return true;
    return End::position(t) == End::position(h) &&
           tail_.word.compare_exchange_strong(t, t | kRingWaits, relaxed,
                                              relaxed);
  }
  if ((t & kRingWaits) == 0 && !tail_.word.compare_exchange_strong(
                                   t, t | kRingWaits, relaxed, relaxed)) {
    return false;
  }
  if ((h & kRingWaits) != 0) return true;
  auto full = h;
  return End::position(t) - End::position(h) == tail_.lap &&
         head_.word.compare_exchange_strong(full, h | kRingWaits, relaxed,
                                            relaxed);
}

// Who waits may be no more: then others need not ask.
void ChannelCore::unmark_all() noexcept {
  if (!senders_.empty()) return;
  // The lock's, if there is a flag, and passed on. [ends]
  const auto h = head_.word.load(acquire);
  // [ends]
  if ((h & kRingWaits) != 0) head_.word.store(h & ~kRingWaits, release);
  if (!receivers_.empty()) return;
  const auto t = tail_.word.load(acquire);     // [ends]
  tail_.word.store(t & ~kRingWaits, release);  // [ends]
}

bool ChannelCore::publish(ChannelSide as, WaitNode& node) noexcept {
  enter();
  const bool ready = is_ready_now(as, *node.fiber) || !mark_waiting(as);
  if (!ready) queue_of(as).push_back(node);
  unmark();
  lock_.unlock();
  return !ready;
}

void ChannelCore::unpublish(ChannelSide as, WaitNode& node) noexcept {
  enter();
  queue_of(as).remove(node);
  unmark();
  lock_.unlock();
}

}  // namespace weft::sync
