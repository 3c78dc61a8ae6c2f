// 05_threads: weft inside a program of threads.
//
//   WEFT_WORKERS=4 WEFT_STATS_AT_EXIT=1 ./05_threads
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weft/weft.hpp>

// A class of a threaded program. Its nursery is a member, declared last: it
// goes first, stops the fibers that still use the rest, and waits for them.
class Indexer {
 public:
  explicit Indexer(weft::RuntimeRef runtime)
      : nursery_(runtime, {.name = "indexer"}) {}

  // Any thread. A spawn that is refused leaves no trace: the caller decides.
  weft::Status submit(std::string document) {
    auto task = nursery_.try_spawn(
        {.name = "index"},
        [this](const std::string& text) noexcept { bytes_ += text.size(); },
        std::move(document));
    return task ? weft::ok() : weft::Status(task.error());
  }
  // The owner: no more documents; waits for those under way.
  weft::Status finish() { return nursery_.join(); }

  std::size_t bytes() const { return bytes_; }

 private:
  std::atomic<std::size_t> bytes_{0};
  weft::Nursery nursery_;
};

int wrong = 0;
void show(bool right, const char* what) {
  std::printf("%-6s%s\n", right ? "ok" : "WRONG", what);
  if (!right) ++wrong;
}

int main() {
  // Our defaults, overridden by the environment.
  auto config = weft::Config::from_env({.name = "indexing", .workers = 2});
  if (!config) return 1;  // the reason is on stderr
  auto runtime = weft::Runtime::start(*config);
  if (!runtime) return 1;
  std::printf("      %u workers\n", runtime->ref().worker_count());

  {  // threads spawn, fibers work, a thread waits
    Indexer indexer(*runtime);
    std::vector<std::thread> producers;
    std::atomic<int> refused{0};
    for (int i = 0; i < 4; ++i) {
      producers.emplace_back([&] {
        for (int k = 0; k < 1000; ++k) {
          if (!indexer.submit(std::string(64, 'x'))) ++refused;
        }
      });
    }
    for (auto& producer : producers) producer.join();
    show(indexer.finish().has_value(), "the nursery of plain threads joins");
    show(indexer.bytes() == 64u * (4000u - static_cast<unsigned>(refused)),
         "every document was indexed");
    show(!indexer.submit("late"), "after join() it takes no more");
  }

  // The other way in: run a whole tree and wait for its result.
  const auto answer = runtime->run([] { return 42; });
  show(answer.value() == 42, "run() gives a thread the result of a fiber");
  show(!weft::this_fiber::is_fiber(), "this thread is no fiber");

  // Runtimes are values: a second one, and a fiber of the first that uses it.
  auto other = weft::Runtime::start({.name = "other", .workers = 1});
  if (!other) return 1;
  const auto sum = runtime->run([&] {
    return other->run([] { return 1; }).value() + 1;  // parks, blocks nobody
  });
  show(sum.value() == 2, "a fiber waits for a fiber of another runtime");

  show(other->shutdown(weft::Deadline::never()).has_value(), "shut down");
  show(other->run([] {}).error() == weft::Errc::closed,
       "a stopped runtime refuses");
  return wrong != 0 ? 1 : 0;
}
