// select_lots_test.cpp: whom a select takes if several are ready.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "support/runtime_test.hpp"
#include "sync/lots.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

constexpr std::size_t kMost = 5;
constexpr int kRounds = 4'000;
using Counts = std::array<int, kMost + 1>;

bool is_in(unsigned ready, std::size_t i) { return (ready >> i & 1) != 0; }

// Those that are ready, and nobody else, each about as often: the sum of the
// squares is beyond this bound once in 100'000 times, if lots are even.
void expect_even(const Counts& counts, unsigned ready) {
  const auto many = static_cast<unsigned>(__builtin_popcount(ready));
  const double expected = static_cast<double>(kRounds) / many;
  double chi_square = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (is_in(ready, i)) {
      chi_square += std::pow(counts[i] - expected, 2) / expected;
    } else {
      EXPECT_EQ(counts[i], 0) << i;
    }
  }
  constexpr std::array<double, kMost> kBounds{0, 19.5, 23.0, 25.9, 28.5};
  EXPECT_LE(chi_square, kBounds[many - 1]);
}

// Of every set that is ready, whatever lies between its members.
TEST(SelectLots, AreEvenAmongThoseThatAreReady) {
  for (std::size_t count = 1; count <= kMost; ++count) {
    for (unsigned ready = 1; ready < 1u << count; ++ready) {
      SCOPED_TRACE(::testing::Message() << ready << " of " << count);
      std::uint64_t sequence = 7 * count + ready;
      std::array<std::uint16_t, kMost> order{};
      Counts counts{};
      for (int i = 0; i < kRounds; ++i) {
        ++counts[sync::first_by_lot(
            order.data(), count, [&] { return sync::next_lot(sequence); },
            [&](std::size_t one) { return is_in(ready, one); })];
      }
      expect_even(counts, ready);
    }
  }
}

TEST(SelectLots, MeetEachOnceIfNoneIsReady) {
  std::uint64_t sequence = 0;
  for (std::size_t count = 0; count <= kMost; ++count) {
    std::array<std::uint16_t, kMost> order{};
    Counts met{};
    EXPECT_EQ(sync::first_by_lot(
                  order.data(), count, [&] { return sync::next_lot(sequence); },
                  [&](std::size_t one) { return ++met[one] == 0; }),
              count);
    for (std::size_t i = 0; i < met.size(); ++i) EXPECT_EQ(met[i], i < count);
  }
}

class SelectLotsTest : public test::RuntimeTest {
 protected:
  // Whom each of so many selects took, if these are ready.
  static std::vector<std::size_t> taken(const Config& config, unsigned ready) {
    std::vector<std::size_t> all;
    Runtime runtime = start(config);
    EXPECT_TRUE(runtime.run([&] {
      std::vector<Channel<int>> channels;
      Selector selector(kMost);
      for (std::size_t i = 0; i < kMost; ++i) {
        channels.push_back(make_channel<int>(1));
      }
      for (std::size_t i = 0; i < kMost; ++i) {
        EXPECT_TRUE(selector.add(on_receive(
            channels[i].receiver, [](Result<int> got) { EXPECT_TRUE(got); })));
        EXPECT_TRUE(!is_in(ready, i) || channels[i].sender.try_send(1));
      }
      for (int i = 0; i < kRounds; ++i) {
        all.push_back(selector.wait().value());
        EXPECT_TRUE(channels[all.back()].sender.try_send(1));
      }
    }));
    return all;
  }
  static void expect_even_in(const Config& config) {
    for (const unsigned ready : {0b00011u, 0b10001u, 0b10011u, 0b11111u}) {
      SCOPED_TRACE(ready);
      Counts counts{};
      for (const auto one : taken(config, ready)) ++counts[one];
      expect_even(counts, ready);
    }
  }
};

TEST_F(SelectLotsTest, AreEvenOnAWorker) {
  expect_even_in(Config{.workers = 1});
}

// Also where a fiber is alone, and nobody makes a choice in between.
TEST_F(SelectLotsTest, AreEvenInASimulation) {
  expect_even_in(Config{.workers = 1, .deterministic_seed = 5});
}

TEST_F(SelectLotsTest, AreTheSameInTheSameRun) {
  const Config config{.workers = 2, .deterministic_seed = 11};
  EXPECT_EQ(taken(config, 0b10110), taken(config, 0b10110));
}

}  // namespace
}  // namespace weft
