// channel_core.hpp: a channel of any type: its buffer, who waits, how it ends.
//
// Under the lock two parties only agree (Deal): who has which position of the
// buffer, who is given to or taken from. Values move afterwards, so no code of
// the user's runs under the lock; who needs a slot meanwhile waits for its
// stamp.
//
//   buffer      waiting      a send                 a receive
//   ---------   ----------   --------------------   --------------------------
//   empty       receivers?   to the first of them   waits
//   some        nobody       into a slot            from a slot
//   full        senders?     waits                  from a slot, and the first
//                                                   of them into that slot
//   none at     either?      to the first           from the first sender
//   all                      receiver
//
// A close moves what senders who wait at a full buffer hold to `late`, behind
// the buffer, and their sends succeed (C-12). At capacity 0 they fail. It holds
// the lock for kAtOnce of those who wait at a time; who comes in between finds
// it closed.
//
// Invariants
//   H1  A send was admitted if its position was taken before the exchange that
//       closed tail, or its sender was in the queue then. Each value admitted
//       is received once, unless the receiving side closes.
//   H2  Whoever is taken off a queue by a won claim is dealt with: his value
//       moves, then his node goes, then he runs (W4).
//
// Edges
//   [fill]   see detail/channel_ring.hpp, as of the next two.
//   [free]   a slot that has been read.
//   [ends]   where the other end was.
//   [stand]  note_standing() -> try_meet(): what the one who waits did before.
//   [close]  close() -> is_closed(): what the closer did before.
//   [gone]   let_go() -> the last let_go(): every use of the channel.
// All else goes by the lock: queues, late values, why it closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "sync/channel_late.hpp"
#include "sync/wait_queue.hpp"
#include <weft/detail/channel.hpp>
#include <weft/detail/channel_ring.hpp>
#include <weft/result.hpp>
#include <weft/time.hpp>

namespace weft::sync {

using detail::ChannelSide;
inline void* value_of(const WaitNode& waits) noexcept {
  return static_cast<const detail::ChannelIo*>(waits.slot)->value;
}

class ChannelCore {
 public:
  using End = detail::ChannelEnd<Atomic>;
  using Ownership = detail::ChannelOwner<Atomic>;

  // nullptr: no memory. With its two sides held once each.
  static ChannelCore* make(const ElementOps& element, std::size_t capacity,
                           const detail::ChannelSetup& setup) noexcept;
  ChannelCore(const ChannelCore&) = delete;
  ChannelCore& operator=(const ChannelCore&) = delete;

  OnFull on_full() const noexcept { return on_full_; }
  std::string_view name() const noexcept { return name_; }
  std::uint64_t dropped() const noexcept { return dropped_.load(relaxed); }

  // Who holds it, for another.
  void hold(ChannelSide side) noexcept;
  // The last one of a side closes it; the channel may be gone then.
  void let_go(ChannelSide side) noexcept;
  bool is_last(ChannelSide side) const noexcept {  // its own, or a hint
    return holders(side).load(relaxed) == 1;
  }
  bool is_last_of_all(ChannelSide side) const noexcept {  // the same
    return is_last(side) && sides_.load(relaxed) == 1;
  }

  // Any fiber or thread. On error the value was not moved from.
  // Errors: would_block; those of the close.
  Status try_send(void* value) noexcept;
  // Makes a value at `to`. Errors: the same.
  Status try_receive(void* to) noexcept;
  // Errors: cancelled, timed_out, exhausted (memory); those of the close.
  Status send(void* value, Deadline deadline) noexcept;
  Status receive(void* to, Deadline deadline) noexcept;
  // The same, where no value goes through the buffer at once.
  template <ChannelSide As>
  Status transfer(void* value, Deadline deadline) noexcept;

  // Where full channels do not wait.
  // Errors: would_block (it was dropped); those of the close.
  Status send_or_drop(void* value) noexcept;
  // Destroys one value. False: there was none.
  bool drop_oldest() noexcept;

