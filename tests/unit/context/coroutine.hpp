// coroutine.hpp: one prepared context with a stack, for tests of the switch.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "context/context.hpp"
#include "context/sanitizer.hpp"

// Fills the registers that a callee preserves with seed+1, seed+2 and so on
// (x86-64: rbx, rbp, r12-r15; aarch64: x19-x29, d8-d15), switches, and answers
// zero if all of them are still there on return.
extern "C" std::uint64_t weft_test_switch_with_sentinels(
    weft::context::Context* from, weft::context::Context* to,
    std::uint64_t seed) noexcept;

namespace weft::context::test {

// Runs body(argument) on a stack of its own. One thread enters, the body
// leaves; both as often as they like.
class Coroutine {
 public:
  using Body = void (*)(void* argument);

  Coroutine(Body body, void* argument) : body_(body), argument_(argument) {
    introduce_stack(handle_, stack_.get(), top());
    adopt_stack(handle_, uses_);
    prepare(inside_, top(), &Coroutine::main, this, &Coroutine::cleanup);
  }
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;
  ~Coroutine() { abandon_stack(handle_); }

  // From outside, until the body leaves or has ended.
  void enter() {
    prepare_enter();
    weft_switch_context(&outside_, &inside_);
    arrive_on_stack(thread_handle_);
  }
  std::uint64_t enter_with_sentinels(std::uint64_t seed) {
    prepare_enter();
    const auto wrong =
        weft_test_switch_with_sentinels(&outside_, &inside_, seed);
    arrive_on_stack(thread_handle_);
    return wrong;
  }
  // From the body.
  void leave() {
    leave_stack(ground(), thread_ground(), false);
    weft_switch_context(&inside_, &outside_);
    arrive_on_stack(handle_);
  }
  std::uint64_t leave_with_sentinels(std::uint64_t seed) {
    leave_stack(ground(), thread_ground(), false);
    const auto wrong =
        weft_test_switch_with_sentinels(&inside_, &outside_, seed);
    arrive_on_stack(handle_);
    return wrong;
  }

  bool ended() const { return ended_; }
  int cleanups() const { return cleanups_; }
  Context& inside() { return inside_; }
  static Coroutine& current() { return *current_; }

 private:
  static constexpr std::size_t kSize = 256 << 10;

  struct Bounds {
    void* low = nullptr;
    std::size_t size = 0;
  };
  static Bounds bounds_of_thread() {
    Bounds bounds;
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
      ::pthread_attr_getstack(&attributes, &bounds.low, &bounds.size);
      ::pthread_attr_destroy(&attributes);
    }
    return bounds;
  }

  void prepare_enter() {
    static thread_local const Bounds bounds = bounds_of_thread();
    current_ = this;
    adopt_thread(thread_handle_);
    thread_ = bounds;
    leave_stack(thread_ground(), ground(), false);
  }
  static void main(void* self) {
    auto& here = *static_cast<Coroutine*>(self);
    arrive_on_stack(here.handle_);
    here.body_(here.argument_);
    here.ended_ = true;
  }
  static void cleanup() {  // no argument: the one that runs now
    Coroutine& here = current();
    ++here.cleanups_;
    leave_stack(here.ground(), here.thread_ground(), true);
    weft_switch_context(&here.inside_, &here.outside_);
    __builtin_unreachable();
  }

  std::byte* top() const { return stack_.get()->bytes + kSize; }
  Ground ground() { return {&handle_, stack_.get()->bytes, kSize}; }
  Ground thread_ground() {
    return {&thread_handle_, thread_.low, thread_.size};
  }

  struct alignas(64) Stack {
    std::byte bytes[kSize];
  };

  static inline thread_local Coroutine* current_ = nullptr;

  const Body body_;
  void* const argument_;
  std::unique_ptr<Stack> stack_ = std::make_unique<Stack>();
  Context inside_;
  Context outside_;
  Handle handle_ = nullptr;
  unsigned uses_ = 0;
  Handle thread_handle_ = nullptr;
  Bounds thread_;
  bool ended_ = false;
  int cleanups_ = 0;
};

}  // namespace weft::context::test
