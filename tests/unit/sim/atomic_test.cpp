#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <thread>

#include <weft/testing.hpp>
#include <weft/wait.hpp>

namespace weft::testing {
namespace {

// ---- Outside a simulation

TEST(ObservedAtomic, IsAPlainOneOutsideASimulation) {
  Atomic<int> value{5};
  EXPECT_EQ(value.load(), 5);
  value.store(6, std::memory_order_release);
  EXPECT_EQ(value.exchange(7), 6);
  EXPECT_EQ(value.fetch_add(3), 7);
  EXPECT_EQ(value.fetch_sub(2), 10);
  int expected = 1;
  EXPECT_FALSE(value.compare_exchange_strong(expected, 9));
  EXPECT_EQ(expected, 8);
  EXPECT_TRUE(value.compare_exchange_weak(expected, 9));
  EXPECT_EQ(value.load(std::memory_order_acquire), 9);
}

TEST(ObservedAtomic, BeginsWithZero) {
  Atomic<int> number;
  Atomic<int*> pointer;
  EXPECT_EQ(number.load(), 0);
  EXPECT_EQ(pointer.load(), nullptr);
}

TEST(ObservedAtomic, CountsForThreads) {
  Atomic<int> sum{0};
  const auto add = [&sum] {
    for (int i = 0; i < 10'000; ++i) {
      sum.fetch_add(1);
      point();
    }
  };
  std::thread one(add);
  std::thread two(add);
  one.join();
  two.join();
  EXPECT_EQ(sum.load(), 20'000);
}

TEST(ObservedAtomic, IsAPlainOneOnRealWorkers) {
  auto runtime = Runtime::start({.workers = 2});
  ASSERT_TRUE(runtime);
  Atomic<int> sum{0};
  EXPECT_TRUE(runtime->run([&sum](Nursery& nursery) {
    for (int i = 0; i < 100; ++i) {
      nursery.spawn([&sum] {
        sum.fetch_add(1);
        point();
      });
    }
  }));
  EXPECT_EQ(sum.load(), 100);
  for (const auto& worker : runtime->ref().stats().workers) {
    EXPECT_EQ(worker.yielded, 0u);
  }
}

// ---- What is found because of it

// Two fibers call add(sum), which adds one.
template <typename Sum, typename Add>
ExploreResult add_twice(Add add) {
  return explore({.search = Search::exhaustive}, [add](Simulation& sim) {
    Sum sum{0};
    Nursery nursery;
    for (int i = 0; i < 2; ++i) nursery.spawn([&sum, add] { add(sum); });
    (void)nursery.join();
    sim.check(sum == 2, "both count");
  });
}

struct Observed {
  Atomic<int> value{0};
  Observed(int start) : value(start) {}  // NOLINT: as Atomic's
  bool operator==(int other) const { return value.load() == other; }
};

TEST(ObservedAtomic, ShowsALostUpdateThatPlainVariablesHide) {
  const auto plain = add_twice<int>([](int& sum) {
    const int before = sum;
    sum = before + 1;
  });
  EXPECT_TRUE(plain);
  EXPECT_TRUE(plain.complete);
  const auto observed = add_twice<Observed>([](Observed& sum) {
    const int before = sum.value.load();
    sum.value.store(before + 1);
  });
  EXPECT_EQ(observed.verdict, Verdict::assertion);
}

TEST(ObservedAtomic, FindsNothingInOneThatAddsAtOnce) {
  const auto added =
      add_twice<Observed>([](Observed& sum) { sum.value.fetch_add(1); });
  EXPECT_TRUE(added);
  EXPECT_TRUE(added.complete);
  const auto exchanged = add_twice<Observed>([](Observed& sum) {
    int seen = sum.value.load();
    while (!sum.value.compare_exchange_weak(seen, seen + 1)) {
    }
  });
  EXPECT_TRUE(exchanged);
  EXPECT_TRUE(exchanged.complete);
}

TEST(Point, ShowsALostUpdateOfPlainVariables) {
  const auto result = add_twice<int>([](int& sum) {
    const int before = sum;
    point();
    sum = before + 1;
  });
  EXPECT_EQ(result.verdict, Verdict::assertion);
  EXPECT_NE(result.report.find("passes a point"), std::string::npos)
      << result.report;
}

// Under a spin lock nobody else runs, so it is no place to stop.
TEST(Point, IsNoPlaceUnderASpinLock) {
  const auto result = add_twice<int>([](int& sum) {
    static SpinLock lock;
    lock.lock();
    const int before = sum;
    point();
    sum = before + 1;
    lock.unlock();
  });
  EXPECT_TRUE(result) << result;
  EXPECT_TRUE(result.complete);
}

}  // namespace
}  // namespace weft::testing