  // Any fiber or thread. The first one decides why. If the receiving side
  // closes, what is inside is destroyed.
  void close(ChannelSide by, Error reason) noexcept;
  bool is_closed() const noexcept {
    return (tail_.word.load(acquire) & detail::kRingClosed) != 0;  // [close]
  }
  std::size_t size_hint() const noexcept;
  std::size_t capacity() const noexcept {
    return tail_.limit / detail::kRingStep;
  }

  // A thread with a carrier. Makes the buffer its own, if it may be (W2).
  void own() noexcept;
  bool is_owned() const noexcept {  // a hint
    return (tail_.word.load(relaxed) & detail::kRingOwned) != 0;
  }

  // ---- For a wait at several things. Who waits has no claim on others.

  // False, and not linked: it is worth a try.
  bool publish(ChannelSide as, WaitNode& node) noexcept;
  void unpublish(ChannelSide as, WaitNode& node) noexcept;
  // Would a try of the fiber succeed?
  bool is_ready(ChannelSide as, const Fiber& self) noexcept;
  // What a wait that was ended by the channel came to.
  Status result(ChannelSide as, const WaitNode& node) const noexcept {
    return node.reason == Reason::data ? Status() : end_for(as);
  }

 private:
  static constexpr unsigned kReceiverStands = 1;
  static constexpr unsigned kSenderStands = 2;
  static constexpr std::size_t kAtOnce = LatePiece::kMost;
  enum class Agreed : std::uint8_t { nothing, done, closed };
  struct Deal;
  struct Waits;

  ChannelCore(const ElementOps& element, std::size_t capacity,
              const detail::ChannelSetup& setup) noexcept;
  ~ChannelCore();
  static std::size_t slots_offset(const ElementOps& element,
                                  std::size_t capacity) noexcept;
  static std::align_val_t alignment(const ElementOps& element) noexcept;

  std::byte* slot(std::uint64_t at) const noexcept {
    return tail_.slots + tail_.index(at) * element_.slot_size;
  }
  void* value_in(std::uint64_t at) const noexcept {
    return slot(at) + element_.value_offset;
  }
  static Atomic<std::uint64_t>& stamp_in(std::byte* slot) noexcept {
    return *std::launder(reinterpret_cast<Atomic<std::uint64_t>*>(slot));
  }
  Atomic<std::uint64_t>& stamp(std::uint64_t at) const noexcept {
    return stamp_in(slot(at));
  }
  auto stamps() const noexcept {
    return [this](std::size_t index) noexcept -> Atomic<std::uint64_t>& {
      return stamp_in(tail_.slots + index * element_.slot_size);
    };
  }
  const Atomic<std::uint32_t>& holders(ChannelSide side) const noexcept {
    return side == ChannelSide::sends ? sending_ : receiving_;
  }
  Atomic<std::uint32_t>& holders(ChannelSide side) noexcept {
    return side == ChannelSide::sends ? sending_ : receiving_;
  }
  WaitQueue& queue_of(ChannelSide as) noexcept {
    return as == ChannelSide::sends ? senders_ : receivers_;
  }
  WaitQueue& partners_of(ChannelSide as) noexcept {
    return as == ChannelSide::sends ? receivers_ : senders_;
  }

