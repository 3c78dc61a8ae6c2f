// select_refused.cpp: what must not compile, one REFUSED_ at a time, and says
// why; without any it compiles.

#include <functional>
#include <string>

#include <weft/weft.hpp>

namespace weft {

struct Gate {
  bool try_complete(Waiter&) noexcept { return true; }
  bool publish(Waiter&) noexcept { return true; }
  void unpublish(Waiter&) noexcept {}
};

// A handler that returns something, of every case that has one.
#if defined(REFUSED_RETURN)
#define WEFT_RETURNS return 1;
#else
#define WEFT_RETURNS
#endif

[[maybe_unused]] void cases(Receiver<std::string>& from,
                            Sender<std::string>& to, Task<int>& task,
                            Future<int>& future, Sequencer& sequencer,
                            Event& event, Gate& gate, int& io) {
  std::string line;
  std::optional<std::string> slot;
  (void)select(on_receive(from, [](Result<std::string>) { WEFT_RETURNS }),
               receive_into(slot, from),
               on_send(to, std::move(line), [](Status) { WEFT_RETURNS }),
               on_send(to, std::ref(line), [] { WEFT_RETURNS }),
               on_done(task, [](Result<int>) { WEFT_RETURNS }),
               on_set(future, [](Result<int>) { WEFT_RETURNS }),
               on_reached(sequencer, 1, [] { WEFT_RETURNS }),
               on_event(event, [](Status) { WEFT_RETURNS }),
               on(gate, [] { WEFT_RETURNS }),
               on(gate, io, [](Status) { WEFT_RETURNS }),
               on_deadline(Deadline::never(), [] { WEFT_RETURNS }),
               otherwise([] { WEFT_RETURNS }));
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
#elif defined(REFUSED_REFERENCE)
  (void)selector.add(on_send(to, std::ref(std::string("gone")), [] {}));
#elif defined(REFUSED_DEADLINE)
  (void)selector.add(on_deadline(Deadline::never(), [] {}));
#else
  (void)selector.add(on_send(to, std::ref(line), [] {}));
  (void)selector.add(on_done(task, [] {}));
  (void)selector.add(on_receive(from, [](const Result<std::string>&) {}));
#endif
}

}  // namespace weft
