// channels.cpp: what does it cost to hand a value over: through a rendezvous,
// a buffer, a ring of fibers, a sieve, a tree of a million fibers?
#include <array>
#include <utility>
#include <vector>

#include "harness.hpp"

namespace {

using Sender = weft::Sender<std::int64_t>;
using Receiver = weft::Receiver<std::int64_t>;

bench::Outcome pingpong(const bench::Options& options) {
  return bench::in_runtime(options.workers, [&options] {
    return bench::per_op(options.n, [&options] {
      auto there = weft::make_channel<std::int64_t>(0);
      auto back = weft::make_channel<std::int64_t>(0);
      weft::Nursery nursery;
      nursery.spawn([&] {
        for (std::int64_t i = 0; i < options.n; ++i) {
          back.sender.send(there.receiver.receive().value()).value();
        }
      });
      for (std::int64_t i = 0; i < options.n; ++i) {
        there.sender.send(i).value();
        bench::check(*back.receiver.receive() == i, "what went comes back");
      }
      nursery.join().value();
    });
  });
}

// `pairs` producers and as many consumers of one buffer of 128.
bench::Outcome buffered(const bench::Options& options, int pairs) {
  return bench::in_runtime(options.workers, [&options, pairs] {
    const auto each = options.n / pairs;
    std::vector<std::int64_t> sums(static_cast<std::size_t>(pairs));
    auto outcome = bench::per_op(each * pairs, [&] {
      auto channel = weft::make_channel<std::int64_t>(128);
      weft::Nursery consumers;
      for (auto& sum : sums) {
        consumers.spawn([&sum, receiver = channel.receiver]() mutable {
          std::int64_t mine = 0;
          for (const auto value : receiver) mine += value;
          sum = mine;
        });
      }
      weft::Nursery producers;
      for (int i = 0; i < pairs; ++i) {
        producers.spawn([each, sender = channel.sender]() mutable {
          for (std::int64_t k = 0; k < each; ++k) sender.send(k).value();
        });
      }
      producers.join().value();
      channel.sender.close();
      consumers.join().value();
    });
    std::int64_t sum = 0;
    for (const auto one : sums) sum += one;
    bench::check(sum == pairs * (each * (each - 1) / 2), "all arrive");
    return outcome;
  });
}
bench::Outcome spsc(const bench::Options& options) {
  return buffered(options, 1);
}
bench::Outcome mpmc(const bench::Options& options) {
  return buffered(options, 4);
}

bench::Outcome select(const bench::Options& options) {
  return bench::in_runtime(options.workers, [&options] {
    const auto each = options.n / 4;
    return bench::per_op(each * 4, [each] {
      std::array<weft::Channel<std::int64_t>, 4> channels;
      weft::Nursery nursery;
      for (auto& channel : channels) {
        channel = weft::make_channel<std::int64_t>(0);
        nursery.spawn([each, &channel] {
          for (std::int64_t i = 0; i < each; ++i)
            channel.sender.send(1).value();
        });
      }
      std::int64_t sum = 0;
      const auto add = [&sum](weft::Result<std::int64_t> value) {
        sum += *value;
      };
      for (std::int64_t i = 0; i < each * 4; ++i) {
        (void)weft::select(weft::on_receive(channels[0].receiver, add),
                           weft::on_receive(channels[1].receiver, add),
                           weft::on_receive(channels[2].receiver, add),
                           weft::on_receive(channels[3].receiver, add));
      }
      bench::check(sum == each * 4, "each once");
      nursery.join().value();
    });
  });
}

bench::Outcome ring(const bench::Options& options) {
  return bench::in_runtime(options.workers, [&options] {
    return bench::per_op(options.n, [&options] {
      constexpr std::size_t kFibers = 1000;
      std::vector<weft::Channel<std::int64_t>> channels(kFibers);
      for (auto& channel : channels) {
        channel = weft::make_channel<std::int64_t>(0);
      }
      auto done = weft::make_channel<std::int64_t>(0);
      weft::Nursery nursery;
      for (std::size_t i = 0; i < kFibers; ++i) {
        nursery.spawn([&channels, &done, i] {
          auto& in = channels[i].receiver;
          auto& out = channels[(i + 1) % kFibers].sender;
          for (const auto value : in) {
            if (value == 0) {
              done.sender.send(0).value();
              return;
            }
            if (!out.send(value - 1)) return;
          }
        });
      }
      channels[0].sender.send(options.n).value();
      (void)done.receiver.receive().value();
      for (auto& channel : channels) channel.sender.close();
      nursery.join().value();
    });
  });
}

void skynet(Sender& out, std::int64_t number, std::int64_t size) {
  constexpr std::int64_t kChildren = 10;
  if (size == 1) {
    out.send(number).value();
    return;
  }
  auto results = weft::make_channel<std::int64_t>(0);
  weft::Nursery nursery;
  for (std::int64_t i = 0; i < kChildren; ++i) {
    nursery.spawn([&results, size, first = number + i * (size / kChildren)] {
      skynet(results.sender, first, size / kChildren);
    });
  }
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < kChildren; ++i) {
    sum += results.receiver.receive().value();
  }
  out.send(std::move(sum)).value();
  nursery.join().value();
}

