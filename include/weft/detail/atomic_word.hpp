// detail/atomic_word.hpp: the one atomic that a public class has inside.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::detail {

using AtomicWord = std::atomic<std::uint32_t>;

}  // namespace weft::detail
