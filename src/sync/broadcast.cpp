// broadcast.cpp: what a Broadcast costs, and what it is not to be given.

#include "base/check.hpp"
#include "sched/carrier.hpp"
#include "sync/about_to.hpp"
#include "wait/charge.hpp"
#include <weft/detail/broadcast.hpp>

namespace weft::detail {

std::size_t checked_capacity(std::size_t capacity) noexcept {
  WEFT_CHECK(
      capacity != 0,
      "a Broadcast of capacity 0: its slowest subscriber must be able to "
      "lag behind by one value at least");
  return capacity;
}

Status begin_channel_op(const void* channel, bool may_wait,
                        Deadline deadline) noexcept {
  if (may_wait) {
    if (Status end = sync::cancel_point(channel); !end) return end;
  }
  return waiting::charge(*sched::carrier().current, waiting::kChannelOp,
                         may_wait, deadline);
}

void count_op() noexcept {
  (void)waiting::charge(*sched::carrier().current, {}, /*may_wait=*/false);
}

void check_reason(const char* of, Error reason) noexcept {
  WEFT_CHECK(reason != Errc{}, "a %s is closed with no error as the reason",
             of);
}

}  // namespace weft::detail
