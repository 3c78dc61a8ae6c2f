// charge_new_test.cpp: the heap, counted; a program that links weft_charge_new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class ChargeNewTest : public test::WorkersTest {
 protected:
  // Runs the body in a child that may have so many bytes.
  template <typename F>
  void with_memory(std::size_t bytes, F body) {
    in_fiber([&] {
      Nursery nursery;
      auto child = nursery.spawn(
          {.budget = Budget{.ops = 1000, .memory = bytes, .channel_ops = 10}},
          [&] { body(); });
      EXPECT_TRUE(child.join());
      EXPECT_TRUE(nursery.join());
    });
  }
  static std::size_t left() { return this_fiber::ledger().left.memory; }
};
INSTANTIATE_TEST_SUITE_P(Workers, ChargeNewTest, ::testing::Values(1u, 2u));

TEST_P(ChargeNewTest, TakesTheBytesAndGivesThemBack) {
  with_memory(100'000, [] {
    const auto before = left();
    {
      const std::vector<char> block(10'000);
      EXPECT_LE(left(), before - block.size());
      const auto aligned = std::make_unique<std::byte[]>(100);
      EXPECT_LT(left(), before - block.size());
    }
    EXPECT_EQ(left(), before);
    struct alignas(256) Wide {
      std::byte bytes[256];
    };
    {
      const auto wide = std::make_unique<Wide>();
      EXPECT_LE(left(), before - sizeof(Wide));
    }
    EXPECT_EQ(left(), before);
  });
}

// R-ERR-01: the allocation bomb stops at its limit, and the process goes on.
TEST_P(ChargeNewTest, RefusesWhatIsNotGranted) {
  with_memory(100'000, [] {
    std::vector<std::unique_ptr<char[]>> bomb;
    bomb.reserve(1000);
    std::size_t got = 0;
    EXPECT_THROW(
        {
          for (;;) {
            bomb.push_back(std::make_unique<char[]>(1000));
            got += 1000;
          }
        },
        std::bad_alloc);
    EXPECT_LT(got, 100'000u);
    EXPECT_GT(got, 80'000u);
    EXPECT_EQ(new (std::nothrow) char[50'000], nullptr);
    bomb.clear();
    const std::unique_ptr<char[]> again(new (std::nothrow) char[50'000]);
    EXPECT_NE(again, nullptr);
  });
}

TEST_P(ChargeNewTest, ChargesNobodyWhoIsNotMetered) {
  in_fiber([] {
    const std::vector<char> block(1'000'000);
    EXPECT_EQ(this_fiber::ledger().left, Budget::unlimited());
    EXPECT_EQ(this_fiber::ledger().spent, Budget());
  });
  const std::vector<char> on_a_thread(1'000'000);
  EXPECT_EQ(this_fiber::ledger().spent, Budget());
}

TEST_P(ChargeNewTest, AMessageTakesItsBytesAlong) {
  in_fiber([] {
    auto channel = make_channel<std::vector<char>>(1);
    auto& sender = channel.sender;
    auto& receiver = channel.receiver;
    const Budget some{.ops = 100, .memory = 100'000, .channel_ops = 10};
    Nursery nursery;
    auto first = nursery.spawn({.budget = some}, [&] {
      EXPECT_TRUE(sender.send(std::vector<char>(10'000)));
      return left();
    });
    EXPECT_LE(first.join().value(), 90'000u);
    auto second = nursery.spawn({.budget = some}, [&] {
      (void)receiver.receive();
      return left();
    });
    EXPECT_GE(second.join().value(), 110'000u);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ChargeNewTest, WhatNobodyPaidForMakesNoMemory) {
  constexpr std::size_t kMuch = std::size_t{64} << 20;
  std::vector<char> unpaid;
  unpaid.reserve(kMuch);
  with_memory(100'000, [&] {
    unpaid = {};
    EXPECT_LT(left(), kMuch / 2);
  });
}

// Who has no budget left is not helped by what makes room on the machine.
TEST_P(ChargeNewTest, AsksNoHandlerWhereTheBudgetIsShort) {
  static std::atomic<int> asked{0};
  asked = 0;
  const auto before = std::set_new_handler([] { ++asked; });
  with_memory(10'000,
              [] { EXPECT_THROW(std::vector<char>(100'000), std::bad_alloc); });
  std::set_new_handler(before);
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace weft
