#include "sync/future_core.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "sched/interleave.hpp"
#include "sync/wait_queue.hpp"

namespace weft::sync {

// The futures of one wait, one or several.
struct FutureCore::Several {
  std::span<FutureCore* const> futures;

  // The first that is set; as many as there are: none.
  std::size_t first_set() const noexcept {
    const auto found = std::ranges::find_if(
        futures, [](const FutureCore* future) { return future->is_set(); });
    return static_cast<std::size_t>(found - futures.begin());
  }
  static bool is_ready(void* it) noexcept {
    const auto& self = *static_cast<const Several*>(it);
    return self.first_set() != self.futures.size();
  }
};

void FutureCore::set(Error error) noexcept {
  error_ = error;
  const auto told = word_.set();  // P1: this is not touched below
  WEFT_CHECK(told.first, "a future is set twice");
  if (told.callback != nullptr) {
    auto& callback = *static_cast<Callback*>(told.callback);
    callback.run(callback);
  } else if (told.node != nullptr) {
    Woken woken;
    (void)WaitQueue::finish(*told.node, fiber::Reason::data, woken);
  }
}

Status FutureCore::wait(Deadline deadline) noexcept {
  FutureCore* const self = this;
  WaitNode node;
  const auto found = wait_any({&self, 1}, {&node, 1}, deadline);
  return found ? Status() : found.error();
}

Result<std::size_t> FutureCore::wait_any(std::span<FutureCore* const> futures,
                                         std::span<WaitNode> nodes,
                                         Deadline deadline) noexcept {
  auto& here = sched::carrier();
  sched::check_may_park(here);
  for (const auto* future : futures) {
    sched::interleave(here, sched::Op::wait, future);
  }
  waiting::Wait wait;
  if (waiting::must_stop(wait.self())) {
    return waiting::refuse_stopped(wait.self()).error();
  }
  Several several{futures};
  if (const auto set = several.first_set(); set != futures.size()) return set;
  if (wait.begin(/*shield=*/false) == waiting::Begun::cancelled) {
    return waiting::refuse_stopped(wait.self()).error();
  }
  bool ready = false;
  std::size_t entered = 0;
  for (; entered < futures.size() && !ready; ++entered) {
    WaitNode& node = nodes[entered];
    wait.own(node);
    node.linked();
    const auto how = futures[entered]->word_.enter(node);
    WEFT_CHECK(how != FutureWord::Entered::taken,
               "two wait for one future, or one waits that has a callback");
    ready = how == FutureWord::Entered::set;
    if (ready) node.unlinked();
  }
  if (auto* const simulator = sched::carrier().simulator) [[unlikely]] {
    simulator->note(sched::Op::wait, futures.front(),
                    {&Several::is_ready, &several});
  }
  const auto who = ready ? wait.withdraw() : wait.park(deadline);
  came_back();
  for (std::size_t i = 0; i < entered; ++i) {
    if (nodes[i].gone() || futures[i]->word_.leave(nodes[i])) continue;
    waiting::until_gone(nodes[i]);
  }
  wait.end();
  if (const auto set = several.first_set(); set != futures.size()) return set;
  return waiting::outcome(who).error();
}

bool FutureCore::subscribe(Callback& callback) noexcept {
  sched::interleave(sched::Op::wait, this);
  const auto how = word_.subscribe(&callback);
  WEFT_CHECK(
      how != FutureWord::Entered::taken,
      "a callback for a future that somebody waits for, or that has one");
  return how == FutureWord::Entered::waiting;
}

void FutureCore::reset() noexcept {
  WEFT_CHECK(word_.reset(), "a future is reset while somebody waits for it");
  error_ = Errc{};
}

void FutureCore::check_unused() const noexcept {
  WEFT_CHECK(word_.unused(),
             "a future is destroyed while somebody waits for it");
}

}  // namespace weft::sync
