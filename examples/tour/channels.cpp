// channels.cpp: a relay, a sieve, a choice, and results in their order.
#include <chrono>
#include <cstdint>
#include <utility>

#include "tour.hpp"

using namespace std::chrono_literals;

namespace tour {

namespace {

// Values through a line of fibers, each with a channel to the next.
std::int64_t relay(int hops, int values) {
  Nursery nursery;
  auto [first, in] = weft::make_channel<int>(16);
  for (int i = 0; i < hops; ++i) {
    auto [out, next] = weft::make_channel<int>(16);
    nursery.spawn(
        [](weft::Receiver<int> from, weft::Sender<int> to) {
          for (const int value : from) {
            if (!to.send(value)) return;
          }
        },
        std::move(in), std::move(out));
    in = std::move(next);
  }
  nursery.spawn(
      [values](weft::Sender<int> to) {
        for (int i = 1; i <= values; ++i) {
          if (!to.send(i)) return;
        }
      },
      std::move(first));
  std::int64_t sum = 0;
  for (const int value : in) sum += value;
  (void)nursery.join();
  return sum;
}

// A fiber per prime: each lets pass what its prime does not divide.
int prime_number(int count) {
  Nursery nursery;
  auto [numbers, in] = weft::make_channel<int>(16);
  nursery.spawn(
      [](weft::Sender<int> to) {
        for (int n = 2; to.send(n); ++n) {
        }
      },
      std::move(numbers));
  int prime = 0;
  for (int i = 0; i < count; ++i) {
    prime = in.receive().value_or(0);
    auto [passed, rest] = weft::make_channel<int>(16);
    nursery.spawn(
        [prime](weft::Receiver<int> from, weft::Sender<int> to) {
          for (const int n : from) {
            if (n % prime != 0 && !to.send(n)) return;
          }
        },
        std::move(in), std::move(passed));
    in = std::move(rest);
  }
  in.close();
  (void)nursery.join();
  return prime;
}

}  // namespace

void channels() {
  constexpr int kHops = 1'000 / kLess;
  constexpr int kValues = 1'000 / kLess;
  constexpr int kPrimes = kLess == 1 ? 500 : 25;
  stop("channels", "values go from fiber to fiber; closing travels with them");
  {
    const auto start = Clock::now();
    const auto sum = relay(kHops, kValues);
    tell(sum == std::int64_t{kValues} * (kValues + 1) / 2,
         "%s values through %s fibers in %.1f ms", grouped(kValues).c_str(),
         grouped(kHops).c_str(), since(start));
  }
  {
    const auto start = Clock::now();
    const int prime = prime_number(kPrimes);
    tell(prime == (kLess == 1 ? 3571 : 97),
         "a sieve of %d fibers: prime number %d is %d, in %.1f ms", kPrimes,
         kPrimes, prime, since(start));
  }
  {
    weft::Event stopped;
    auto [sender, receiver] = weft::make_channel<int>(0);
    Nursery nursery;
    nursery.spawn([&] { stopped.set(); });
    const auto which =
        weft::select(weft::on_receive(receiver, [](weft::Result<int>) {}),
                     weft::on_event(stopped, [] {}),
                     weft::on_deadline(Deadline::after(1h), [] {}));
    tell(which && *which == 1, "select waits for the first of three");
    nursery.join().value();
  }
  {
    constexpr int kJobs = 200;
    Nursery nursery;
    auto [jobs, results] = weft::make_ordered<int>(nursery, 8);
    auto reader = nursery.spawn([results = std::move(results)]() mutable {
      int next = 0;
      while (auto result = results.receive()) next += *result == next ? 1 : 0;
      return next;
    });
    for (int i = 0; i < kJobs; ++i) {
      (void)jobs.spawn([i] {
        for (int n = i % 7; n > 0; --n) this_fiber::yield();
        return i;
      });
    }
    jobs.close();
    tell(reader.join().value_or(0) == kJobs,
         "%d children at once, their results in the order of spawning", kJobs);
    nursery.join().value();
  }
}

}  // namespace tour
