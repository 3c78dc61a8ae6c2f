// recorded_channel.hpp: a channel whose calls are recorded.
#pragma once

#include <string>
#include <utility>

#include "support/linearizable.hpp"
#include <weft/weft.hpp>

namespace weft::test {

class RecordedChannel {
 public:
  explicit RecordedChannel(std::size_t capacity, bool lock_free = true,
                           OnFull on_full = OnFull::wait)
      : channel_(make_channel<int>(
            capacity, {.on_full = on_full, .lock_free = lock_free})),
        on_full_(on_full) {}

  Errc send(int value, Deadline deadline = Deadline::never()) {
    const auto call = history_.begin(Call::send, value);
    return ended(call, channel_.sender.send(std::move(value), deadline));
  }
  Errc try_send(int value) {
    const auto call = history_.begin(Call::send, value, /*is_try=*/true);
    return ended(call, channel_.sender.try_send(std::move(value)));
  }
  Errc receive(Deadline deadline = Deadline::never()) {
    const auto call = history_.begin(Call::receive);
    return ended(call, channel_.receiver.receive(deadline));
  }
  Errc try_receive() {
    const auto call = history_.begin(Call::receive, 0, /*is_try=*/true);
    return ended(call, channel_.receiver.try_receive());
  }
  void close() {
    const auto call = history_.begin(Call::close_sender);
    channel_.sender.close();
    history_.end(call, Errc{});
  }
  void hang_up() {
    const auto call = history_.begin(Call::close_receiver);
    channel_.receiver.close();
    history_.end(call, Errc{});
  }
  // A value from one of two.
  static Errc receive_any(RecordedChannel& one, RecordedChannel& other) {
    const auto first = one.history_.begin(Call::receive);
    const auto second = other.history_.begin(Call::receive);
    Errc how{};
    const auto end =
        select(on_receive(one.channel_.receiver,
                          [&](auto got) { how = one.ended(first, got); }),
               on_receive(other.channel_.receiver,
                          [&](auto got) { how = other.ended(second, got); }));
    if (!end || *end != 0) one.history_.forget(first);
    if (!end || *end != 1) other.history_.forget(second);
    return end ? how : end.error().code();
  }
  // Into one, or from another.
  static Errc pass_on(RecordedChannel& to, int value, RecordedChannel& from) {
    const auto first = to.history_.begin(Call::send, value);
    const auto second = from.history_.begin(Call::receive);
    Errc how{};
    const auto end =
        select(on_send(to.channel_.sender, std::move(value),
                       [&](Status sent) { how = to.ended(first, sent); }),
               on_receive(from.channel_.receiver,
                          [&](auto got) { how = from.ended(second, got); }));
    if (!end || *end != 0) to.history_.forget(first);
    if (!end || *end != 1) from.history_.forget(second);
    return end ? how : end.error().code();
  }

  // Once no call is under way. "": it is.
  std::string why_not_linearizable() const {
    return test::why_not_linearizable(channel_.sender.capacity(), history_,
                                      on_full_);
  }

 private:
  template <typename R>
  Errc ended(std::size_t call, const R& end) {
    const auto how = end ? Errc{} : end.error().code();
    if constexpr (std::is_same_v<R, Status>) {
      history_.end(call, how);
    } else {
      history_.end(call, how, end ? *end : 0);
    }
    return how;
  }

  Channel<int> channel_;
  OnFull on_full_;
  History history_;
};

}  // namespace weft::test
