// What the checker finds in small programs is exactly what RC11 allows.
//
// cases.txt has one program a line: name, program, the number of consistent
// execution graphs and the set of outcomes, as an independent enumeration of
// the axioms found them.
#include "litmus/litmus.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace weft::model {
namespace {

struct Case {
  std::string name;
  std::string program;
  std::uint64_t graphs = 0;
  std::set<std::string> outcomes;
};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<Case> read_cases(const std::string& file) {
  std::vector<Case> cases;
  std::ifstream stream(std::string(WEFT_LITMUS_CASES) + "/" + file);
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    Case one;
    std::string field;
    std::getline(fields, field, ':');
    one.name = trimmed(field);
    std::getline(fields, field, ':');
    one.program = trimmed(field);
    std::getline(fields, field, ':');
    one.graphs = std::stoull(field);
    while (std::getline(fields, field, ',')) {
      one.outcomes.insert(trimmed(field));
    }
    cases.push_back(one);
  }
  return cases;
}

void PrintTo(const Case& one, std::ostream* out) { *out << one.program; }

class Litmus : public ::testing::TestWithParam<Case> {};

TEST_P(Litmus, HasExactlyTheOutcomesOfTheMemoryModel) {
  const auto& wanted = GetParam();
  const auto found = run_litmus(wanted.program);
  EXPECT_TRUE(found.report) << found.report.what << '\n' << found.report.trace;
  EXPECT_EQ(found.outcomes, wanted.outcomes) << wanted.program;
  // Each graph once: no more work than needed, and nothing left out.
  EXPECT_EQ(found.report.executions, wanted.graphs) << wanted.program;
}

INSTANTIATE_TEST_SUITE_P(Named, Litmus,
                         ::testing::ValuesIn(read_cases("cases.txt")),
                         [](const auto& param) { return param.param.name; });

TEST(LitmusRandom, ProgramsHaveExactlyTheOutcomesOfTheMemoryModel) {
  const auto cases = read_cases("random.txt");
  EXPECT_GT(cases.size(), 100u);
  for (const auto& wanted : cases) {
    const auto found = run_litmus(wanted.program);
    ASSERT_TRUE(found.report) << wanted.program;
    ASSERT_EQ(found.outcomes, wanted.outcomes) << wanted.program;
    ASSERT_EQ(found.report.executions, wanted.graphs) << wanted.program;
  }
}

}  // namespace
}  // namespace weft::model
