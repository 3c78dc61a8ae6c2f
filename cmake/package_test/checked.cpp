#include <atomic>

#include <weft/weft.hpp>

// Two loops on one worker that wait for each other, and do not say so.
int main() {
  std::atomic<int> turn{0};
  const auto play = [&turn](int mine) {
    for (int i = 0; i < 100; ++i) {
      while (turn.load() != mine) {
      }
      turn.store(1 - mine);
    }
  };
  auto runtime = weft::Runtime::start({.workers = 1});
  if (!runtime) return 1;
  const auto end = runtime->run([&play](weft::Nursery& nursery) {
    nursery.spawn(play, 0);
    nursery.spawn(play, 1);
  });
  return end ? 0 : 1;
}
