// detail/atomic_word.hpp: the atomics that public classes have inside.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::detail {

using AtomicWord = std::atomic<std::uint32_t>;
using AtomicAddress = std::atomic<std::uintptr_t>;

}  // namespace weft::detail
