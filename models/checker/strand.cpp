#include "checker/strand.hpp"

#include <cstdint>
#include <cstdlib>

namespace weft::model {

void Strand::start(const std::function<void()>& body) {
  if (stack_ == nullptr) stack_.reset(new std::byte[kStack]);
  body_ = &body;
  done_ = false;
  auto top = reinterpret_cast<std::uintptr_t>(stack_.get()) + kStack;
  top &= ~std::uintptr_t{63};
  context::prepare(here_, reinterpret_cast<std::byte*>(top), &Strand::enter,
                   this, [] { std::abort(); });
}

void Strand::resume() { context::weft_switch_context(&explorer_, &here_); }
void Strand::leave() { context::weft_switch_context(&here_, &explorer_); }

void Strand::enter(void* self) {
  auto& strand = *static_cast<Strand*>(self);
  (*strand.body_)();
  strand.done_ = true;
  strand.leave();
}

}  // namespace weft::model
