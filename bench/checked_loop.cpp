#include "check_cost.hpp"

namespace bench {

WEFT_BENCH_LOOP(checked_loop)

}  // namespace bench
