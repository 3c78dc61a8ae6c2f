// channel_memory.cpp: the operator new of channels, for their models. A channel
// alone asks for aligned memory that may be refused.
#include <cstdlib>
#include <new>

#include "channel_scene.hpp"

namespace weft::model {

namespace {

thread_local ChannelMemory* here = nullptr;

void* aligned(std::size_t size, std::align_val_t align) noexcept {
  const auto step = static_cast<std::size_t>(align);
  return std::aligned_alloc(step, (size + step - 1) & -step);
}

}  // namespace

ChannelMemory::ChannelMemory() noexcept { here = this; }
ChannelMemory::~ChannelMemory() { here = nullptr; }
ChannelMemory* ChannelMemory::current() noexcept { return here; }

void* ChannelMemory::take(std::size_t size) {
  if (base::model_seam() != nullptr) {
    lives_.push_back(detail::begin_life(size, "memory of a channel"));
    return lives_.back();
  }
  if (taken_ == blocks_.size() || size > sizeof(Block)) return nullptr;
  return &blocks_[taken_++];
}

bool ChannelMemory::give(void* memory) {
  const auto found = std::find(lives_.begin(), lives_.end(), memory);
  if (base::model_seam() == nullptr || found == lives_.end()) {
    return memory == &blocks_[0] || memory == &blocks_[1];
  }
  detail::end_life(memory, base::Site::current());
  return true;
}

}  // namespace weft::model

void* operator new(std::size_t size, std::align_val_t align,
                   const std::nothrow_t& /*tag*/) noexcept {
  if (auto* const memory = weft::model::ChannelMemory::current()) {
    if (void* const taken = memory->take(size)) return taken;
  }
  return weft::model::aligned(size, align);
}
void* operator new(std::size_t size, std::align_val_t align) {
  if (void* const memory = weft::model::aligned(size, align)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory, std::align_val_t /*align*/) noexcept {
  auto* const from = weft::model::ChannelMemory::current();
  if (from == nullptr || !from->give(memory)) std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/,
                     std::align_val_t align) noexcept {
  operator delete(memory, align);
}