bench::Outcome skynet(const bench::Options& options) {
  return bench::in_runtime(options.workers, [&options] {
    std::int64_t sum = 0;
    auto outcome = bench::total([&] {
      auto result = weft::make_channel<std::int64_t>(0);
      weft::Nursery nursery;
      nursery.spawn([&] { skynet(result.sender, 0, options.n); });
      sum = result.receiver.receive().value();
      nursery.join().value();
    });
    bench::check(sum == options.n * (options.n - 1) / 2, "the sum of all");
    return outcome;
  });
}

void filter(std::int64_t prime, Receiver in, Sender out) {
  for (const auto number : in) {
    if (number % prime != 0 && !out.send(number)) return;
  }
}

bench::Outcome sieve(const bench::Options& options) {
  return bench::in_runtime(options.workers, [&options] {
    std::int64_t last = 0;
    weft::Nursery nursery;
    Receiver in;
    auto outcome = bench::total([&] {
      auto numbers = weft::make_channel<std::int64_t>(0);
      nursery.spawn([out = std::move(numbers.sender)]() mutable {
        for (std::int64_t i = 2; out.send(i); ++i) {
        }
      });
      in = std::move(numbers.receiver);
      for (std::int64_t i = 0; i < options.n; ++i) {
        last = in.receive().value();
        auto next = weft::make_channel<std::int64_t>(0);
        nursery.spawn(filter, last, std::move(in), std::move(next.sender));
        in = std::move(next.receiver);
      }
    });
    in = Receiver();  // those who still send learn of it, one after the other
    nursery.join().value();
    bench::check(options.n != 2000 || last == 17389, "the 2000th prime");
    return outcome;
  });
}

const bench::Register kPingPong({
    .name = "pingpong_unbuf",
    .question = "there and back through two rendezvous: ns per round trip",
    .usual_n = 1'000'000,
    .run = pingpong,
});
const bench::Register kSpsc({
    .name = "chan_buf_spsc",
    .question = "one sends to one through a buffer of 128: ns per value",
    .usual_n = 10'000'000,
    .run = spsc,
});
const bench::Register kMpmc({
    .name = "chan_mpmc",
    .question = "four send to four through a buffer of 128: ns per value",
    .usual_n = 4'000'000,
    .run = mpmc,
});
const bench::Register kSelect({
    .name = "select",
    .question = "one selects from four senders: ns per value",
    .usual_n = 1'000'000,
    .run = select,
});
const bench::Register kRing({
    .name = "ring",
    .question = "a token goes round 1,000 fibers: ns per hop",
    .usual_n = 1'000'000,
    .run = ring,
});
const bench::Register kSkynet({
    .name = "skynet",
    .question = "a million fibers in a tree report to their parents: ms",
    .usual_n = 1'000'000,
    .run = skynet,
});
const bench::Register kSieve({
    .name = "sieve",
    .question = "the first 2,000 primes by a chain of fibers: ms",
    .usual_n = 2000,
    .run = sieve,
});

}  // namespace
