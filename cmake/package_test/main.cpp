#include <weft/weft.hpp>

int main() {
  return weft::run_main([](weft::Nursery& nursery) { nursery.spawn([] {}); });
}
