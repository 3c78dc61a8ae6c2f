// The classic shapes: for each one outcome, and under which orders it may come.
// litmus_test.cpp compares whole sets of outcomes; this page is for readers.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "litmus/litmus.hpp"

namespace weft::model {
namespace {

struct Shape {
  const char* name;
  const char* program;  // W and R stand for the orders of stores and loads
  const char* outcome;  // what was read, then the last store of each location
  bool relaxed;         // may it come with relaxed accesses,
  bool acquire;         // with release and acquire,
  bool seq_cst;         // with seq_cst?
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.program; }

// Load buffering with relaxed accesses is the one answer in which C++20 allows
// more than the checker explores (docs/design/models.md).
constexpr Shape kShapes[] = {
    {"MP", "x=1.rlx; y=1.W | r0=y.R; r1=x.rlx", "1 0 / 1 1", true, false,
     false},
    {"SB", "x=1.W; r0=y.R | y=1.W; r1=x.R", "0 0 / 1 1", true, true, false},
    {"LB", "r0=x.R; y=1.W | r1=y.R; x=1.W", "1 1 / 1 1", false, false, false},
    {"IRIW", "x=1.W | y=1.W | r0=x.R; r1=y.R | r2=y.R; r3=x.R", "1 0 1 0 / 1 1",
     true, true, false},
    {"WRC", "x=1.W | r0=x.R; y=1.W | r1=y.R; r2=x.R", "1 1 0 / 1 1", true,
     false, false},
    {"CoRR", "x=1.W | r0=x.R; r1=x.R", "1 0 / 1", false, false, false},
    {"CoWR", "x=1.W; r0=x.R | x=2.W", "0 / 1", false, false, false},
    {"TwoPlusTwoW", "x=1.W; y=2.W | y=1.W; x=2.W", "/ 1 1", true, true, false},
    {"S", "x=2.rlx; y=1.W | r0=y.R; x=1.W", "1 / 2 1", true, false, false},
    {"R", "x=1.W; y=1.W | y=2.W; r0=x.R", "0 / 1 2", true, true, false},
};

std::string with(std::string program, const char* store, const char* load) {
  for (const auto& [letter, order] : {std::pair{".W", store}, {".R", load}}) {
    for (auto at = program.find(letter); at != std::string::npos;
         at = program.find(letter)) {
      program.replace(at + 1, 1, order);
    }
  }
  return program;
}

class Classic : public ::testing::TestWithParam<Shape> {
 protected:
  static void expect_outcome(const char* store, const char* load,
                             bool allowed) {
    const auto program = with(GetParam().program, store, load);
    const auto found = run_litmus(program);
    ASSERT_TRUE(found.report) << found.report.what;
    ASSERT_FALSE(found.outcomes.empty());
    EXPECT_EQ(found.outcomes.contains(GetParam().outcome), allowed) << program;
  }
};

TEST_P(Classic, WithRelaxedAccesses) {
  expect_outcome("rlx", "rlx", GetParam().relaxed);
}
TEST_P(Classic, WithReleaseAndAcquire) {
  expect_outcome("rel", "acq", GetParam().acquire);
}
TEST_P(Classic, WithSequentialConsistency) {
  expect_outcome("sc", "sc", GetParam().seq_cst);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Classic, ::testing::ValuesIn(kShapes),
                         [](const auto& shape) { return shape.param.name; });

}  // namespace
}  // namespace weft::model
