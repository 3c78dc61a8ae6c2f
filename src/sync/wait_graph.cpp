#include "sync/wait_graph.hpp"

#if defined(WEFT_DEBUG_CHECKS)

#include <cinttypes>
#include <cstdio>
#include <mutex>

#include "base/check.hpp"
#include "base/spin_lock.hpp"
#include "sched/carrier.hpp"

namespace weft::sync {

namespace {

void print(const Fiber& fiber, const char* does, const char* kind,
           const void* lock) noexcept {
  const char* const name = fiber.name();
  std::fprintf(stderr, "weft:   %s %" PRIu64 "%s%s%s %s %s %p\n",
               fiber.proxy ? "thread" : "fiber",
               fiber.id.load(relaxed) & ~(std::uint64_t{1} << 63),
               name != nullptr && *name != '\0' ? " \"" : "",
               name != nullptr ? name : "",
               name != nullptr && *name != '\0' ? "\"" : "", does, kind, lock);
}

}  // namespace

// All who wait, in one list: there are few, in a build that looks for them.
class WaitGraph {
 public:
  static WaitGraph& get() noexcept {
    static WaitGraph graph;  // trivially destroyed: no wait outlives it
    return graph;
  }

  void enter(WaitsForLock& wait) noexcept {
    const std::lock_guard hold(lock_);
    wait.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &wait;
    first_ = &wait;
    if (const auto* found = in_circle(wait)) report(*found);
  }
  void leave(WaitsForLock& wait) noexcept {
    const std::lock_guard hold(lock_);
    (wait.previous_ != nullptr ? wait.previous_->next_ : first_) = wait.next_;
    if (wait.next_ != nullptr) wait.next_->previous_ = wait.previous_;
  }

 private:
  // Whom he waits for; nullptr: somebody who waits for no lock.
  const WaitsForLock* next_of(const WaitsForLock& wait) const noexcept {
    const Fiber* const owner = wait.owner_of_(wait.lock_);
    if (owner == nullptr || owner == &wait.self_) return nullptr;
    for (const auto* other = first_; other != nullptr; other = other->next_) {
      if (&other->self_ == owner) return other;
    }
    return nullptr;
  }
  // One of a circle that can be reached from here; nullptr: there is none. It
  // need not be this one: a turn of a FairMutex that comes up closes a circle
  // of those who wait already.
  const WaitsForLock* in_circle(const WaitsForLock& wait) const noexcept {
    const auto* at = &wait;
    for (const auto* step = first_; step != nullptr; step = step->next_) {
      at = next_of(*at);
      if (at == nullptr) return nullptr;
    }
    return at;  // as many steps as there are: it goes round
  }
  [[noreturn]] void report(const WaitsForLock& wait) const noexcept {
    std::fprintf(stderr, "weft: these wait for each other:\n");
    const auto* at = &wait;
    do {
      print(at->self_, "waits for", at->kind_, at->lock_);
      const auto* const owner = next_of(*at);
      print(owner->self_, "holds", at->kind_, at->lock_);
      at = owner;
    } while (at != &wait);
    base::die(__FILE__, __LINE__,
              "DEADLOCK: a circle of fibers and locks; lock them in the same "
              "order everywhere, or together by std::scoped_lock");
  }

  base::SpinLock lock_;
  WaitsForLock* first_ = nullptr;
};

WaitsForLock::WaitsForLock(const Fiber& self, const void* lock,
                           const char* kind, OwnerOf owner_of) noexcept
    : self_(self), lock_(lock), kind_(kind), owner_of_(owner_of) {
  // A simulation finds every deadlock by itself, and goes on.
  if (sched::carrier().simulator == nullptr) WaitGraph::get().enter(*this);
}

WaitsForLock::~WaitsForLock() {
  if (sched::carrier().simulator == nullptr) WaitGraph::get().leave(*this);
}

}  // namespace weft::sync

#endif
