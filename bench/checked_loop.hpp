// checked_loop.hpp: one loop, compiled twice: with yield checks by the compiler
// and without.
#pragma once

#include <cstdint>

namespace bench {

// A multiplication a turn, in one block.
#define WEFT_BENCH_LOOP(name)                              \
  std::uint64_t name(std::int64_t turns) {                 \
    std::uint64_t x = 1;                                   \
    for (std::int64_t i = 0; i < turns; ++i) {             \
      x = x * 6364136223846793005u + 1442695040888963407u; \
    }                                                      \
    return x;                                              \
  }

std::uint64_t checked_loop(std::int64_t turns);
std::uint64_t plain_loop(std::int64_t turns);

}  // namespace bench
