// checked_code.hpp: functions compiled with yield checks, by
// weft_enable_yield_checks(). None of them mentions one.
#pragma once

#include <atomic>
#include <cstddef>

#include <weft/channel.hpp>
#include <weft/mutex.hpp>

namespace weft::test {

// So many turns of a loop.
void checked_turns(int turns);
// So many calls, one inside of the other.
int checked_depth(int depth);
void checked_spin_until(const std::atomic<bool>& flag);
[[noreturn]] void checked_spin_for_ever();
// Passes a ball to and fro, by spinning.
void checked_play(std::atomic<int>& turn, int mine, int rounds);
// In a catch block, in a destructor during unwinding, in a noexcept function.
void checked_odd_places(int turns) noexcept;
// The same under a lock that may be held over a wait.
void checked_under_mutex(Mutex& mutex, int& count, int rounds);

// Moves it in a loop, with checks.
struct CheckedElement {
  CheckedElement() = default;
  explicit CheckedElement(std::size_t v) : value(v) {}
  CheckedElement(CheckedElement&& other) noexcept;
  CheckedElement& operator=(CheckedElement&& other) noexcept;
  ~CheckedElement();
  std::size_t value = 0;
};
void checked_send(Sender<CheckedElement> to, std::size_t count);
std::size_t checked_receive(Receiver<CheckedElement> from);
// The same of what a compiler moves; only checked code knows how.
struct CheckedInt {
  int value;
};
Channel<CheckedInt> checked_channel(std::size_t capacity);
void checked_send_ints(Sender<CheckedInt> to, int count);
long checked_sum_of_ints(Receiver<CheckedInt> from);

extern const int checked_before_main;  // 100, counted before main()

}  // namespace weft::test
