// config.hpp: from what the user chose to what the runtime uses.
#pragma once

#include <string>

#include <weft/config.hpp>

namespace weft::runtime {

inline constexpr unsigned kMaxWorkers = 1024;
inline constexpr std::size_t kMinStack = std::size_t{8} << 10;
inline constexpr std::size_t kMaxStack = std::size_t{1} << 30;
inline constexpr std::size_t kMinQueue = 2;
inline constexpr std::size_t kMaxQueue = std::size_t{1} << 20;

// Any thread. Errors: invalid; *why (if given) says "workers = 2000: expected
// a number from 0 to 1024".
Status validate(const Config& config, std::string* why = nullptr);

// Any thread. A valid Config with every choice made: workers >= 1, stack_size
// not automatic and whole pages, global_queue a power of two.
Config resolve(Config config) noexcept;

}  // namespace weft::runtime
