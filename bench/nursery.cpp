// nursery.cpp: what do nurseries, scopes and limits cost?
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "harness.hpp"

namespace {

using weft::Budget, weft::Nursery;

template <typename F>
bench::Outcome timed_ops(const bench::Options& options, F body) {
  return bench::in_runtime(options.workers, [&] {
    return bench::per_op(options.n, [&] { body(options.n); });
  });
}

// As spawn_join, with a nursery for each fiber.
bench::Outcome nursery_each(const bench::Options& options) {
  return timed_ops(options, [](std::int64_t n) {
    for (; n > 0; --n) {
      Nursery nursery;
      nursery.spawn([] {});
      nursery.join().value();
    }
  });
}

// As spawn_join, with all that a nursery can be told: a deadline, a name, a
// rule, a result to be joined.
bench::Outcome nursery_full(const bench::Options& options) {
  return timed_ops(options, [](std::int64_t n) {
    constexpr std::int64_t kBatch = 1000;
    for (std::int64_t left = n; left > 0; left -= kBatch) {
      Nursery nursery({.name = "bench",
                       .deadline = weft::Deadline::after(std::chrono::hours(1)),
                       .on_failure = weft::OnFailure::wait_for_all});
      for (std::int64_t i = std::min(left, kBatch); i > 0; --i) {
        nursery.spawn([] {});
      }
      nursery.join().value();
    }
  });
}

// As spawn_join, with limits for each fiber.
bench::Outcome nursery_metered(const bench::Options& options) {
  return timed_ops(options, [](std::int64_t n) {
    constexpr std::int64_t kBatch = 1000;
    for (std::int64_t left = n; left > 0; left -= kBatch) {
      Nursery nursery({.budget = Budget::cluster()});
      for (std::int64_t i = std::min(left, kBatch); i > 0; --i) {
        nursery.spawn({.budget = Budget{.ops = 100}}, [] {});
      }
      nursery.join().value();
    }
  });
}

// An operation that costs 1 op and 1 channel_op, with limits and without: a
// value into a buffer that is never full, and out again.
bench::Outcome budget_charge(const bench::Options& options) {
  return bench::in_runtime(options.workers, [&options] {
    constexpr std::int64_t kBatch = 20'000;  // fewer than a limit can be
    const auto pass = [](std::int64_t n) {
      auto [sender, receiver] = weft::make_channel<std::int64_t>(2);
      for (; n > 0; --n) {
        bench::check(sender.try_send(n).has_value(), "a value was sent");
        bench::check(receiver.try_receive().has_value(), "and received");
      }
    };
    const auto in_child = [&](const weft::SpawnOptions& spawn) {
      const auto elapsed = bench::timed([&] {
        Nursery nursery;
        for (std::int64_t left = options.n; left > 0; left -= kBatch) {
          nursery.spawn(spawn, [&, left] { pass(std::min(left, kBatch)); })
              .join()
              .value();
        }
        nursery.join().value();
      });
      return elapsed.cpu_ms * 1e6 / static_cast<double>(options.n * 2);
    };
    const weft::SpawnOptions limits{
        .budget = Budget{.ops = 1'000'000, .channel_ops = 60'000}};
    const double cpu = bench::cpu_ms();
    double without = in_child({});
    double with = in_child(limits);
    for (int round = 0; round < 4; ++round) {  // in turns: the best of each
      without = std::min(without, in_child({}));
      with = std::min(with, in_child(limits));
    }
    bench::Outcome outcome{"charge_ns", with - without, bench::cpu_ms() - cpu};
    outcome.more = {{"metered_ns", with}, {"unlimited_ns", without}};
    return outcome;
  });
}

const bench::Register kEach({
    .name = "nursery_each",
    .question = "a nursery for each empty fiber, joined: ns per fiber",
    .usual_n = 1'000'000,
    .run = nursery_each,
});
const bench::Register kFull({
    .name = "nursery_full",
    .question = "spawn_join in nurseries with deadlines: ns per fiber",
    .usual_n = 1'000'000,
    .run = nursery_full,
});
const bench::Register kMetered({
    .name = "nursery_metered",
    .question = "spawn_join with limits for each fiber: ns per fiber",
    .usual_n = 1'000'000,
    .run = nursery_metered,
});
const bench::Register kCharge({
    .name = "budget_charge",
    .question = "try_send and try_receive: ns that limits add to each",
    .usual_n = 1'000'000,
    .run = budget_charge,
});

}  // namespace
