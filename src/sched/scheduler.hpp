// scheduler.hpp: the workers of one runtime and what they share.
//
// Where a runnable fiber goes:
//   made by                          place                     notify
//   spawn or wake by a fiber here    own private queue; deque  none; any
//                                    if somebody is hungry
//   yield                            own turns; global if      none; any
//                                    somebody is hungry
//   spawn or wake from outside       a sleeping worker's       that one
//                                    inbox, else the next one
//                                    in turn; global if that
//                                    has a backlog             any
//   an expired deadline              as a wake by a fiber      once
//   the end of a joined child        runs next                 none
//   pinned                           its worker's pinned list  that one
//   all but the last two, of high    the shared queue of its   any
//   or low priority                  priority (ranked.hpp)
//
// Invariants
//   S1  Every push of a runnable fiber is followed by notify() on the same
//       thread, except where the pushing worker itself passes next() before
//       anything else.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "base/atomic.hpp"
#include "fiber/frame_pool.hpp"
#include "queue/global_queue.hpp"
#include "sched/admission.hpp"
#include "sched/alarm.hpp"
#include "sched/audit.hpp"
#include "sched/idle.hpp"
#include "sched/ranked.hpp"
#include "sched/simulator.hpp"
#include "sched/worker.hpp"
#include "stack/stack.hpp"
#include <weft/config.hpp>
#include <weft/result.hpp>

namespace weft::sched {

class Scheduler {
 public:
  // The config is valid and complete (workers > 0).
  explicit Scheduler(const Config& config);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  static Scheduler& of(const Fiber& fiber) noexcept {
    return *static_cast<Scheduler*>(fiber::FramePool::home_of(fiber));
  }

  // Owner only. Errors: exhausted, system. Nothing runs after an error.
  Status start();
  // Owner only. Refuses new fibers, from now on.
  void close_admission() noexcept { admission_.close(); }
  bool admits() const noexcept { return admission_.is_open(); }
  // Owner only. Waits until no fiber is left. False: not by the deadline.
  [[nodiscard]] bool wait_until_empty(std::int64_t until) noexcept;
  // Owner only. Cancels every fiber there is.
  void cancel_all() noexcept;
  // Owner only; no fiber is left. Ends the workers.
  void stop() noexcept;

  // Any thread. A reserved frame with a new id, or nullptr: no memory, or
  // max_fibers are alive.
  [[nodiscard]] Fiber* new_frame() noexcept;
  // The same for a worker of this runtime. nullptr: ask new_frame().
  [[nodiscard]] Fiber* take_frame(Worker& here) noexcept;
  // Any thread: a reserved frame will not be launched.
  void abandon_frame(Fiber& frame) noexcept;
  // Whoever the join word names: drops a result nobody took, then the frame.
  void reclaim(Fiber& ended) noexcept {
    ended.clear();
    release_frame(ended);
  }
  // Any thread, on that worker or none: publishes the frame and makes it
  // runnable.
  void launch(Fiber& frame, Worker* here) noexcept;
  // Any thread that owns the fiber: fresh or queued, in no queue.
  void enqueue(Fiber& fiber) noexcept;
  // Any thread: owned fibers of any runtimes, newest wake first.
  static void enqueue_list(Fiber* newest_first) noexcept;

  // Any thread that is no worker of this runtime. False: no memory.
  [[nodiscard]] bool arm(time::TimerNode& timer, std::int64_t when) noexcept;

  // Any thread, after a push that anybody may take.
  void notify() noexcept {
    if (Sleeper* sleeper = idle.pop_for_push()) [[unlikely]]
      sleeper->rouse();
  }
  // Any thread, after a push that only this worker takes while it is fresh.
  void notify(Worker& target) noexcept;
  // The same after a push to a private queue that stays there.
  void notify_of_private() noexcept {
    if (Sleeper* sleeper = idle.pop_for_light_push()) [[unlikely]]
      sleeper->rouse();
  }

  // Any thread.
  std::size_t live() const noexcept;
  const Config& config() const noexcept { return config_; }
  unsigned worker_count() const noexcept {
    return static_cast<unsigned>(workers.size());
  }
  std::size_t stack_size(const Fiber& fiber) const noexcept {
    return fiber.stack_pages != 0 ? std::size_t{fiber.stack_pages} * 4096
                                  : default_stack_;
  }
  // Of the usual stack, so much is enough for a child in place.
  std::size_t usual_room() const noexcept { return usual_room_; }
  // Any thread: state of workers and queues, for people.
  void dump(std::FILE* out) const noexcept;
  void print_stats(std::FILE* out) const noexcept;

  // Shared by the workers; immutable after start() or atomic inside.
  fiber::FramePool frames{this};
  stack::StackPool stacks;
  queue::GlobalQueue<Fiber> global;
  Idle idle;
  Ranked ranked{idle};
  Alarm alarm;
  std::vector<std::unique_ptr<Worker>> workers;
  const std::shared_ptr<AuditTrail> audit = std::make_shared<AuditTrail>();

  bool stopping() const noexcept {
    return stopping_.load(seq_cst);  // part of the idle scan
  }
  // Worker only: a fiber of this runtime has ended.
  void one_less() noexcept { admission_.one_less(config_.max_fibers); }
  // nullptr: the workers are threads.
  Simulator* simulator() const noexcept { return simulator_.get(); }
  // The number of the fiber that was spawned last, from outside or simulated.
  std::uint64_t last_number() const noexcept { return admission_.spawned(); }

 private:
  static constexpr std::size_t kBacklog = 64;

  void place(Fiber& fiber) noexcept;
  Worker* next_place() noexcept;
  void check_thread() const noexcept;
  static void check_runnable(const Fiber& fiber) noexcept;
  Worker* own_worker() const noexcept;
  Fiber* new_frame_slowly() noexcept;
  void launch_otherwise(Fiber& frame) noexcept;
  void prepare_frame(Fiber& frame, std::uint64_t number,
                     unsigned place) const noexcept;
  void count_unspawned() noexcept;
  void release_frame(Fiber& frame) noexcept;
  void leave_frames() noexcept;

  // Fibers given up before: no task of this runtime was theirs.
  const std::uint64_t lost_before_ = fiber::Scope::lost();
  const Config config_;
  const std::size_t default_stack_;
  const std::size_t usual_room_ = default_stack_ - default_stack_ / 4;
  const bool local_spawns_;   // nothing to ask before a push to the own queue
  const bool asks_to_spawn_;  // before it takes a frame of the own cache
  Admission admission_;
  Atomic<bool> stopping_{false};
  Atomic<std::uint32_t> next_place_{0};
  std::optional<SeededChooser> seeded_;   // the simulator's, if nobody else
  std::unique_ptr<Simulator> simulator_;  // in place of threads
};

}  // namespace weft::sched
