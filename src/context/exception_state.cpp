#include "context/exception_state.hpp"

#include <cxxabi.h>

namespace weft::context {

ExceptionState& thread_exception_state() noexcept {
  // The Itanium ABI fixes these two members and their order.
  return *reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
}

}  // namespace weft::context
