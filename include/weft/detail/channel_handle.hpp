// detail/channel_handle.hpp: what a Sender and a Receiver have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/channel.hpp"
#include "weft/result.hpp"

namespace weft {

namespace detail {

struct ChannelAccess;

// none: an empty handle. refused: there was no memory. denied: no authority.
enum class ChannelKind : std::uint8_t {
  none,
  refused,
  denied,
  rendezvous,
  buffered
};

// One side's hold of a channel.
template <ChannelSide Side>
class ChannelHandle {
 public:
  ChannelHandle() noexcept = default;
  ChannelHandle(ChannelEnds* channel, ChannelKind kind) noexcept
      : channel_(channel), kind_(kind) {}
  ChannelHandle(const ChannelHandle& other) noexcept
      : channel_(other.channel_), kind_(other.kind_) {
    if (channel_ != nullptr) hold(*channel_, Side);
  }
  ChannelHandle(ChannelHandle&& other) noexcept
      : channel_(std::exchange(other.channel_, nullptr)),
        kind_(std::exchange(other.kind_, ChannelKind::none)) {}
  ChannelHandle& operator=(ChannelHandle other) noexcept {
    std::swap(channel_, other.channel_);
    std::swap(kind_, other.kind_);
    return *this;
  }
  ~ChannelHandle() {
    if (channel_ != nullptr) let_go(*channel_, Side);
  }

  // False: empty, or the channel could not be made.
  explicit operator bool() const noexcept { return channel_ != nullptr; }
  // The first reason stays. A Receiver's also destroys what is inside, whoever
  // closed first.
  //   Suspends:  never. Callers: any fiber or thread, as of all below.
  //   Ordering:  what came before is visible to who learns of it.
  void close() noexcept { close(Errc::closed); }
  void close(Error reason) noexcept {
    if (channel_ != nullptr) detail::close(*channel_, Side, reason);
  }
  bool closed() const noexcept {
    return channel_ == nullptr || is_closed(*channel_);
  }
  // How many values are inside: stale when you read it. After a close it may
  // be more than capacity(): those of senders who waited are behind the buffer.
  std::size_t size() const noexcept {
    return channel_ == nullptr ? 0 : size_hint(*channel_);
  }
  std::size_t capacity() const noexcept {
    return channel_ == nullptr ? 0 : detail::capacity(*channel_);
  }
  // How many values were dropped because it was full.
  std::uint64_t dropped() const noexcept {
    return channel_ == nullptr ? 0 : detail::dropped(*channel_);
  }
  std::string_view name() const noexcept {
    return channel_ == nullptr ? std::string_view() : detail::name(*channel_);
  }

 protected:
  friend struct ChannelAccess;
  // Why there is no channel.
  Error refused() const noexcept {
    if (kind_ == ChannelKind::denied) return Errc::denied;
    return kind_ == ChannelKind::refused ? Error::out_of(Resource::memory)
                                         : Error(Errc::invalid);
  }
  bool has_buffer() const noexcept { return kind_ == ChannelKind::buffered; }

  ChannelEnds* channel_ = nullptr;
  ChannelKind kind_ = ChannelKind::none;
};

template <typename T>
inline constexpr bool kIsElement = std::is_object_v<T>&&
    std::is_nothrow_move_constructible_v<T>&& std::is_nothrow_destructible_v<T>;

}  // namespace detail

}  // namespace weft
