// detail/storage.hpp: the inside of a class whose parts are the library's own.
#pragma once

#include <cstddef>

namespace weft::detail {

// Zero bytes, or what the library makes there.
template <std::size_t Size>
struct Storage {
  alignas(void*) std::byte bytes[Size] = {};
};

}  // namespace weft::detail
