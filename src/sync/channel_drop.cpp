// channel_drop.cpp: values that nobody receives: what a send does that finds
// the channel full and must not wait, and what a close finds inside.

#include <optional>

#include "base/point.hpp"
#include "sched/unchecked.hpp"
#include "sync/channel_core.hpp"
#include <weft/channel.hpp>

namespace weft::sync {

using detail::kRingClosed;
using detail::kRingFlags;
using detail::kRingWaits;

Status ChannelCore::send_or_drop(void* value) noexcept {
  const bool has_oldest = on_full_ == OnFull::drop_oldest && tail_.limit != 0;
  for (;;) {
    const Status sent = try_send(value);
    if (sent.error() != Errc::would_block) return sent;
    if (has_oldest && send_for_oldest(value)) return {};
    if (has_oldest) continue;
    dropped_.fetch_add(1, relaxed);
    return sent;
  }
}

// The value goes in and the oldest out, as one step under the lock. False: by
// then it is not full, or it is closed, and nothing has happened.
bool ChannelCore::send_for_oldest(void* value) noexcept {
  base::pass(base::Point::dropping);
  std::uint64_t oldest = 0;
  enter();
  const bool displaced = displace(oldest);
  lock_.unlock();
  if (!displaced) return false;
  dropped_.fetch_add(1, relaxed);
  drop(oldest, value);
  return true;
}

// Under the lock. Takes the oldest value's position and, a lap on, that of the
// value that comes into its slot. False: the buffer is not full, or closed.
bool ChannelCore::displace(std::uint64_t& at) noexcept {
  const auto t = tail_.word.load(acquire);  // [ends]
  auto h = head_.word.load(acquire);        // [ends]
  at = End::position(h);
  if ((t & kRingClosed) != 0 || End::position(t) - at != tail_.lap) {
    return false;
  }
  // The exchange shows it to be full. With the flag nobody takes it for empty
  // before tail has moved, too: of capacity 1 both ends are one position now.
  const auto next = head_.after(at) | (h & kRingFlags);
  if (!head_.word.compare_exchange_strong(  // [ends]
          h, next | kRingWaits, release, relaxed)) {
    return false;
  }
  // Nobody else moves it: the slot is not free, and will not be (N4).
  const auto end = tail_.after(End::position(t)) | (t & kRingFlags);
  tail_.word.store(end, release);   // [ends]
  head_.word.store(next, release);  // [ends]
  return true;
}

// Whose position it is. Takes the value out, puts the next one in, if there is
// one, and only then destroys what was taken out: that may wait.
void ChannelCore::drop(std::uint64_t at, void* next) noexcept {
  struct Place {
    ChannelCore& channel;
    std::uint64_t at;
    void* next;
    static void give_on(void* it) noexcept {
      auto& place = *static_cast<Place*>(it);
      auto& channel = place.channel;
      const auto lap = channel.tail_.lap;
      if (place.next != nullptr) {
        channel.put(place.at + lap, place.next);
      } else {
        detail::mark_free(channel.stamp(place.at), place.at, lap);  // [free]
      }
      place.no_checks.reset();
    }
    std::optional<sched::Unchecked> no_checks{};  // others wait for the slot
  } place{*this, at, next};
  place.no_checks.emplace();
  // Who displaced it has not looked whether it is there.
  spin_until([&]() noexcept {
    return stamp(at).load(acquire) == at + 1;  // [fill]
  });
  element_.drop(value_in(at), &Place::give_on, &place);
}

bool ChannelCore::drop_oldest() noexcept {
  std::uint64_t at = 0;
  enter();
  const bool found = tail_.limit != 0 && claim(at);
  const LateValue late = found || tail_.limit == 0 ? LateValue() : late_.take();
  lock_.unlock();
  if (found) drop(at, nullptr);
  if (late.piece != nullptr) {
    element_.destroy(late.get());
    late.piece->let_go();
  }
  return found || late.piece != nullptr;
}

}  // namespace weft::sync
