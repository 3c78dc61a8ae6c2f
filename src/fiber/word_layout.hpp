// word_layout.hpp: the bits of a control word.
//
//   bits 0-3    state    see State
//   bit  4      token    a raw unpark came while not parked
//   bit  5      cancel   a stop was told: at its next cancel point the fiber
//                        looks whether it is meant (see scope.hpp)
//   bit  6      shield   the current wait is not a cancel point
//   bit  7      alone    this fiber was cancelled itself; sticky until it ends
//   bits 8-22   owner    worker id, 1-based, in running and parking; else 0
//   bit  23     metered  it pays for what it does; from its spawn to its end
//   bits 24-39  claim    of the current wait: see Who
//   bits 40-63  ticket   low bits of the fiber's count of waits
#pragma once

#include <cstdint>

#include "fiber/states.hpp"
#include <weft/detail/here.hpp>

namespace weft::fiber {

struct WordLayout {
  static constexpr std::uint64_t kStateMask = 0xF;
  static constexpr std::uint64_t kToken = 1u << 4;
  static constexpr std::uint64_t kCancel = detail::kCancel;
  static constexpr std::uint64_t kShield = 1u << 6;
  static constexpr std::uint64_t kAlone = 1u << 7;
  static constexpr std::uint64_t kMetered = detail::kMetered;
  static constexpr unsigned kOwnerShift = 8;
  static constexpr std::uint64_t kOwnerMask = 0x7FFF;
  static constexpr unsigned kClaimShift = 24;
  static constexpr unsigned kTicketShift = 40;
  static constexpr std::uint64_t kTicketLow = 0xFFFFFF;
  static constexpr std::uint64_t kTicketMask = kTicketLow << kTicketShift;

  static constexpr std::uint64_t bits(State s) noexcept {
    return static_cast<std::uint64_t>(s);
  }
  static constexpr State state(std::uint64_t w) noexcept {
    return static_cast<State>(w & kStateMask);
  }
  static constexpr Who claim_of(std::uint64_t w) noexcept {
    return static_cast<Who>((w >> kClaimShift) & 0xFFFF);
  }
  static constexpr std::uint64_t ticket_of(std::uint64_t w) noexcept {
    return w >> kTicketShift;
  }
  static constexpr std::uint64_t with_state(std::uint64_t w, State s) noexcept {
    return (w & ~kStateMask) | bits(s);
  }
  static constexpr std::uint64_t with_owner(std::uint64_t w,
                                            unsigned owner) noexcept {
    return (w & ~(kOwnerMask << kOwnerShift)) |
           (std::uint64_t{owner} << kOwnerShift);
  }
  static constexpr std::uint64_t with_claim(std::uint64_t w, Who who) noexcept {
    return (w & ~(std::uint64_t{0xFFFF} << kClaimShift)) |
           (static_cast<std::uint64_t>(who) << kClaimShift);
  }
  static constexpr std::uint64_t next_ticket(std::uint64_t masked) noexcept {
    return masked + (std::uint64_t{1} << kTicketShift);  // wraps in 24 bits
  }
  static constexpr bool is_live(State s) noexcept {
    return s >= State::fresh && s <= State::hosting;
  }
};

}  // namespace weft::fiber
