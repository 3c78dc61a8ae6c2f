// scope_refused.cpp: bodies that do not compile, one at a time.

#include <string>

#include <weft/weft.hpp>

namespace weft {

void use(Nursery& nursery) {
  nursery.spawn([&nursery]() -> Status { return nursery.fail(Errc::invalid); });
  (void)race([] { return 1; }, [] { return 2L; });
#if defined(REFUSED_ERROR)
  nursery.spawn([&nursery] { return nursery.fail(Errc::invalid); });
#elif defined(REFUSED_ERRC)
  nursery.spawn([] { return Errc::invalid; });
#elif defined(REFUSED_COMMON)
  (void)race([] { return 1; }, [] { return std::string(); });
#elif defined(REFUSED_OUTSIDE)
  spawn([] {});
#endif
}

}  // namespace weft
