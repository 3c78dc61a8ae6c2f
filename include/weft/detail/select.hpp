// detail/select.hpp: one case of a select, as the library sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "weft/detail/channel.hpp"
#include "weft/result.hpp"
#include "weft/sequencer.hpp"
#include "weft/time.hpp"
#include "weft/wait.hpp"

namespace weft {

class AnyTask;
class Event;

namespace detail {

struct Frame;

// Of what is not waited for through the public interface.
extern const WaitOps kReceives;   // a Channel, with a ChannelIo
extern const WaitOps kSends;      // the same
extern const WaitOps kIsDone;     // a Frame
extern const WaitOps kIsSet;      // an AnyFuture
extern const WaitOps kIsReached;  // a Sequencer, with a SequencerIo

struct SequencerIo {
  std::optional<std::uint64_t> token;  // none: the next odd value
  Sequencer::Future* done = nullptr;
};

struct SelectAccess {
  static Frame* frame(AnyTask& task) noexcept;
  static Sequencer& sequencer(Event& event) noexcept;
};

// Moves until it is waited for: the first prepare() fixes its place.
class SelectCase {
 public:
  explicit SelectCase(const WaitOps& ops, void* waitable = nullptr,
                      Error refused = Errc{}) noexcept
      : ops_(&ops), waitable_(waitable), refused_(refused) {}
  SelectCase(SelectCase&& other) noexcept
      : ops_(other.ops_),
        waitable_(other.waitable_),
        refused_(other.refused_) {}
  SelectCase& operator=(SelectCase&&) = delete;

 protected:
  void use(void* io) noexcept;
  // What it is about may have changed since the last wait.
  void renew(void* waitable, Error refused) noexcept {
    waitable_ = waitable;
    refused_ = refused;
  }
  // Of a handle without a channel the result is why.
  void use(ChannelIo& io, void* value) noexcept {
    io.value = value;
    io.result = Status(refused_);
    use(&io);
  }
  // Once it happened: nothing will ever come of the waitable.
  Status refused() const noexcept { return refused_; }

 private:
  friend struct SelectWait;
  const WaitOps* ops_;
  void* waitable_;  // nullptr: it is ready, and fails
  Error refused_;
  Waiter waiter_;
};

// A value that a case may make; there is none when the case moves.
template <typename T>
class Later : public Empty<T> {
 public:
  Later() noexcept = default;
  Later(Later&& /*other*/) noexcept : Empty<T>() {}
};

inline constexpr std::size_t kMostCases = 60'000;  // a claim has 16 bits
// What a Selector is made for; dies if that is too many.
std::size_t checked_case_count(std::size_t count) noexcept;

struct SelectHow {
  bool fair = true;        // else the first of the ready
  bool at_once = false;    // does not wait
  bool is_charged = true;  // as an operation of a channel
};

// Any fiber or thread. Which of them happened; count: none by the deadline.
// order: room for `count`. Errors: invalid (nothing to wait for), would_block
// (at_once), exhausted (memory); of the fiber and its scopes: cancelled,
// timed_out.
Result<std::size_t> select_cases(SelectCase* const* cases, std::uint16_t* order,
                                 std::size_t count, const SelectHow& how,
                                 Deadline deadline) noexcept;

}  // namespace detail
}  // namespace weft
