// combine.cpp: waits for several tasks at once, by the machinery of select.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include "fiber/fiber.hpp"
#include "sched/carrier.hpp"
#include <weft/combine.hpp>
#include <weft/detail/select.hpp>

namespace weft::detail {

namespace {

using fiber::Fiber;

Fiber& fiber_of(Frame* frame) noexcept {
  return *reinterpret_cast<Fiber*>(frame);
}

}  // namespace

// One case for each handle, in order, on the stack if they are few.
class Handles::Cases {
 public:
  explicit Cases(const Handles& handles) noexcept : count_(handles.count) {
    const auto size =
        count_ * (sizeof(Done) + sizeof(SelectCase*) + sizeof(std::uint16_t));
    if (size > sizeof few_) {
      many_.reset(new (std::nothrow) std::byte[size]);
    }
    std::byte* const place = size > sizeof few_ ? many_.get() : few_;
    if (place == nullptr) {
      count_ = 0;
      return;
    }
    done_ = reinterpret_cast<Done*>(place);
    std::uninitialized_default_construct_n(done_, count_);
    waits_ = reinterpret_cast<SelectCase**>(place + count_ * sizeof(Done));
    order_ = reinterpret_cast<std::uint16_t*>(waits_ + count_);
    for (; left_ < count_; ++left_) {
      done_[left_].of(handles.at(handles.first, left_).frame_);
      waits_[left_] = &done_[left_];
    }
  }
  Cases(const Cases&) = delete;
  Cases& operator=(const Cases&) = delete;
  ~Cases() { std::destroy_n(done_, count_); }

  // Are there any left? Not without memory, either.
  bool empty() const noexcept { return left_ == 0; }
  // The index of the first that has ended, as given.
  Result<std::size_t> wait(Deadline deadline) noexcept {
    const auto ended = select_cases(
        waits_, order_, left_, {.fair = false, .is_charged = false}, deadline);
    if (!ended) return ended.error();
    if (*ended == left_) return Errc::timed_out;
    last_ = *ended;
    return static_cast<std::size_t>(static_cast<Done*>(waits_[last_]) - done_);
  }
  // The one that wait() answered is not waited for any more.
  void remove_last() noexcept {
    std::copy(waits_ + last_ + 1, waits_ + left_, waits_ + last_);
    --left_;
  }

 private:
  struct Done : SelectCase {
    Done() noexcept : SelectCase(kIsDone) {}
    void of(Frame* frame) noexcept { renew(frame, Errc{}); }
  };

  static constexpr std::size_t kOnStack = 16;
  std::size_t count_;
  std::size_t left_ = 0;
  std::size_t last_ = 0;
  Done* done_ = nullptr;
  SelectCase** waits_ = nullptr;
  std::uint16_t* order_ = nullptr;
  std::unique_ptr<std::byte[]> many_;
  alignas(Done) std::byte few_[kOnStack * (sizeof(Done) + sizeof(SelectCase*) +
                                           sizeof(std::uint16_t))];
};

bool Handles::has_oneself() const noexcept {
  const Fiber* const self = &*sched::carrier().current;
  for (std::size_t i = 0; i < count; ++i) {
    Frame* const frame = at(first, i).frame_;
    if (frame != nullptr && &fiber_of(frame) == self) return true;
  }
  return false;
}

// Of one that has ended.
EndOfSeveral Handles::end_of(std::size_t i) const noexcept {
  const AnyTask& task = at(first, i);
  if (task.frame_ == nullptr) {
    return {.error = task.refused_, .outcome = Outcome::error, .index = i};
  }
  Fiber& fiber = fiber_of(task.frame_);
  EndOfSeveral end{.outcome = fiber.outcome, .index = i, .frame = task.frame_};
  if (end.outcome == Outcome::error) end.error = fiber.error();
  return end;
}

EndOfSeveral Handles::await_all(Deadline deadline) const noexcept {
  EndOfSeveral all{.outcome = Outcome::value};
  for (std::size_t i = 0; i < count; ++i) {
    AnyTask& task = at(first, i);
    if (task.frame_ != nullptr) {
      if (Status end = task.wait(deadline); !end) return {.error = end.error()};
    }
    if (all.outcome == Outcome::value) all = end_of(i);
  }
  return all;
}

Result<std::size_t> Handles::await_first(Deadline deadline) const noexcept {
  if (count == 0 || count > kMostCases || has_oneself()) return Errc::invalid;
  Cases cases(*this);
  if (cases.empty()) return Error::out_of(Resource::memory);
  return cases.wait(deadline);
}

EndOfSeveral Handles::await_success(Deadline deadline) const noexcept {
  if (count == 0 || count > kMostCases || has_oneself()) {
    return {.error = Errc::invalid};
  }
  Cases cases(*this);
  if (cases.empty()) return {.error = Error::out_of(Resource::memory)};
  EndOfSeveral failed;
  while (!cases.empty()) {
    const auto ended = cases.wait(deadline);
    if (!ended) return {.error = ended.error()};
    const auto end = end_of(*ended);
    if (end.outcome == Outcome::value) return end;
    if (failed.outcome == Outcome::none) failed = end;
    cases.remove_last();
  }
  return failed;
}

}  // namespace weft::detail
