// detail/channel_ring.hpp: the two ends of a channel's buffer.
//
// A send that finds room and a receive that finds a value are one exchange of
// one word each. The word says where the end is and whether its lock must be
// asked instead; so "somebody waits" and "closed" cannot be overlooked, and
// there is no second word whose order would matter.
//
//   bits 4-63  position  a lap and an index below the capacity
//   bit  3     owned     one worker moves it, see channel_owner.hpp
//   bit  2     closed    tail: nothing comes in any more
//   bit  1     locked    no exchange without the lock, ever
//   bit  0     waits     tail: somebody waits. head: a sender does
//
// The stamp of a slot says whose turn it is, for the position p:
//
//   stamp     the slot is
//   -------   ---------------------------------------------------------
//   p         free, or a sender whose position it is is about to fill it
//   p + 1     filled, or a receiver whose position it is is about to free it
//   p + lap   free again
//
// Invariants
//   N1  A word with a flag in it changes under the channel's lock only, but
//       for what its owner does (W1).
//   N2  waits is set in tail by the very exchange that shows the buffer to be
//       empty, for a receiver; for a sender in both words, in head by the
//       exchange that shows it to be full. So receivers wait only at an empty
//       buffer, senders only at a full one.
//       Who displaces the oldest value sets it in head by such an exchange,
//       until he has moved tail as well, under one hold of the lock.
//   N3  head <= tail <= head + lap, and both only grow.
//   N4  Without the lock tail moves from p when the slot has the stamp p, which
//       who took p - lap from head writes. Or he moves it himself, under the
//       lock: then the slot is never free, and its next stamp is p + 1.
//
// Edges
//   [fill]  mark_filled() -> claim(): the value.
//   [free]  mark_free() -> reserve(): the slot has been read.
//   [ends]  who moves an end -> who looks at it and then at the other: how far
//           that was. Else a buffer seems full, or empty, that never was.
//
// Slots after Vyukov's bounded queue, laps after crossbeam's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "weft/detail/channel_owner.hpp"

namespace weft::detail {

inline constexpr std::uint64_t kRingWaits = 1;
inline constexpr std::uint64_t kRingLocked = 2;
inline constexpr std::uint64_t kRingClosed = 4;
inline constexpr std::uint64_t kRingOwned = 8;
inline constexpr std::uint64_t kRingFlags = 15;
inline constexpr std::uint64_t kRingStep = 16;

// Others are at the same end: who leaves it to them for a moment lets them use
// it several times, instead of once each in turn.
inline void step_back() noexcept {
  constexpr int kPauses = 32;
  for (int i = 0; i < kPauses; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
}

// One end, with all that its users need.
template <template <typename> class AtomicOf>
struct ChannelEnd {
  using Word = AtomicOf<std::uint64_t>;
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static constexpr auto kRelease = std::memory_order_release;

  Word word{0};
  std::uint64_t lap = kRingStep;  // immutable, as the rest; a power of two
  std::uint64_t limit = 0;        // capacity * kRingStep
  std::byte* slots = nullptr;

  static constexpr std::uint64_t position(std::uint64_t w) noexcept {
    return w & ~kRingFlags;
  }
  std::size_t index(std::uint64_t at) const noexcept {
    return (at & (lap - 1)) / kRingStep;
  }
  std::uint64_t after(std::uint64_t at) const noexcept {
    const auto within = at & (lap - 1);
    return within + kRingStep < limit ? at + kRingStep : at - within + lap;
  }

  // Of a buffer.
  ChannelOwner<AtomicOf>& owner() const noexcept {
    using Owner = ChannelOwner<AtomicOf>;
    return *std::launder(reinterpret_cast<Owner*>(slots - sizeof(Owner)));
  }

  // Any thread, whose carrier is at `me`. Takes the next position whose slot is
  // free (tail, Filled: 0) or filled (head, Filled: 1). False: there is none,
  // or the lock must be asked. stamp(index) is the slot's.
  template <std::uint64_t Filled, typename Stamp>
  [[nodiscard]] bool advance(std::uint64_t& at, std::uintptr_t me,
                             Stamp&& stamp) noexcept {
    auto w = word.load(kRelaxed);  // the exchange decides
    while ((w & kRingFlags) == 0) {
      // [fill] [free]
      const auto turn = stamp(index(w)).load(std::memory_order_acquire);
      const auto lead = static_cast<std::int64_t>(turn - (w + Filled));
      if (lead < 0) return false;
      // Values go by the stamps. [ends]
      if (lead == 0 &&
          word.compare_exchange_weak(w, after(w), kRelease, kRelaxed)) {
        at = w;
        return true;
      }
      step_back();
      w = word.load(kRelaxed);  // others were faster
    }
    return (w & kRingFlags) == kRingOwned && owner().inside(me, [&]() noexcept {
      return move_own<Filled>(at, 1, stamp) == 1;
    });
  }

  // The same for several at once, at most `most`. Answers how many.
  template <std::uint64_t Filled, typename Stamp>
  [[nodiscard]] std::size_t advance_many(std::uint64_t& at, std::size_t most,
                                         std::uintptr_t me,
                                         Stamp&& stamp) noexcept {
    auto w = word.load(kRelaxed);  // the exchange decides
    while ((w & kRingFlags) == 0) {
      std::size_t count = 0;
      auto end = w;
      std::int64_t lead = 0;
      while (count < most) {
        // [fill] [free]
        const auto turn = stamp(index(end)).load(std::memory_order_acquire);
        lead = static_cast<std::int64_t>(turn - (end + Filled));
        if (lead != 0) break;
        end = after(end);
        ++count;
      }
      if (count == 0 && lead < 0) return 0;
      if (count == 0) {
        w = word.load(kRelaxed);  // others were faster
      } else if (word.compare_exchange_weak(w, end, kRelease, kRelaxed)) {
        at = w;  // [ends]
        return count;
      }
    }
    std::size_t own = 0;
    if ((w & kRingFlags) == kRingOwned) {
      (void)owner().inside(me, [&]() noexcept {
        own = move_own<Filled>(at, most, stamp);
        return true;
      });
    }
    return own;
  }

 private:
  // The owner of the buffer, inside its grant (W1).
  template <std::uint64_t Filled, typename Stamp>
  std::size_t move_own(std::uint64_t& at, std::size_t most,
                       Stamp&& stamp) noexcept {
    const auto w = word.load(kRelaxed);  // nobody else moves it
    if ((w & kRingFlags) != kRingOwned) return 0;
    at = position(w);
    std::size_t count = 0;
    auto end = at;
    while (count < most) {
      // [fill] [free]
      const auto turn = stamp(index(end)).load(std::memory_order_acquire);
      if (turn != end + Filled) break;
      end = after(end);
      ++count;
    }
    if (count != 0) word.store(end | kRingOwned, kRelease);  // [ends]
    return count;
  }
};

// What whoever has the position does last.
template <typename Word>
void mark_filled(Word& stamp, std::uint64_t at) noexcept {
  stamp.store(at + 1, std::memory_order_release);  // [fill]
}
template <typename Word>
void mark_free(Word& stamp, std::uint64_t at, std::uint64_t lap) noexcept {
  stamp.store(at + lap, std::memory_order_release);  // [free]
}

}  // namespace weft::detail
