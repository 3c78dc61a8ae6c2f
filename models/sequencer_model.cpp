#include "protocol.hpp"
namespace weft::model {
Protocol sequencer() { return {.name = "sequencer"}; }
}
