// narrator.hpp: what simulated fibers do, in words.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "sched/simulator.hpp"

namespace weft::sched {

// Numbers things in the order in which it comes to speak of them, from 1,
// unless they have names.
class Narrator {
 public:
  explicit Narrator(const Simulator& simulator) noexcept
      : simulator_(&simulator) {}

  // "locks #1", "goes on after joining fiber 2"
  [[nodiscard]] std::string goes_on(const Candidate& fiber);
  // 'fiber 3 "reader" waits on #1'
  [[nodiscard]] std::string waits(const Candidate& fiber);

 private:
  std::string object_of(const Candidate& fiber);

  const Simulator* simulator_;
  std::map<const void*, std::size_t> things_;
};

}  // namespace weft::sched
