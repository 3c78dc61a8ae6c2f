// channel_late.hpp: values of senders who waited when their channel closed, in
// their order. Guarded by the channel's lock.
#pragma once

#include <cstddef>
#include <new>

#include "base/atomic.hpp"
#include "base/fault.hpp"
#include <weft/detail/channel.hpp>

namespace weft::sync {

using detail::ElementOps;

struct ChannelLate {
  static constexpr std::size_t kRoom = 64;
  Plain<ChannelLate*> next = nullptr;
  Plain<std::size_t> count = 0;
  Plain<std::size_t> taken = 0;
  std::byte* values = nullptr;

  // nullptr: no memory.
  static ChannelLate* make(const ElementOps& element) noexcept {
    if (base::refused(base::FaultPoint::channel)) return nullptr;
    const auto head =
        (sizeof(ChannelLate) + element.align - 1) & -element.align;
    void* const memory =
        ::operator new (head + kRoom * element.size,
                        std::align_val_t{element.align}, std::nothrow);
    if (memory == nullptr) return nullptr;
    auto* const late = ::new (memory) ChannelLate;
    late->values = static_cast<std::byte*>(memory) + head;
    return late;
  }
  static void free(ChannelLate* late, const ElementOps& element) noexcept {
    ::operator delete (static_cast<void*>(late),
                       std::align_val_t{element.align});
  }

  bool is_full() const noexcept { return count == kRoom; }
  void add(void* value, const ElementOps& element) noexcept {
    element.move(values + count * element.size, value);
    count = count + 1;
  }
};

}  // namespace weft::sync
