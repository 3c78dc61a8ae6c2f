// corpus.hpp: classic concurrency bugs, each in its buggy and its fixed form.
//
// What explore() is measured by: it has to find every buggy form, and to leave
// every fixed form alone. To add a bug, write both forms as one template whose
// parameter makes the difference, and list it at the end of its file.
#pragma once

#include <span>
#include <vector>

#include <weft/testing.hpp>

namespace weft::corpus {

using testing::Fault;
using testing::Simulation;
using testing::Verdict;

struct Bug {
  const char* name;
  const char* what;  // goes wrong, in one sentence
  Verdict verdict;   // of the buggy form
  void (*buggy)(Simulation& sim);
  void (*fixed)(Simulation& sim);
  // Where they are special: the faults that it takes, a limit of steps.
  testing::ExploreOptions options = {};
  // Among the first 10,000 schedules, depth first.
  bool exhaustive_finds = true;
};

// All of them, in the order of the files.
std::span<const Bug> corpus();

std::vector<Bug> lock_bugs();
std::vector<Bug> signal_bugs();
std::vector<Bug> lifetime_bugs();
std::vector<Bug> lock_free_bugs();
std::vector<Bug> deadline_bugs();
std::vector<Bug> library_bugs();
std::vector<Bug> channel_bugs();

}  // namespace weft::corpus
