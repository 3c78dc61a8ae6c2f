// 01_hello: a runtime, a nursery, two fibers.
#include <array>
#include <cstdio>

#include <weft/weft.hpp>

int main() {
  std::array<bool, 2>
      said{};  // older than the nursery: children may refer to it

  const int status = weft::run_main([&](weft::Nursery& nursery) {
    nursery.spawn([&] {
      std::puts("hello");
      said[0] = true;
    });
    nursery.spawn([&] {
      std::puts("world");
      said[1] = true;
    });
  });  // both have ended here, and what they wrote is visible

  if (status != 0 || !said[0] || !said[1]) return 1;
  std::puts("both fibers have ended");
}
