// detail/channel_owner.hpp: a buffer that one worker has to itself.
//
// A locked instruction is most of what a value costs that goes through a buffer
// at once. Where a single worker has used it for long it becomes that worker's
// own: both words get the flag owned, others ask the lock as with every flag,
// and the owner moves its ends by plain stores. The first other one who comes,
// under the lock, ends that:
//
//   the owner, without the lock        another, under the lock
//   busy = 1                           to = ended
//   to == me?                          heavy_barrier()
//   move the end                       until busy == 0
//   busy = 0                           clear owned in both words
//
// So what the owner pays is two plain stores, and who ends it about 14 us. It
// may happen kGrants times in the life of a channel, and each time after more
// values than before: the barriers are lost among the operations that were
// cheaper (ChannelCore::note_visit()).
//
// A grant has a busy of its own, for an owner of old may still be on the way
// into it when another one owns the channel. Whom a grant belongs to is the
// address of a carrier: if that worker ends and a later one has its place in
// memory, the grant is that one's, and there is still only one.
//
// Invariants
//   W1  A word with owned in it is moved by the owner inside its grant, or
//       under the lock: by the owner, or after busy was seen to be 0.
//   W2  A grant goes to one worker, once, and is ended once.
//
// Edges
//   [own]  the owner, leaving -> who ends the grant: where the ends are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

// Lies before the slots of a buffer.
template <template <typename> class AtomicOf>
struct alignas(64) ChannelOwner {
  static constexpr std::size_t kGrants = 4;
  static constexpr std::uintptr_t kFree = 1;   // nobody's yet
  static constexpr std::uintptr_t kEnded = 2;  // nobody's any more

  AtomicOf<std::uintptr_t> to[kGrants] = {{kFree}, {kFree}, {kFree}, {kFree}};
  AtomicOf<std::uint8_t> busy[kGrants] = {{0}, {0}, {0}, {0}};
  AtomicOf<std::uint8_t> now{0};  // which of them; written under the lock
  // Under the lock: who asked it last, and where tail was when he began to be
  // the only one.
  std::uintptr_t visitor = 0;
  std::uint64_t since = 0;

  // Who has ended grant i: has its owner left it?
  [[nodiscard]] bool is_left(std::size_t i) const noexcept {
    return busy[i].load(std::memory_order_acquire) == 0;  // [own]
  }

  // The thread at whose carrier `me` is. Calls move() if it owns the buffer,
  // and answers what that does; else false.
  template <typename Move>
  [[nodiscard]] bool inside(std::uintptr_t me, Move&& move) noexcept {
    // Only who was given a grant finds himself in it, and then this is it.
    const auto i = now.load(std::memory_order_relaxed);
    if (to[i].load(std::memory_order_relaxed) != me) return false;
    // The barrier of who ends it comes before or after the two; the compiler
    // keeps their order: W1.
    busy[i].store(1, std::memory_order_relaxed);
    asm volatile("" ::: "memory");
    const bool done = to[i].load(std::memory_order_relaxed) == me && move();
    busy[i].store(0, std::memory_order_release);  // [own]
    return done;
  }
};

}  // namespace weft::detail
