// 08_locks: a small bank of locks, signals and futures, all of which fibers and
// plain threads may use alike.
//
// Waiting in any of them parks the fiber, not the worker.
#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include <weft/weft.hpp>

using namespace std::chrono_literals;
using weft::Deadline, weft::Nursery, weft::Status;

// A queue with room for so many: one mutex, two conditions.
class Jobs {
 public:
  Status put(int job) {
    std::unique_lock hold(mutex_);
    WEFT_TRY(taken_.wait(hold, [&] { return jobs_.size() < kRoom; }));
    jobs_.push_back(job);
    came_.notify_one();
    return {};
  }
  weft::Result<int> take(Deadline deadline) {
    std::unique_lock hold(mutex_);
    WEFT_TRY(came_.wait(
        hold, [&] { return !jobs_.empty(); }, deadline));
    const int job = jobs_.front();
    jobs_.pop_front();
    taken_.notify_one();
    return job;
  }

 private:
  static constexpr std::size_t kRoom = 4;
  weft::Mutex mutex_;
  weft::ConditionVariable came_;
  weft::ConditionVariable taken_;
  std::deque<int> jobs_;  // guarded by mutex_
};

Status shop() {
  constexpr int kJobs = 100;
  Jobs jobs;
  weft::Semaphore machines(2);  // two at a time
  weft::KeyedMutex<std::string> accounts;
  weft::Latch finished(kJobs);
  weft::Event opened;
  int money = 0;  // guarded by the key "till"

  const auto worker = [&]() -> Status {
    WEFT_TRY(opened.wait());
    while (auto job = jobs.take(Deadline::after(1h))) {
      if (*job < 0) break;  // closing time
      {
        auto machine = WEFT_TRY(machines.permit());
        weft::this_fiber::yield();  // it takes a while
      }
      {
        auto till = WEFT_TRY(accounts.acquire("till"));
        money += *job;
      }
      finished.count_down();
    }
    return {};
  };
  Nursery crew;  // after all that it uses
  for (int i = 0; i < 3; ++i) crew.spawn(worker);

  // A plain thread brings the jobs, and says when it is done.
  weft::Future<int> brought;
  std::jthread supplier([&] {
    int count = 0;
    for (int job = 1; job <= kJobs; ++job) count += jobs.put(job) ? 1 : 0;
    brought.set(count);
  });
  opened.set();

  std::printf("brought: %d jobs\n", WEFT_TRY(brought.wait()));
  WEFT_TRY(finished.wait());
  for (int i = 0; i < 3; ++i) WEFT_TRY(jobs.put(-1));
  WEFT_TRY(crew.join());
  std::printf("earned: %d\n", money);

  // A future is left as it was by a wait that gives up.
  weft::Future<> never;
  const Status late = never.wait(Deadline::after(1ms));
  std::printf("no news: %s\n", late.error().message().c_str());
  return money == kJobs * (kJobs + 1) / 2 ? Status() : weft::Errc::invalid;
}

int main() { return weft::run_main(shop); }
