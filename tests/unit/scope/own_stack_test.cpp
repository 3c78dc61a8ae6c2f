// own_stack_test.cpp: what a fiber touches is on its own stack or in a frame.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "sched/carrier.hpp"
#include "stress/scale.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;

// Every place at which a Traced was made, moved from or destroyed, and the
// stack of the fiber that did it.
class Trace {
 public:
  void touch(const void* place) {
    const auto* stack = sched::carrier().current->stack.get();
    std::lock_guard hold(lock_);
    touches_.push_back({static_cast<const std::byte*>(place), stack});
  }
  // How many were on a stack that belongs to another fiber.
  std::ptrdiff_t foreign() const {
    return std::count_if(
        touches_.begin(), touches_.end(), [this](const Touch& touch) {
          return std::any_of(touches_.begin(), touches_.end(),
                             [&touch](const Touch& other) {
                               return other.stack != touch.stack &&
                                      holds(other.stack, touch.place);
                             });
        });
  }
  std::size_t stacks() const {
    std::vector<const stack::Stack*> all;
    for (const auto& touch : touches_) all.push_back(touch.stack);
    std::sort(all.begin(), all.end());
    return static_cast<std::size_t>(std::unique(all.begin(), all.end()) -
                                    all.begin());
  }

 private:
  struct Touch {
    const std::byte* place;
    const stack::Stack* stack;
  };
  static bool holds(const stack::Stack* stack, const std::byte* place) {
    return place >= stack->low && place < stack->top();
  }
  SpinLock lock_;
  std::vector<Touch> touches_;
};

class Traced {
 public:
  explicit Traced(Trace& trace) noexcept : trace_(&trace) { touch(); }
  Traced(Traced&& other) noexcept : trace_(other.trace_) {
    other.touch();
    touch();
  }
  ~Traced() { touch(); }

 private:
  void touch() const { trace_->touch(this); }
  Trace* trace_;
};

class OwnStackTest : public test::RuntimeTest {};

// R-FIBER-14
TEST_F(OwnStackTest, ClosuresAndResultsNeverLieOnAnothersStack) {
  constexpr std::size_t kFibers = 20;
  Runtime runtime = start(2);
  Trace trace;
  Gate gate;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    std::vector<Task<Traced>> tasks;
    for (std::size_t i = 0; i < kFibers; ++i) {
      tasks.push_back(nursery.spawn(
          [&](Traced own) {
            EXPECT_TRUE(gate.pass());  // all at once: each has a stack
            return own;
          },
          Traced(trace)));
    }
    while (gate.waiting() != kFibers) this_fiber::yield();
    gate.open();
    for (auto& task : tasks) EXPECT_TRUE(task.join().has_value());
  }));
  EXPECT_EQ(trace.stacks(), kFibers + 1);
  EXPECT_EQ(trace.foreign(), 0);
}

#if !defined(WEFT_TEST_ASAN) && !defined(WEFT_TEST_TSAN)  // move locals
// The test above sees what it should see.
TEST_F(OwnStackTest, ATouchOfAnothersStackIsSeen) {
  Runtime runtime = start(2);
  Trace trace;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    Traced mine(trace);
    const Deadline later = Deadline::after(std::chrono::hours(1));
    auto child =
        nursery.spawn([&mine] { const Traced taken(std::move(mine)); });
    EXPECT_TRUE(child.join(later));  // not in place
  }));
  EXPECT_EQ(trace.foreign(), 1);
}
#endif

}  // namespace
}  // namespace weft
