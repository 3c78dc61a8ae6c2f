// A broadcast and a watch in code that is compiled with checks. Their type of
// element is the .cpp's own: no copy of their functions without checks can
// take the place of these.
#pragma once

#include <cstdint>
#include <memory>

#include <weft/broadcast.hpp>

namespace weft::test {

// With two who subscribe.
class CheckedNews {
 public:
  CheckedNews(std::size_t capacity, OnFull on_full);
  ~CheckedNews();
  bool send(Deadline deadline = Deadline::never());
  bool receive();      // the first one's
  bool try_receive();  // the second one's
  void leave();        // the first one does
  void close();
  bool closed();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

class CheckedWatch {
 public:
  CheckedWatch();
  ~CheckedWatch();
  void set();
  bool changed();  // since the beginning
  void close();
  bool closed();
  std::uint64_t version();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace weft::test
