// schedule.cpp: a schedule as text.
//
//   w<workers> [f<faults>n<at most>] : <rank> [x<times>] . ...
//
// Zeros at the end are left out: they are what comes behind the end anyway.

#include <charconv>

#include "sim/search.hpp"

namespace weft::sim {

namespace {

// Takes what it reads off the front.
struct Reader {
  std::string_view rest;

  bool take(char wanted) {
    if (rest.empty() || rest.front() != wanted) return false;
    rest.remove_prefix(1);
    return true;
  }
  bool number(std::uint32_t& value) {
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc()) return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return true;
  }
};

}  // namespace

std::string Schedule::text() const {
  std::string text = "w" + std::to_string(workers);
  if (faults != 0) {
    text += "f" + std::to_string(faults) + "n" + std::to_string(max_faults);
  }
  text += ':';
  auto size = ranks.size();
  while (size != 0 && ranks[size - 1] == 0) --size;
  for (std::size_t i = 0; i < size;) {
    std::size_t same = i;
    while (same < size && ranks[same] == ranks[i]) ++same;
    if (i != 0) text += '.';
    text += std::to_string(ranks[i]);
    if (same - i > 1) text += "x" + std::to_string(same - i);
    i = same;
  }
  return text;
}

bool Schedule::parse(const std::string& text, Schedule& schedule) {
  constexpr std::size_t kLongest = 10'000'000;
  Reader reader{text};
  constexpr unsigned kMostWorkers = 1024;  // as of a Config
  if (!reader.take('w') || !reader.number(schedule.workers) ||
      schedule.workers > kMostWorkers) {
    return false;
  }
  if (reader.take('f') &&
      (!reader.number(schedule.faults) || !reader.take('n') ||
       !reader.number(schedule.max_faults))) {
    return false;
  }
  if (!reader.take(':')) return false;
  while (!reader.rest.empty()) {
    std::uint32_t rank = 0;
    std::uint32_t times = 1;
    if (!reader.number(rank)) return false;
    if (reader.take('x') && (!reader.number(times) || times == 0)) return false;
    if (!reader.rest.empty() && (!reader.take('.') || reader.rest.empty())) {
      return false;
    }
    if (schedule.ranks.size() + times > kLongest) return false;
    schedule.ranks.insert(schedule.ranks.end(), times, rank);
  }
  return schedule.workers != 0 && schedule.faults < 1u << testing::kFaults;
}

}  // namespace weft::sim
