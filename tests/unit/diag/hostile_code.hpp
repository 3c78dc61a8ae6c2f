// hostile_code.hpp: programs that take what they can get, compiled with yield
// checks. None of them ends by itself; each counts what it got.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory_resource>

#include <weft/channel.hpp>
#include <weft/nursery.hpp>

namespace weft::test {

// Starts fibers that do the same, each with half of what there is.
[[noreturn]] void fork_for_ever(std::atomic<int>& started);

[[noreturn]] void allocate_for_ever(std::pmr::memory_resource& from,
                                    std::size_t& bytes);

// The blocks are the caller's: who is given up frees nothing.
struct KeptBlock {
  KeptBlock* next;
  std::byte rest[1000];
};
[[noreturn]] void new_for_ever(KeptBlock*& kept);

[[noreturn]] void send_for_ever(Sender<int>& to, int value, int& sent);

}  // namespace weft::test
