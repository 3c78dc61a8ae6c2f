// core_in.hpp: what the library keeps inside a public class.
#pragma once

#include <cstddef>
#include <new>

#include <weft/detail/storage.hpp>

namespace weft::sync {

// Zero bytes are a new one, or make_core() made it.
template <typename Core, std::size_t Size>
Core& core_in(detail::Storage<Size>& storage) noexcept {
  static_assert(sizeof(Core) == Size && alignof(Core) <= alignof(void*));
  return *std::launder(reinterpret_cast<Core*>(storage.bytes));
}
template <typename Core, std::size_t Size>
const Core& core_in(const detail::Storage<Size>& storage) noexcept {
  static_assert(sizeof(Core) == Size && alignof(Core) <= alignof(void*));
  return *std::launder(reinterpret_cast<const Core*>(storage.bytes));
}

template <typename Core, std::size_t Size, typename... Args>
Core& make_core(detail::Storage<Size>& storage, Args&&... args) noexcept {
  static_assert(sizeof(Core) == Size && alignof(Core) <= alignof(void*));
  return *::new (static_cast<void*>(storage.bytes))
      Core(static_cast<Args&&>(args)...);
}

}  // namespace weft::sync
