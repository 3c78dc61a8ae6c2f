// hostile_fixture.hpp: hostile programs in a sandbox, beside a neighbour.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "support/runtime_test.hpp"
#include "support/spending.hpp"
#include <weft/weft.hpp>

namespace weft::test {

// A server, and a client with so many requests; in a nursery of their own.
class Neighbour {
 public:
  static constexpr int kJunk = -1;  // what somebody else asks the server

  explicit Neighbour(int rounds) : nursery_(this_fiber::runtime()) {
    auto asks = make_channel<int>(4);
    auto [answer, answered] = make_channel<int>(1);
    server_ = nursery_.spawn([asked = std::move(asks.receiver),
                              answer = std::move(answer)]() mutable {
      int junk = 0;
      for (const int request : asked) {
        if (request == kJunk) {
          ++junk;
        } else {
          EXPECT_TRUE(answer.send(int{request}));
        }
      }
      return junk;
    });
    client_ = nursery_.spawn(
        [rounds, ask = asks.sender, answered = std::move(answered)]() mutable {
          int done = 0;
          for (int i = 0; i < rounds; ++i) {
            if (!ask.send(int{i})) break;
            if (answered.receive().value_or(kJunk) == i) ++done;
          }
          return done;
        });
    ask_ = std::move(asks.sender);
  }

  Sender<int>& ask() { return ask_; }
  // How many of its requests were answered, once all are.
  int answered() { return client_.join().value(); }
  // Ends the server. How much of what came to it was not the client's.
  int junk() {
    ask_.close();
    const int junk = server_.join().value();
    EXPECT_TRUE(nursery_.join());
    return junk;
  }

 private:
  Sender<int> ask_;
  Nursery nursery_;
  Task<int> server_;
  Task<int> client_;
};

class HostileTest : public WorkersTest {
 protected:
  static constexpr std::uint16_t kMeals = 30;
  static constexpr Budget kMeal{
      .ops = 20'000, .memory = 1u << 15, .spawn_count = 2, .channel_ops = 20};
  static constexpr Budget kGranted{.ops = kMeals * kMeal.ops,
                                   .memory = kMeals * kMeal.memory,
                                   .spawn_count = kMeals * kMeal.spawn_count,
                                   .channel_ops = kMeals * kMeal.channel_ops};
  static constexpr int kRounds = 1'000;

  // Runs hostile(sandbox, neighbour), and recharges it until nothing is left.
  // The neighbour finishes, the sandbox is at a standstill, and ends when it is
  // cancelled. Answers how much of what was granted is left then.
  template <typename F>
  Budget left_by(F hostile) {
    Budget left;
    in_fiber([&] {
      Neighbour neighbour(kRounds);
      Nursery sandbox(this_fiber::runtime(), {.budget = kGranted});
      auto task = sandbox.spawn({.budget = kMeal - Budget{.spawn_count = 1}},
                                [&] { hostile(sandbox, neighbour); });
      Result<Exhausted> hungry = sandbox.wait_exhausted();
      while (hungry && sandbox.recharge(hungry->fiber, kMeal)) {
        EXPECT_EQ(hungry->fiber, task.id());
        hungry = sandbox.wait_exhausted();
      }
      EXPECT_EQ(neighbour.answered(), kRounds);
      EXPECT_EQ(sandbox.join().error(), Errc::exhausted);
      await_exhausted(task);
      EXPECT_EQ(kGranted.lacks(task.ledger().spent), Resource::none);
      EXPECT_LE(this_fiber::runtime().stats().fibers_live,
                3u + kGranted.spawn_count);  // this one, and the neighbour's
      sandbox.cancel();
      EXPECT_EQ(task.join().error(), Errc::exhausted);  // it was given up
      left = sandbox.budget();
      EXPECT_EQ(kGranted.lacks(left), Resource::none);
      EXPECT_EQ(sandbox.join().error(), Errc::exhausted);
      EXPECT_EQ(sandbox.live(), 0u);
      junk_ = neighbour.junk();
    });
    return left;
  }
  int junk() const { return junk_; }

 private:
  int junk_ = 0;
};

}  // namespace weft::test
