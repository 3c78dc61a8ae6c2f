// detail/channel.hpp: what a Sender and a Receiver are made of.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/channel_ring.hpp"
#include "weft/detail/here.hpp"
#include "weft/detail/license.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

enum class OnFull : std::uint8_t;  // channel.hpp

namespace detail {

enum class ChannelSide : std::uint8_t { sends, receives };

// What the library must know of a type.
struct ElementOps {
  std::size_t slot_size;     // a stamp, then the value
  std::size_t value_offset;  // in the slot
  std::size_t align;         // of the slot
  std::size_t size;
  bool is_bits;  // to move one is to copy so many bytes
  void (*move)(void* to, void* from) noexcept;  // constructs
  void (*destroy)(void* value) noexcept;
  // Takes the value out, calls freed(of), and destroys it then: a destructor
  // may wait, and others want its place.
  void (*drop)(void* value, void (*freed)(void* of) noexcept,
               void* of) noexcept;
};

// Of one who waits at a channel.
struct ChannelIo {
  void* value = nullptr;  // where it comes from, or is made
  Status result;          // of the operation, in a select
};

struct ChannelSetup {
  OnFull on_full{};  // wait
  bool lock_free = true;
  std::string_view name;
  License* license = nullptr;  // given back at its end; nullptr: none
};

template <typename T>
struct ChannelSlot {
  std::atomic<std::uint64_t> stamp;
  alignas(T) std::byte value[sizeof(T)];

