// corpus_table.cpp: weft-corpus, which measures how soon each bug of the corpus
// is found. Its table stands in docs/exploration.md.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "corpus/corpus.hpp"

namespace {

using weft::corpus::Bug;
using weft::testing::ExploreResult;
using weft::testing::Search;

constexpr std::uint64_t kSchedules = 10'000;
constexpr const char* kUsage =
    "usage: weft-corpus [--seeds N] [--help] [BUG...]\n"
    "\n"
    "Explores the buggy forms of the corpus, or of those named, and prints a\n"
    "Markdown table: the schedules until each is found (the median over N\n"
    "seeds, 25 unless told, and the worst; at most 10,000), the steps of the\n"
    "simplest schedule, how many of its choices are no default, and the\n"
    "seconds (of a CPU) of a random search. Failures are reported to stderr.\n";

// As its report tells.
std::string steps_of(const ExploreResult& found) {
  constexpr std::string_view kBefore = "schedule, ";
  const auto from = found.report.find(kBefore);
  if (from == std::string::npos) return "?";
  const auto first = from + kBefore.size();
  return found.report.substr(first, found.report.find(' ', first) - first);
}

// w2:0x3.1.0x2.2x2: ranks, most of them repeated; here three are not 0.
unsigned deviations_of(const ExploreResult& found) {
  unsigned count = 0;
  const auto& text = found.replay;
  for (auto at = text.find(':'); at < text.size() - 1;) {
    const auto first = at + 1;
    at = std::min(text.find('.', first), text.size());
    const auto part = std::string_view(text).substr(first, at - first);
    unsigned times = 1;
    if (const auto x = part.find('x'); x != part.npos) {
      std::from_chars(part.data() + x + 1, part.data() + part.size(), times);
    }
    if (part[0] != '0') count += times;
  }
  return count;
}

struct Searched {
  std::string schedules;  // "median (worst)"
  double seconds = 0;     // of one search, on average
  ExploreResult last;
};

// By this many seeds, or once if it has none.
Searched search(const Bug& bug, Search how, unsigned seeds) {
  auto options = bug.options;
  options.search = how;
  options.schedules = kSchedules;
  std::vector<std::uint64_t> counts;
  Searched result;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    options.seed = seed;
    options.minimize = seed == seeds;
    const auto start = std::clock();  // of the CPU: others do not count
    result.last = weft::testing::explore(options, bug.buggy);
    result.seconds += static_cast<double>(std::clock() - start) /
                      static_cast<double>(CLOCKS_PER_SEC) / seeds;
    counts.push_back(result.last ? UINT64_MAX : result.last.schedules);
  }
  std::sort(counts.begin(), counts.end());
  const auto text = [](std::uint64_t count) {
    return count == UINT64_MAX ? std::string("–") : std::to_string(count);
  };
  result.schedules = text(counts[counts.size() / 2]);
  if (seeds > 1) result.schedules += " (" + text(counts.back()) + ")";
  return result;
}

void print_row(const Bug& bug, unsigned seeds) {
  const auto exhaustive = search(bug, Search::exhaustive, 1);
  const auto pct = search(bug, Search::pct, seeds);
  const auto random = search(bug, Search::random, seeds);
  std::printf("| `%s` | %s | %s | %s | %s | %s | %s | %u | %.4f |\n", bug.name,
              bug.what, to_string(bug.verdict), random.schedules.c_str(),
              pct.schedules.c_str(), exhaustive.schedules.c_str(),
              steps_of(random.last).c_str(), deviations_of(random.last),
              random.seconds);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  unsigned seeds = 25;
  std::vector<std::string_view> names;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (argument == "--seeds" && i + 1 < argc) {
      const std::string_view value = argv[++i];
      const auto end = value.data() + value.size();
      const auto read = std::from_chars(value.data(), end, seeds);
      if (read.ptr == end && seeds != 0) continue;
    } else if (!argument.starts_with("-")) {
      names.push_back(argument);
      continue;
    }
    std::fputs(kUsage, stderr);
    return 2;
  }
  std::printf(
      "| bug | what goes wrong | verdict | random | pct | exhaustive | steps | "
      "choices | seconds |\n"
      "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const Bug& bug : weft::corpus::corpus()) {
    if (names.empty() || std::ranges::find(names, bug.name) != names.end()) {
      print_row(bug, seeds);
    }
  }
}