  void move(void* to, void* from) noexcept;
  // Whose position it is.
  void put(std::uint64_t at, void* value) noexcept;
  void take(std::uint64_t at, void* to) noexcept;
  void drop(std::uint64_t at, void* next) noexcept;
  // Without the lock, if nobody is in the way.
  bool send_at_once(void* value) noexcept;
  bool receive_at_once(void* to) noexcept;
  template <ChannelSide As>
  Status try_now(void* value) noexcept;
  template <ChannelSide As>
  Status try_meet(void* value) noexcept;
  template <ChannelSide As>
  bool transfer_buffered(void* value, Status& end) noexcept;
  template <ChannelSide As>
  bool wait_for_partner(void* value, Deadline deadline, Status& end) noexcept;
  template <ChannelSide As>
  bool met(void* value, Status& end) noexcept;
  template <ChannelSide As>
  Status meet(void* value, Deadline deadline) noexcept;
  template <ChannelSide As>
  Status wait_to_meet(void* value, Deadline deadline) noexcept;
  template <ChannelSide As>
  Status pass(void* value, Deadline deadline) noexcept;
  template <ChannelSide As>
  Status carry_out(const Deal& deal, void* value) noexcept;
  bool send_for_oldest(void* value) noexcept;
  template <ChannelSide As>
  void hand_over(WaitNode& partner, Fiber* owned, void* value) noexcept;
  std::size_t keep_late(std::size_t waiting) noexcept;
  Error end_for(ChannelSide side) const noexcept {
    return closed_by_ == side ? Error(Errc::closed) : Error(reason_);
  }

  static std::uintptr_t me() noexcept {
    return reinterpret_cast<std::uintptr_t>(sched::carrier_or_null());
  }
  // Takes the lock. A buffer that is another's own is so no more.
  void enter() noexcept {
    lock_.lock();
    // The lock's, if the flag is set
    if ((tail_.word.load(relaxed) & detail::kRingOwned) != 0) [[unlikely]]
      end_others_grant();
  }

  // Under the lock.
  void end_others_grant() noexcept;
  void note_visit() noexcept;
  void own_now(std::uintptr_t me) noexcept;
  bool reserve(std::uint64_t& at) noexcept;
  bool claim(std::uint64_t& at) noexcept;
  bool displace(std::uint64_t& at) noexcept;
  template <ChannelSide As>
  Deal agree() noexcept;
  bool mark_waiting(ChannelSide as) noexcept;
  void unmark() noexcept {
    if (tail_.limit == 0) return note_standing();
    const auto t = tail_.word.load(relaxed);  // the lock's, if there is a flag
    if ((t & detail::kRingWaits) != 0) unmark_all();
  }
  void unmark_all() noexcept;
  // At a rendezvous, after a queue may have become empty, or no longer so.
  void note_standing() noexcept {
    const auto who =
        static_cast<std::uint8_t>((receivers_.empty() ? 0 : kReceiverStands) |
                                  (senders_.empty() ? 0 : kSenderStands));
    standing_.store(who, release);  // [stand]
  }
  bool is_ready_now(ChannelSide as, const Fiber& self) noexcept;
  bool tell_some(Woken& woken) noexcept;
  // Is what the senders who wait hold still for receivers?
  bool admits_waiting() const noexcept {
    const auto w = tail_.word.load(relaxed);  // the lock's
    return (w & detail::kRingClosed) == 0 || (tail_.limit != 0 && !unwanted_);
  }

  // A line for each end, which the header knows. What a rendezvous needs is all
  // in the first one.
  alignas(kCacheLine) End tail_;
  const ElementOps& element_;
  WaitQueue receivers_;  // guarded by lock_
  WaitQueue senders_;    // the same
  base::SpinLock lock_;
  Plain<ChannelSide> closed_by_ = ChannelSide::sends;  // as reason_
  const OnFull on_full_;
  Atomic<std::uint8_t> standing_{0};  // at a rendezvous: who waits, by side
  Atomic<std::uint32_t> sides_{2};    // that somebody holds
  alignas(kCacheLine) End head_;
  LateValues late_;                     // guarded by lock_; not of a rendezvous
  Atomic<std::uint32_t> sending_{1};    // who hold it
  Atomic<std::uint32_t> receiving_{1};  // the same
  Plain<Error> reason_{Error(Errc{})};  // written once, before it is closed
  Plain<bool> unwanted_ = false;  // guarded by lock_: the receiving side closed
  Tally<std::uint64_t> dropped_{0};
  std::string_view name_;           // behind the slots
  detail::License* const license_;  // nullptr: none
};

}  // namespace weft::sync
