// 12_combine: all of several, the first of them, the first that succeeds.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <weft/weft.hpp>

using namespace std::chrono_literals;
using weft::Deadline, weft::Errc, weft::Error, weft::Nursery, weft::Result;

int wrong = 0;
void show(bool right, const char* what) {
  std::printf("%-6s%s\n", right ? "ok" : "WRONG", what);
  if (!right) ++wrong;
}

// Servers: one answers, one refuses, one never says anything.
Result<std::string> answers() { return std::string("page"); }
Result<std::string> refuses() { return Errc::denied; }
Result<std::string> is_silent() {
  WEFT_TRY(weft::Event().wait());
  return std::string();
}

weft::Status side_by_side() {
  auto [page, size] = WEFT_TRY(weft::all(answers, [] { return 4; }));
  show(page == "page" && size == 4, "all() gives what each returned");
  const auto failed = weft::all(is_silent, refuses);
  show(failed.error() == Errc::denied, "or the first failure; the rest ends");

  const auto first = WEFT_TRY(weft::any(is_silent, refuses, answers));
  show(first.index == 2 && first.value == "page", "any() wants a success");
  show(weft::any(refuses, refuses).error() == Errc::denied, "if there is one");
  const auto ended = weft::race(is_silent, refuses);
  show(ended.error() == Errc::denied, "race() takes whatever ends first");

  const weft::CancelScope scope(Deadline::after(2ms));  // for all inside
  const auto late = weft::any(is_silent, is_silent);
  show(late.error() == Errc::timed_out, "deadlines come from a scope");
  return {};
}

// A number of them, which stay the nursery's.
weft::Status handles() {
  Nursery nursery;
  std::vector<weft::Task<int>> tasks;
  for (int i = 0; i < 4; ++i) {
    tasks.push_back(nursery.spawn([i] { return i * i; }));
  }
  const auto squares = WEFT_TRY(weft::join_all(tasks));
  show(squares == std::vector<int>{0, 1, 4, 9}, "join_all(): values in order");

  tasks.clear();
  for (int i = 0; i < 4; ++i) {  // keep: a failure is its task's alone
    tasks.push_back(nursery.spawn({.on_failure = weft::OnFailure::keep},
                                  [i]() -> Result<int> {
                                    if (i != 3) return Error::user(i);
                                    return i;
                                  }));
  }
  const auto winner = WEFT_TRY(weft::join_any(tasks));
  show(winner.index == 3, "join_any(): the first that succeeds");
  tasks.pop_back();  // it was taken; the others are as they were
  const auto ended = WEFT_TRY(weft::join_race(tasks));
  show(!tasks[ended].join(), "join_race(): the first to end, to be joined");
  return nursery.join();
}

void child_with_a_deadline() {
  Nursery nursery;
  auto task = nursery.spawn(
      {.deadline = Deadline::after(2ms), .on_failure = weft::OnFailure::keep},
      is_silent);
  show(task.join().error() == Errc::timed_out, "a child has its own deadline");
}

// Its fibers live as long as it does, and not longer than its parent's.
class Watcher {
 public:
  explicit Watcher(Nursery& parent) : own_(parent) {
    for (int i = 0; i < 2; ++i) own_.spawn([] { (void)is_silent(); });
  }

 private:
  Nursery own_;
};

int main() {
  const int status = weft::run_main([](Nursery& nursery) -> weft::Status {
    WEFT_TRY(side_by_side());
    WEFT_TRY(handles());
    child_with_a_deadline();
    { const Watcher watcher(nursery); }
    show(nursery.join().has_value(), "fibers of an object end with it");
    return {};
  });
  return status != 0 || wrong != 0 ? 1 : 0;
}
