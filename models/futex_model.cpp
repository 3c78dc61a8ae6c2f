#include "protocol.hpp"
namespace weft::model {
Protocol futex() { return {.name = "futex"}; }
}
