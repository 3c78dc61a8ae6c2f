#include "base/model_seam.hpp"

namespace weft::base {

namespace {
constinit thread_local ModelSeam* current_seam = nullptr;
}

// Not inlined: fibers change their thread, so nobody may keep the address.
[[gnu::noinline]] ModelSeam* model_seam() noexcept { return current_seam; }
[[gnu::noinline]] void set_model_seam(ModelSeam* seam) noexcept {
  current_seam = seam;
}

}  // namespace weft::base
