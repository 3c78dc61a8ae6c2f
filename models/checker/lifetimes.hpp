// lifetimes.hpp: objects that a model's threads make and end themselves.
//
// Their memory stays until the execution is over, so a use after the end is
// seen and does no harm.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace weft::model {

class Lifetimes {
 public:
  struct Life {
    const std::byte* begin;
    std::size_t size;
    std::string name;
    std::unique_ptr<std::byte[], void (*)(std::byte*)> memory;
    bool ended = false;

    bool holds(const void* address) const noexcept {
      const auto* at = static_cast<const std::byte*>(address);
      return !std::less<>()(at, begin) && std::less<>()(at, begin + size);
    }
  };

  void clear() { lives_.clear(); }

  std::byte* begin(std::size_t size, std::string name) {
    auto* memory = static_cast<std::byte*>(
        ::operator new (size, std::align_val_t{kAlignment}));
    lives_.push_back({memory, size, std::move(name), {memory, &give_back}});
    return memory;
  }
  // The object around this address, or nullptr if it is no such object.
  Life* at(const void* address) {
    for (Life& life : lives_) {
      if (life.holds(address)) return &life;
    }
    return nullptr;
  }
  // One that has not ended, or nullptr.
  const Life* left() const {
    for (const Life& life : lives_) {
      if (!life.ended) return &life;
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t kAlignment = 64;
  static void give_back(std::byte* memory) {
    ::operator delete (memory, std::align_val_t{kAlignment});
  }

  std::vector<Life> lives_;
};

}  // namespace weft::model
