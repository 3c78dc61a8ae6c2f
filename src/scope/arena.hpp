// arena.hpp: memory of one nursery, given back as a whole when that ends.
//
// Blocks are cut from chunks, by size, and a block that is freed serves the
// next of its size: a nursery that lives for long does not grow. What is too
// large for that has an allocation of its own.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>

#include "base/spin_lock.hpp"

namespace weft::scope {

class Arena final : public std::pmr::memory_resource {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() override;

  // Any thread. nullptr: no memory. What a metered fiber takes here costs it
  // nothing.
  void* take(std::size_t bytes, std::size_t align) noexcept;
  void give(void* block, std::size_t bytes, std::size_t align) noexcept;

  // No child is left: what metered fibers paid for and did not free.
  std::size_t unreturned() const noexcept { return unreturned_; }

 private:
  static constexpr std::size_t kSmallest = 32;
  static constexpr std::size_t kLargest = std::size_t{8} << 10;
  static constexpr std::size_t kChunk = std::size_t{64} << 10;
  static constexpr std::size_t kAlign = 64;
  static constexpr std::size_t kSizes = 9;  // powers of two

  struct Free {
    Free* next;
  };
  struct Chunk {
    Chunk* next;
  };
  struct Large {
    Large* previous;
    Large* next;
  };

  static std::size_t size_class(std::size_t bytes) noexcept;
  void* cut(std::size_t bytes) noexcept;
  void* take_large(std::size_t bytes, std::size_t align) noexcept;
  void give_large(Large& large) noexcept;

  // The current fiber pays, and has it back. Throws std::bad_alloc if it must
  // stop while it waits for a recharge.
  void* do_allocate(std::size_t bytes, std::size_t align) override;
  void do_deallocate(void* block, std::size_t bytes,
                     std::size_t align) override;
  bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  base::SpinLock lock_;
  // Guarded by lock_.
  std::array<Free*, kSizes> free_{};
  Chunk* chunks_ = nullptr;
  std::byte* next_ = nullptr;  // in the newest chunk
  std::byte* end_ = nullptr;
  Large* larges_ = nullptr;
  std::size_t unreturned_ = 0;
};

}  // namespace weft::scope
