// strand.hpp: a thread of a model: a stack of its own on the one OS thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "context/context.hpp"

namespace weft::model {

class Strand {
 public:
  Strand() = default;
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  // The explorer, on its own stack. Forgets what ran here before.
  void start(const std::function<void()>& body);
  void resume();

  // The strand itself: back to the explorer.
  void leave();

  bool done() const noexcept { return done_; }

 private:
  static constexpr std::size_t kStack = std::size_t{256} << 10;
  static void enter(void* self);

  std::unique_ptr<std::byte[]> stack_;
  context::Context here_;
  context::Context explorer_;
  const std::function<void()>* body_ = nullptr;
  bool done_ = false;
};

}  // namespace weft::model
