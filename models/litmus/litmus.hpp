// litmus.hpp: small programs as text, to try the checker on.
//
//   x=1.rel; y=1.rlx | r0=y.acq; r1=x+1.ar; r2=x?1>5.sc
//
// Threads are separated by |, operations by ;. Locations are x, y, z, w and
// begin with 0; registers are r0 to r7. x=1 stores, r0=x loads, r0=x+1 adds,
// r0=x!5 exchanges, r0=x?1>5 compares with 1 and exchanges for 5 (a failure is
// relaxed). Orders: rlx acq rel ar sc.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "checker/program.hpp"

namespace weft::model {

struct LitmusResult {
  Report report;
  // "0 1 / 2 1": the registers that are used / the last values of x, y, ...
  std::set<std::string> outcomes;
};

LitmusResult run_litmus(const std::string& program, Options options = {});

}  // namespace weft::model
