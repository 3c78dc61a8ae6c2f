// races.hpp: finds two uses of plain data that nothing orders.
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>

#include "base/model_seam.hpp"
#include "checker/clock.hpp"

namespace weft::model {

class Races {
 public:
  struct Use {
    int thread = -1;
    std::uint16_t step = 0;  // known to who knows so many steps of the thread
    base::Site site;
  };

  void clear() { cells_.clear(); }

  // A use by a thread with this clock. The other end of a race, or nullptr.
  const Use* use(const void* address, int thread, const Clock& clock,
                 bool writes, base::Site site) {
    Cell& cell = cells_[address];
    if (!ordered(cell.write, thread, clock)) return &cell.write;
    if (writes) {
      for (const Use& read : cell.reads) {
        if (!ordered(read, thread, clock)) return &read;
      }
    }
    const auto t = static_cast<std::size_t>(thread);
    const auto step = static_cast<std::uint16_t>(clock[t] + 1);
    (writes ? cell.write : cell.reads[t]) = {thread, step, site};
    return nullptr;
  }

  // All plain data in this range ends here: as if written.
  const Use* end(const std::byte* begin, std::size_t size, int thread,
                 const Clock& clock, base::Site site) {
    for (auto& [address, cell] : cells_) {
      const auto* at = static_cast<const std::byte*>(address);
      if (std::less<>()(at, begin) || !std::less<>()(at, begin + size))
        continue;
      if (const auto* other = use(address, thread, clock, true, site)) {
        return other;
      }
    }
    return nullptr;
  }

 private:
  struct Cell {
    Use write;  // the latest: all before it are ordered before it
    std::array<Use, kMaxThreads> reads;
  };

  static bool ordered(const Use& use, int thread, const Clock& clock) {
    return use.thread < 0 || use.thread == thread ||
           clock[static_cast<std::size_t>(use.thread)] >= use.step;
  }

  std::unordered_map<const void*, Cell> cells_;
};

}  // namespace weft::model
