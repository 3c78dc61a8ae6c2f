// word_states.hpp: brings a control word into each of its states.
#pragma once

#include <array>
#include <ostream>

#include "fiber/control_word.hpp"

namespace weft::fiber {

inline std::ostream& operator<<(std::ostream& out, State state) {
  constexpr std::array kNames = {"free",   "reserved", "fresh",
                                 "queued", "running",  "parking",
                                 "parked", "hosting",  "done"};
  return out << kNames[static_cast<std::size_t>(state)];
}

namespace test {

inline constexpr std::array kStates = {
    State::free,   State::reserved, State::fresh,
    State::queued, State::running,  State::parking,
    State::parked, State::hosting,  State::done};
inline constexpr unsigned kOwner = 3;
inline constexpr std::uint64_t kTicket = 7;  // of the wait in parking, parked

inline bool is_live(State state) {
  return state >= State::fresh && state <= State::hosting;
}

// From free. The wait, if there is one, is `ticket` and no shield unless told.
inline void bring(ControlWord& word, State state,
                  std::uint64_t ticket = kTicket, bool shield = false) {
  if (state == State::free) return;
  word.reserve();
  if (state == State::reserved) return;
  word.publish();
  if (state == State::fresh) return;
  (void)word.start(kOwner);
  switch (state) {
    case State::queued:
      word.yielded();
      break;
    case State::parking:
    case State::parked:
      (void)word.begin_wait(ticket, shield);
      if (state == State::parked) (void)word.commit();
      break;
    case State::hosting:
      (void)word.host();
      break;
    case State::done:
      word.done(false);
      break;
    default:
      break;
  }
}

// Leads a live word to running, its wait (if any) over, and answers whether a
// token was kept: what the next raw park finds.
inline bool has_token(ControlWord& word) {
  switch (word.state_now()) {
    case State::fresh:
      (void)word.start(kOwner);
      break;
    case State::queued:
      word.resume(kOwner);
      break;
    case State::parking:
      (void)word.withdraw();
      word.end_wait();
      break;
    case State::hosting:
      word.unhost(kOwner);
      break;
    default:
      break;
  }
  return word.begin_park(1000) == Begun::had_token;
}

}  // namespace test
}  // namespace weft::fiber
