#include "check_cost.hpp"

namespace bench {

WEFT_BENCH_LOOP(checked_loop)

void checked_spin() {
  for (;;) asm volatile("");
}

}  // namespace bench
