#include "protocol.hpp"
namespace weft::model {
Protocol future() { return {.name = "future"}; }
}