  T& get() noexcept { return *std::launder(reinterpret_cast<T*>(value)); }
};

template <typename T>
inline constexpr ElementOps kElementOps{
    sizeof(ChannelSlot<T>),
    offsetof(ChannelSlot<T>, value),
    alignof(ChannelSlot<T>),
    sizeof(T),
    std::is_trivially_copyable_v<T>,
    [](void* to, void* from) noexcept {
      ::new (to) T(std::move(*static_cast<T*>(from)));
    },
    [](void* value) noexcept { std::destroy_at(static_cast<T*>(value)); },
    [](void* value, void (*freed)(void*) noexcept, void* of) noexcept {
      [[maybe_unused]] const T dropped(std::move(*static_cast<T*>(value)));
      std::destroy_at(static_cast<T*>(value));
      freed(of);
    }};

// The library's channel begins so: a cache line for each end.
struct ChannelEnds {
  alignas(64) ChannelEnd<std::atomic> tail;
  alignas(64) ChannelEnd<std::atomic> head;
};

// Before its slots.
inline constexpr std::size_t kOwnerSize = sizeof(ChannelOwner<std::atomic>);

// nullptr: no memory. Each side is held once.
ChannelEnds* make_channel(const ElementOps& element, std::size_t capacity,
                          const ChannelSetup& setup) noexcept;
// Who holds it already, for another.
void hold(ChannelEnds& channel, ChannelSide side) noexcept;
// The last of its side closes the channel, the last of all frees it.
void let_go(ChannelEnds& channel, ChannelSide side) noexcept;

Status send(ChannelEnds& channel, void* value, Deadline deadline) noexcept;
Status receive(ChannelEnds& channel, void* to, Deadline deadline) noexcept;
// The same after may_go_ahead(), and where nothing goes at once.
Status send_otherwise(ChannelEnds& channel, void* value,
                      Deadline deadline) noexcept;
Status receive_otherwise(ChannelEnds& channel, void* to,
                         Deadline deadline) noexcept;
Status try_send(ChannelEnds& channel, void* value) noexcept;
Status try_receive(ChannelEnds& channel, void* to) noexcept;
void close(ChannelEnds& channel, ChannelSide by, Error reason) noexcept;
bool is_closed(const ChannelEnds& channel) noexcept;
std::size_t size_hint(const ChannelEnds& channel) noexcept;
std::size_t capacity(const ChannelEnds& channel) noexcept;
std::uint64_t dropped(const ChannelEnds& channel) noexcept;
std::string_view name(const ChannelEnds& channel) noexcept;

// May an operation begin here without a call? Else the library must be asked:
// it is simulated, under a spin lock, cancelled, metered, or has gone on for
// long.
// Answers where it is, or 0.
inline std::uintptr_t may_go_ahead() noexcept {
#if defined(WEFT_YIELD_CHECKS)  // a check could come in between
  return 0;
#else
  Here* const here = here_or_null();
  if (here == nullptr || here->locker == 0 || here->credit == 0) return 0;
  --here->credit;
  return must_ask(here->locker) ? 0 : reinterpret_cast<std::uintptr_t>(here);
#endif
}

template <typename T>
ChannelSlot<T>* slots_of(ChannelEnd<std::atomic>& end) noexcept {
  return std::launder(reinterpret_cast<ChannelSlot<T>*>(end.slots));
}
template <typename T>
auto stamps_of(ChannelSlot<T>* slots) noexcept {
  return [slots](std::size_t index) noexcept -> std::atomic<std::uint64_t>& {
    return slots[index].stamp;
  };
}
template <typename T>
void put(ChannelSlot<T>& slot, std::uint64_t at, T& value) noexcept {
  ::new (static_cast<void*>(slot.value)) T(std::move(value));
  mark_filled(slot.stamp, at);
}
// Calls take(T&&) with the value.
template <typename T, typename Take>
void take(ChannelSlot<T>& slot, std::uint64_t at, std::uint64_t lap,
          Take&& take) noexcept {
  take(std::move(slot.get()));
  std::destroy_at(&slot.get());
  mark_free(slot.stamp, at, lap);
}

template <typename T>
bool send_at_once(ChannelEnds& channel, std::uintptr_t me, T& value) noexcept {
  auto& tail = channel.tail;
  auto* const slots = slots_of<T>(tail);
  std::uint64_t at = 0;
  if (!tail.advance<0>(at, me, stamps_of(slots))) return false;
  put(slots[tail.index(at)], at, value);
  return true;
}
template <typename T, typename Take>
bool receive_at_once(ChannelEnds& channel, std::uintptr_t me,
                     Take&& take_it) noexcept {
  auto& head = channel.head;
  auto* const slots = slots_of<T>(head);
  std::uint64_t at = 0;
  if (!head.advance<1>(at, me, stamps_of(slots))) return false;
  take(slots[head.index(at)], at, head.lap, take_it);
  return true;
}

// Several by one exchange. Answer how many.
template <typename T>
std::size_t send_many_at_once(ChannelEnds& channel, std::uintptr_t me,
                              T* values, std::size_t count) noexcept {
  auto& tail = channel.tail;
  auto* const slots = slots_of<T>(tail);
  std::uint64_t at = 0;
  const auto sent = tail.advance_many<0>(at, count, me, stamps_of(slots));
  for (std::size_t i = 0; i < sent; ++i, at = tail.after(at)) {
    put(slots[tail.index(at)], at, values[i]);
  }
  return sent;
}
template <typename T, typename Take>
std::size_t receive_many_at_once(ChannelEnds& channel, std::uintptr_t me,
                                 std::size_t most, Take&& take_it) noexcept {
  auto& head = channel.head;
  auto* const slots = slots_of<T>(head);
  std::uint64_t at = 0;
  const auto got = head.advance_many<1>(at, most, me, stamps_of(slots));
  for (std::size_t i = 0; i < got; ++i, at = head.after(at)) {
    take(slots[head.index(at)], at, head.lap, take_it);
  }
  return got;
}

// A value for which there is room, but that is not there yet.
template <typename T>
class Empty {
 public:
  Empty() noexcept {}  // NOLINT: the value is made by a receive
  ~Empty() {}          // NOLINT: and taken
  Empty(const Empty&) = delete;
  Empty& operator=(const Empty&) = delete;

  void* place() noexcept { return std::addressof(value_); }
  void operator()(T&& value) noexcept { ::new (place()) T(std::move(value)); }
  // Once it was made.
  T& get() noexcept { return value_; }
  // The same: out, and gone.
  T take() noexcept {
    T value = std::move(value_);
    std::destroy_at(std::addressof(value_));
    return value;
  }

 private:
  union {
    T value_;
  };
};

}  // namespace detail
}  // namespace weft
