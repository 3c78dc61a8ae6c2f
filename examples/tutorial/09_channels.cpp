// 09_channels: stages joined by channels; the end travels down by closing.
//
// A channel holds so many values. Who sends to a full one waits, and so does
// who receives from an empty one: a fast stage never runs away from a slow one.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <weft/weft.hpp>

using weft::Nursery, weft::Receiver, weft::Result, weft::Sender, weft::Status;

struct Block {  // it moves through the channel, it is never copied
  std::unique_ptr<std::string> text;
};

// Read, pack, write: each stage is a fiber, of the middle one there are three.
Status pipeline() {
  constexpr int kBlocks = 100;
  Nursery nursery;  // before the ends: they go first, and nobody waits for them
  auto [raw, to_pack] = weft::make_channel<Block>(8);
  auto [packed, to_write] = weft::make_channel<Block>(8);

  nursery.spawn([out = std::move(raw)]() mutable -> Status {
    for (int i = 0; i < kBlocks; ++i) {
      auto text = std::make_unique<std::string>(64, 'a' + i % 26);
      WEFT_TRY(out.send(Block{std::move(text)}));
    }
    return {};
  });  // the sender goes with the fiber: the channel closes

  for (int i = 0; i < 3; ++i) {
    nursery.spawn([in = to_pack, out = packed]() mutable -> Status {
      for (Block& block : in) {  // until it is closed and empty
        block.text->resize(1);
        WEFT_TRY(out.send(std::move(block)));
      }
      return {};
    });
  }
  packed = {};   // theirs are the last senders now,
  to_pack = {};  // and theirs the last receivers: if they fail, sends do

  int written = 0;
  Status end;
  for (Block& block : to_write.each(end)) {
    written += static_cast<int>(block.text->size());
  }
  std::printf("wrote %d blocks, then: %s\n", written,
              end.error().message().c_str());
  WEFT_TRY(nursery.join());
  return written == kBlocks ? Status() : weft::Errc::failed;
}

// The sieve: a fiber per prime, which lets pass what its prime does not divide.
// Nobody counts, nobody stops the others: who goes closes what it holds.
Result<std::vector<int>> primes(std::size_t count) {
  std::vector<int> found;
  Nursery nursery;
  auto [numbers, first] = weft::make_channel<int>(16);
  nursery.spawn([out = std::move(numbers)]() mutable {
    for (int n = 2; out.send(n); ++n) {
    }
  });
  Receiver<int> in = std::move(first);
  while (found.size() < count) {
    const int prime = WEFT_TRY(in.receive());
    found.push_back(prime);
    auto [passed, rest] = weft::make_channel<int>(16);
    nursery.spawn(
        [prime](Receiver<int> from, Sender<int> to) {
          for (const int n : from) {
            if (n % prime != 0 && !to.send(n)) return;
          }
        },
        std::move(in), std::move(passed));
    in = std::move(rest);
  }
  in.close();  // the last filter's send fails, it goes, and so on up the line
  WEFT_TRY(nursery.join());
  return found;
}

int main() {
  return weft::run_main([]() -> Status {
    WEFT_TRY(pipeline());
    const auto found = WEFT_TRY(primes(100));
    std::printf("prime number %zu is %d\n", found.size(), found.back());
    return found.back() == 541 ? Status() : weft::Errc::failed;
  });
}
