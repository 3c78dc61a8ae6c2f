#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/search.hpp"

namespace weft::sim {
namespace {

using Ranks = std::vector<std::uint32_t>;

std::string text_of(Ranks ranks) {
  return Schedule{.workers = 2, .ranks = std::move(ranks)}.text();
}

Schedule read(const std::string& text) {
  Schedule schedule;
  EXPECT_TRUE(Schedule::parse(text, schedule)) << text;
  return schedule;
}

TEST(Schedule, ComesBackFromItsText) {
  const Schedule all[] = {
      {.workers = 1, .ranks = {}},
      {.workers = 2, .ranks = {1}},
      {.workers = 3, .ranks = {0, 0, 0, 1, 2, 2, 7}},
      {.workers = 2, .faults = 5, .max_faults = 3, .ranks = {0, 1}},
      {.workers = 1024,
       .faults = (1u << testing::kFaults) - 1,
       .max_faults = UINT32_MAX,
       .ranks = {UINT32_MAX}},
  };
  for (const auto& schedule : all) {
    const auto text = schedule.text();
    const auto back = read(text);
    EXPECT_EQ(back.workers, schedule.workers) << text;
    EXPECT_EQ(back.faults, schedule.faults) << text;
    EXPECT_EQ(back.max_faults, schedule.max_faults) << text;
    EXPECT_EQ(back.ranks, schedule.ranks) << text;
    EXPECT_EQ(back.text(), text);
  }
}

TEST(Schedule, WritesRepeatedRanksAsOneWithACount) {
  EXPECT_EQ(text_of({0, 0, 0, 1}), "w2:0x3.1");
  EXPECT_EQ(text_of({1, 1, 2, 1, 1, 1}), "w2:1x2.2.1x3");
  EXPECT_EQ(text_of({1, 0, 1}), "w2:1.0.1");
  EXPECT_EQ(read("w2:0x3.1").ranks, (Ranks{0, 0, 0, 1}));
  EXPECT_EQ(read("w2:1.1").ranks, (Ranks{1, 1}));
}

TEST(Schedule, LeavesZerosAtTheEndOut) {
  EXPECT_EQ(text_of({}), "w2:");
  EXPECT_EQ(text_of({0, 0, 0}), "w2:");
  EXPECT_EQ(text_of({0, 2, 0, 0}), "w2:0.2");
  EXPECT_TRUE(read("w2:").ranks.empty());
}

TEST(Schedule, NamesFaultsOnlyIfThereAreSome) {
  EXPECT_EQ((Schedule{.workers = 2, .max_faults = 4, .ranks = {1}}.text()),
            "w2:1");
  EXPECT_EQ((Schedule{.workers = 2, .faults = 18, .max_faults = 4, .ranks = {1}}
                 .text()),
            "w2f18n4:1");
}

TEST(Schedule, RefusesWhatIsNotOne) {
  for (const std::string text : {"",
                                 " ",
                                 "2:0",
                                 "w",
                                 "w:",
                                 "w:0",
                                 "w0:",
                                 "w0:1",
                                 "w2",
                                 "w2 :",
                                 "w-2:",
                                 "wx:1",
                                 "w2:a",
                                 "w2:0a",
                                 "w2:-1",
                                 "w2:0.",
                                 "w2:.0",
                                 "w2:0..1",
                                 "w2:.",
                                 "w2:0x",
                                 "w2:0x0",
                                 "w2:0xa",
                                 "w2:x3",
                                 "w2:0x2x2",
                                 "w2: 1",
                                 "w2:1 ",
                                 "w2:1\n",
                                 "w2:1,2",
                                 "W2:1",
                                 "w2f:1",
                                 "w2f1:1",
                                 "w2f1n:1",
                                 "w2fn1:1",
                                 "w2n1:1",
                                 "w2f32n1:1",
                                 "w2f64n1:1",
                                 "w2f1n1f1n1:",
                                 "w4294967296:",
                                 "w2:99999999999",
                                 "w2:0x99999999999"}) {
    Schedule schedule;
    EXPECT_FALSE(Schedule::parse(text, schedule)) << "'" << text << "'";
  }
}

TEST(Schedule, RefusesMoreThanAnyScheduleHas) {
  Schedule schedule;
  EXPECT_FALSE(Schedule::parse("w2:0x10000001", schedule));
  EXPECT_FALSE(Schedule::parse("w2:0x4294967295", schedule));
  EXPECT_FALSE(Schedule::parse("w2:0x10000000.1", schedule = {}));
  EXPECT_TRUE(Schedule::parse("w2:0x9999999.1", schedule = {}));
  EXPECT_EQ(schedule.ranks.size(), 10'000'000u);
}

}  // namespace
}  // namespace weft::sim
