#include "protocol.hpp"
namespace weft::model {
Protocol lines() { return {.name = "lines"}; }
}
