#include "corpus/corpus.hpp"

namespace weft::corpus {

std::span<const Bug> corpus() {
  static const std::vector<Bug> kAll = [] {
    std::vector<Bug> all;
    for (auto list : {lock_bugs, signal_bugs, lifetime_bugs, lock_free_bugs,
                      deadline_bugs, library_bugs, channel_bugs}) {
      for (auto& bug : list()) all.push_back(std::move(bug));
    }
    return all;
  }();
  return kAll;
}

}  // namespace weft::corpus
