// cancel_everywhere_test.cpp: a program that is cancelled at each of its cancel
// points in turn. Nothing leaks, and what must hold holds.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "unit/sync/searches.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Fault;
using test::search_all;
using test::Simulation;
using namespace std::chrono_literals;

// A shop: orders come in by a channel, clerks take goods out of a store under a
// lock and send parcels, a driver delivers them. Every parcel counts itself.
class Shop {
 public:
  struct Parcel {
    explicit Parcel(int& alive) : count(&alive) { ++*count; }
    Parcel(Parcel&& other) noexcept
        : count(std::exchange(other.count, nullptr)) {}
    Parcel& operator=(Parcel&& other) noexcept {
      std::swap(count, other.count);
      return *this;
    }
    ~Parcel() {
      if (count != nullptr) --*count;
    }
    int* count;
  };

  Status open() {
    Nursery nursery({.budget = Budget::service()});
    auto [orders, desk] = make_channel<int>(1);
    auto [packed, dock] = make_channel<Parcel>(0);
    nursery.spawn([this, orders = std::move(orders)]() mutable -> Status {
      for (; ordered < 2; ++ordered) WEFT_TRY(orders.send(int{ordered}));
      return {};
    });
    Nursery clerks;
    for (int i = 0; i < 2; ++i) {
      clerks.spawn({.name = "clerk"},
                   [this, desk = desk, packed = packed]() mutable -> Status {
                     return serve(desk, packed);
                   });
    }
    desk = {};
    packed = {};
    nursery.spawn([this, dock = std::move(dock)]() mutable -> Status {
      while (auto parcel = dock.receive()) {
        WEFT_TRY(this_fiber::sleep_for(1ms));
        ++delivered;
      }
      return {};
    });
    const Status worked = clerks.join();
    const Status end = nursery.join();
    return worked ? end : worked;
  }

  int ordered = 0, taken = 0, delivered = 0, alive = 0;
  Mutex lock;
  int store = 10;  // guarded by lock; with taken always ten

 private:
  Status serve(Receiver<int>& desk, Sender<Parcel>& packed) {
    while (auto order = desk.receive()) {
      {
        auto hold = WEFT_TRY(lock.acquire());
        --store;
        ++taken;
      }
      WEFT_TRY(packed.send(Parcel(alive), Deadline::after(1h)));
    }
    return {};
  }
};

TEST(CancelEverywhere, LeavesNothingBehind) {
  search_all({Fault::cancel_at_checkpoint}, 0, [](Simulation&) {
    Shop shop;
    Nursery outer;
    auto day = outer.spawn([&] { return shop.open(); });
    const Status end = day.join();
    // Closed: for want of a driver.
    EXPECT_TRUE(end || end.error() == Errc::cancelled ||
                end.error() == Errc::closed)
        << end.error();
    (void)outer.join();
    EXPECT_EQ(shop.alive, 0);
    EXPECT_TRUE(shop.lock.try_lock());  // nobody holds it
    EXPECT_EQ(shop.store + shop.taken, 10);
    shop.lock.unlock();
    EXPECT_LE(shop.delivered, shop.taken);
    EXPECT_LE(shop.taken, shop.ordered + 1);
  });
}

// Refused spawns, failed allocations and wakes for nothing as well.
TEST(CancelEverywhere, AndWithEveryOtherFault) {
  const auto body = [](Simulation&) {
    Shop shop;
    Nursery outer;
    auto day = outer.spawn([&] { return shop.open(); });
    (void)day.join();
    (void)outer.join();
    EXPECT_EQ(shop.alive, 0);
    EXPECT_TRUE(shop.lock.try_lock());
    EXPECT_EQ(shop.store + shop.taken, 10);
    shop.lock.unlock();
  };
  const auto result = testing::explore_test(
      {.search = test::Search::random,
       .schedules = static_cast<std::uint64_t>(test::scaled(600)),
       .faults = {Fault::cancel_at_checkpoint, Fault::spawn_refused,
                  Fault::allocation_failure, Fault::spurious_wake},
       .max_faults = 3},
      body);
  EXPECT_TRUE(test::kFewSchedules || result.untried.empty()) << result;
}

}  // namespace
}  // namespace weft
