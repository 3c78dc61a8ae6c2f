// audit.hpp: tries every weaker order at every place that a protocol reaches.
#pragma once

#include "checker/check.hpp"

namespace weft::model {

// Prints the weaker orders that no scenario catches: either the order is
// stronger than needed, or a scenario is missing.
void audit(const Protocol& protocol);

}  // namespace weft::model
