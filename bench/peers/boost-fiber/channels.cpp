// channels.cpp: the Boost.Fiber peer's channel benchmarks.
#include <array>
#include <atomic>
#include <memory>

#include "fibers.hpp"

namespace {
using Rendezvous = bf::unbuffered_channel<i64>;
constexpr auto kSuccess = bf::channel_op_status::success;
}  // namespace

void pingpong(const Run& run) {
  i64 n = run.count(1'000'000);
  peer::per_op(run, n, n, [&] {
    Rendezvous there, back;
    auto echo = go([&] {
      for (i64 i = 0, v; i < n; ++i) {
        there.pop(v);
        back.push(v);
      }
    });
    for (i64 i = 0, v; i < n; ++i) {
      there.push(i);
      back.pop(v);
    }
    echo.join();
  });
}

void spsc(const Run& run) {
  i64 n = run.count(10'000'000);
  peer::per_op(run, n, n, [&] {
    bf::buffered_channel<i64> channel(128);
    auto producer = go([&] {
      for (i64 i = 0; i < n; ++i) channel.push(i);
      channel.close();
    });
    i64 sum = 0;
    auto consumer = go([&] {
      for (i64 v; channel.pop(v) == kSuccess;) sum += v;
    });
    producer.join();
    consumer.join();
    peer::check(sum == n * (n - 1) / 2, "sum");
  });
}

void mpmc(const Run& run) {
  i64 n = run.count(4'000'000);
  peer::per_op(run, n, n, [&] {
    bf::buffered_channel<i64> channel(128);
    std::vector<bf::fiber> producers, consumers;
    std::atomic<i64> sum{0};
    for (int k = 0; k < 4; ++k) {
      producers.push_back(go([&] {
        for (i64 i = 0; i < n / 4; ++i) channel.push(1);
      }));
      consumers.push_back(go([&] {
        i64 mine = 0;
        for (i64 v; channel.pop(v) == kSuccess;) mine += v;
        sum += mine;
      }));
    }
    for (auto& fiber : producers) fiber.join();
    channel.close();
    for (auto& fiber : consumers) fiber.join();
    peer::check(sum == n, "count");
  });
}

static void skynet(Rendezvous& out, i64 number, i64 size) {
  if (size == 1) {
    out.push(number);
    return;
  }
  auto sums = std::make_unique<Rendezvous>();
  std::array<bf::fiber, 10> children;
  for (int i = 0; i < 10; ++i) {
    i64 part = size / 10, first = number + i * part;
    children[static_cast<std::size_t>(i)] =
        go([to = sums.get(), first, part] { skynet(*to, first, part); });
  }
  i64 sum = 0, v = 0;
  for (int i = 0; i < 10; ++i) {
    sums->pop(v);
    sum += v;
  }
  for (auto& child : children) child.join();
  out.push(sum);
}
void skynet_bench(const Run& run) {
  i64 n = run.count(1'000'000);
  peer::total(run, n, [&] {
    Rendezvous channel;
    auto root = go([&] { skynet(channel, 0, n); });
    i64 sum = 0;
    channel.pop(sum);
    root.join();
    peer::check(sum == n * (n - 1) / 2, "sum");
  });
}

void ring(const Run& run) {
  i64 n = run.count(1'000'000);
  peer::per_op(run, n, n, [&] {
    constexpr std::size_t kFibers = 1000;
    std::vector<std::unique_ptr<Rendezvous>> channels;
    for (std::size_t i = 0; i < kFibers; ++i)
      channels.push_back(std::make_unique<Rendezvous>());
    bf::promise<void> done;
    std::vector<bf::fiber> fibers;
    for (std::size_t i = 0; i < kFibers; ++i)
      fibers.push_back(go([&, i] {
        auto &in = *channels[i], &out = *channels[(i + 1) % kFibers];
        for (i64 left; in.pop(left) == kSuccess;) {
          if (left == 0) {
            done.set_value();
            return;
          }
          out.push(left - 1);
        }
      }));
    channels[0]->push(n);
    done.get_future().wait();
    for (auto& channel : channels) channel->close();
    for (auto& fiber : fibers) fiber.join();
  });
}

// The fibers are detached and the process exits with them parked: closing an
// unbuffered_channel that has a producer waiting in its slot crashes in Boost
// 1.74 (close() leaves the dead producer's slot behind).
void sieve(const Run& run) {
  i64 n = run.count(2000), prime = 0;
  peer::total(run, n, [&] {
    auto in = std::make_shared<Rendezvous>();
    go([in] {
      for (i64 i = 2;; ++i) in->push(i);
    }).detach();
    for (i64 i = 0; i < n; ++i) {
      in->pop(prime);
      auto out = std::make_shared<Rendezvous>();
      go([in, out, prime] {
        for (i64 v;;) {
          in->pop(v);
          if (v % prime) out->push(v);
        }
      }).detach();
      in = out;
    }
  });
  peer::check(n != 2000 || prime == 17389, "prime");
}
