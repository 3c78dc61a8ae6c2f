// check.hpp: the front of the checker: a program that checks protocols.
//
//   int main(int argc, char** argv) {
//     return weft::model::check_main(
//         argc, argv,
//         {{.name = "stack",
//           .files = {"my_stack.hpp"},
//           .scenarios = {{"hand over", hand_over},
//                         {"relaxed", relaxed_push, {}, Verdict::race}},
//           .mutations = {{"pop relaxed", "my_stack.hpp", "::pop(",
//                          "head_.load(acquire)"}}}});
//   }
//
// docs/checker.md shows how to write one for a header of your own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/atomic.hpp"
#include "checker/program.hpp"

#if !defined(WEFT_MODEL)
#error "compile with -DWEFT_MODEL: else Atomic is std's, and nothing is checked"
#endif

namespace weft::model {

struct Scenario {
  std::string name;
  std::function<void(Program&)> build;
  Options options = {};
  // A known mistake: the checker must find it, or it is blind.
  Verdict expected = Verdict::holds;
  bool nightly = false;  // takes minutes; only if asked for
};

// A header, the programs that show that it is right, and the mutations that at
// least one of them must catch.
struct Protocol {
  std::string name;
  std::vector<const char*> files = {};  // whose orders the audit weakens
  std::vector<Scenario> scenarios = {};
  std::vector<Mutation> mutations = {};
};

// "holds", "holds (bounded)", "deadlock, as it must: ..."
std::string outcome(const Scenario& scenario, const Report& report);

// Runs what the arguments ask for (--help) and prints what it found. Answers
// the exit status: 0 if all is as expected, 1 if not, 2 for bad arguments.
int check_main(int argc, char** argv, const std::vector<Protocol>& protocols);

}  // namespace weft::model
