#include "unit/diag/checked_code.hpp"

#include <utility>

namespace weft::test {

namespace {

int count_before_main() {
  volatile int count = 0;
  for (int i = 0; i < 100; ++i) count = count + 1;
  return count;
}

struct CountsWhenDestroyed {
  ~CountsWhenDestroyed() { checked_turns(turns); }
  int turns;
};

}  // namespace

const int checked_before_main = count_before_main();

void checked_turns(int turns) {
  [[maybe_unused]] volatile int done = 0;
  for (int i = 0; i < turns; ++i) done = i;
}

[[gnu::noinline]] int checked_depth(int depth) {
  if (depth == 0) return 0;
  return checked_depth(depth - 1) + 1;
}

void checked_spin_until(const std::atomic<bool>& flag) {
  while (!flag.load()) {
  }
}

void checked_spin_for_ever() {
  [[maybe_unused]] volatile int done = 0;
  for (;;) done = 0;
}

void checked_play(std::atomic<int>& turn, int mine, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    while (turn.load() != mine) {
    }
    turn.store(1 - mine);
  }
}

void checked_odd_places(int turns) noexcept {
  try {
    const CountsWhenDestroyed counts{turns};
    throw turns;
  } catch (int caught) {
    checked_turns(caught);
  }
}

void checked_under_mutex(Mutex& mutex, int& count, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    mutex.lock();
    const int before = count;
    checked_turns(10);
    count = before + 1;
    mutex.unlock();
  }
}

CheckedElement::CheckedElement(CheckedElement&& other) noexcept
    : value(std::exchange(other.value, 0)) {
  checked_turns(20);
}
CheckedElement& CheckedElement::operator=(CheckedElement&& other) noexcept {
  checked_turns(20);
  value = std::exchange(other.value, 0);
  return *this;
}
CheckedElement::~CheckedElement() { checked_turns(5); }

void checked_send(Sender<CheckedElement> to, std::size_t count) {
  for (std::size_t i = 1; i <= count; ++i) {
    if (!to.send(CheckedElement(i))) return;
  }
}

Channel<CheckedInt> checked_channel(std::size_t capacity) {
  return make_channel<CheckedInt>(capacity);
}

void checked_send_ints(Sender<CheckedInt> to, int count) {
  for (int i = 1; i <= count; ++i) {
    if (!to.send(CheckedInt{i})) return;
  }
}

long checked_sum_of_ints(Receiver<CheckedInt> from) {
  long sum = 0;
  for (;;) {
    const auto got = from.receive();
    if (!got) return sum;
    sum += got->value;
  }
}

std::size_t checked_receive(Receiver<CheckedElement> from) {
  std::size_t sum = 0;
  for (;;) {
    auto got = from.receive();
    if (!got) return sum;
    sum += got->value;
  }
}

}  // namespace weft::test
