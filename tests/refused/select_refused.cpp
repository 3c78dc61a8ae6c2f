// select_refused.cpp: what must not compile, one REFUSED_ at a time, and says
// why; without any it compiles.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <weft/weft.hpp>

namespace weft {

struct Gate {
  bool try_complete(Waiter&) noexcept { return true; }
  bool publish(Waiter&) noexcept { return true; }
  void unpublish(Waiter&) noexcept {}
};

// A handler that returns something, of each case that has one.
enum class Case {
  none,
  receive,
  subscription,
  changed,
  send,
  send_reference,
  done,
  set,
  reached,
  event,
  own,
  own_with_io,
  deadline,
  otherwise
};
#if defined(REFUSED_RETURN_RECEIVE)
constexpr auto kRefused = Case::receive;
#elif defined(REFUSED_RETURN_SUBSCRIPTION)
constexpr auto kRefused = Case::subscription;
#elif defined(REFUSED_RETURN_CHANGED)
constexpr auto kRefused = Case::changed;
#elif defined(REFUSED_RETURN_SEND)
constexpr auto kRefused = Case::send;
#elif defined(REFUSED_RETURN_SEND_REFERENCE)
constexpr auto kRefused = Case::send_reference;
#elif defined(REFUSED_RETURN_DONE)
constexpr auto kRefused = Case::done;
#elif defined(REFUSED_RETURN_SET)
constexpr auto kRefused = Case::set;
#elif defined(REFUSED_RETURN_REACHED)
constexpr auto kRefused = Case::reached;
#elif defined(REFUSED_RETURN_EVENT)
constexpr auto kRefused = Case::event;
#elif defined(REFUSED_RETURN_OWN)
constexpr auto kRefused = Case::own;
#elif defined(REFUSED_RETURN_OWN_WITH_IO)
constexpr auto kRefused = Case::own_with_io;
#elif defined(REFUSED_RETURN_DEADLINE)
constexpr auto kRefused = Case::deadline;
#elif defined(REFUSED_RETURN_OTHERWISE)
constexpr auto kRefused = Case::otherwise;
#else
constexpr auto kRefused = Case::none;
#endif

template <Case kCase>
auto answer() {
  if constexpr (kCase == kRefused) return 1;
}

[[maybe_unused]] void cases(Receiver<std::string>& from,
                            Sender<std::string>& to, Task<int>& task,
                            Future<int>& future, Sequencer& sequencer,
                            Event& event, Gate& gate, int& io,
                            Subscription<int>& news, const Watch<int>& watch) {
  std::string line;
  std::uint64_t seen = 0;
  std::optional<std::string> slot;
  (void)select(
      on_receive(from,
                 [](Result<std::string>) { return answer<Case::receive>(); }),
      on_receive(news,
                 [](Result<int>) { return answer<Case::subscription>(); }),
      on_changed(watch, seen,
                 [](Result<int>) { return answer<Case::changed>(); }),
      receive_into(slot, from),
      on_send(to, std::move(line), [](Status) { return answer<Case::send>(); }),
      on_send(to, std::ref(line),
              [] { return answer<Case::send_reference>(); }),
      on_done(task, [](Result<int>) { return answer<Case::done>(); }),
      on_set(future, [](Result<int>) { return answer<Case::set>(); }),
      on_reached(sequencer, 1, [] { return answer<Case::reached>(); }),
      on_event(event, [](Status) { return answer<Case::event>(); }),
      on(gate, [] { return answer<Case::own>(); }),
      on(gate, io, [](Status) { return answer<Case::own_with_io>(); }),
      on_deadline(Deadline::never(), [] { return answer<Case::deadline>(); }),
      otherwise([] { return answer<Case::otherwise>(); }));
}

[[maybe_unused]] void refused(Receiver<std::string>& from,
                              Sender<std::string>& to, Task<int>& task,
                              Selector& selector) {
  std::string line;
#if defined(REFUSED_VALUE)
  (void)select(on_receive(from, [](std::string) {}));
#elif defined(REFUSED_STATUS)
  (void)select(on_done(task, [](std::string) {}));
#elif defined(REFUSED_CASE)
  (void)select(from, to);
#elif defined(REFUSED_TEMPORARY)
  (void)selector.add(on_send(to, std::string("gone"), [] {}));
#elif defined(REFUSED_KEPT)
  auto kept = on_send(to, std::string("gone"), [] {});
  (void)select(kept);
#elif defined(REFUSED_KEPT_IN_ORDER)
  auto kept = on_send(to, std::string("gone"), [] {});
  (void)select_in_order(on_receive(from, [](const auto&) {}), kept);
#elif defined(REFUSED_REFERENCE)
  (void)selector.add(on_send(to, std::ref(std::string("gone")), [] {}));
#elif defined(REFUSED_VARIABLE)
  (void)select(on_send(to, line, [] {}));
#elif defined(REFUSED_DEADLINE)
  (void)selector.add(on_deadline(Deadline::never(), [] {}));
#else
  (void)selector.add(on_send(to, std::ref(line), [] {}));
  auto kept = on_send(to, std::ref(line), [] {});
  (void)select(kept, on_send(to, std::string("here"), [] {}));
  (void)selector.add(on_done(task, [] {}));
  (void)selector.add(on_receive(from, [](const Result<std::string>&) {}));
#endif
}

}  // namespace weft
