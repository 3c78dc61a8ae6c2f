#include <gtest/gtest.h>

#include <any>
#include <cerrno>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>

#include <weft/result.hpp>

namespace weft {
namespace {

template <typename T>
std::string shown(T value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST(Error, IsEightTriviallyCopyableBytes) {
  static_assert(sizeof(Error) == 8);
  static_assert(sizeof(Status) == 8);
  static_assert(std::is_trivially_copyable_v<Error>);
  static_assert(std::is_trivially_copyable_v<Status>);
  static_assert(std::is_trivially_copyable_v<Result<int>>);
}

TEST(Error, NamesItsReason) {
  EXPECT_EQ(Error(Errc::timed_out).message(), "timed_out");
  EXPECT_EQ(Error(Errc::would_block).message(), "would_block");
  EXPECT_EQ(Error(Errc::panicked).message(), "panicked");
  EXPECT_EQ(Error::os(ECONNREFUSED).message(),
            "system: Connection refused (111)");
  EXPECT_EQ(Error::out_of(Resource::stacks).message(), "exhausted: stacks");
  EXPECT_EQ(Error(Errc::exhausted).message(), "exhausted");
  EXPECT_EQ(Error::user(7).message(), "failed: 7");
  EXPECT_EQ(Error(Errc{}).message(), "ok");
  EXPECT_EQ(Error(Errc{200}).message(), "unknown");
}

TEST(Error, PrintsAsItsMessage) {
  EXPECT_EQ(shown(Error::user(-1)), "failed: -1");
  EXPECT_EQ(shown(Errc::denied), "denied");
  EXPECT_EQ(shown(Resource::channel_ops), "channel_ops");
}

TEST(Error, KeepsTheDetailOfItsKindOnly) {
  EXPECT_EQ(Error::os(5).os_code(), 5);
  EXPECT_EQ(Error::os(5).value(), 0);
  EXPECT_EQ(Error::user(6).value(), 6);
  EXPECT_EQ(Error::user(6).os_code(), 0);
  EXPECT_EQ(Error::out_of(Resource::ops).resource(), Resource::ops);
  EXPECT_EQ(Error(Errc::closed).resource(), Resource::none);
}

TEST(Error, ComparesByCodeOrWhole) {
  EXPECT_EQ(Error::os(5), Errc::system);
  EXPECT_NE(Error::os(5), Error::os(6));
  EXPECT_EQ(Error::os(5), Error::os(5));
}

TEST(Error, BecomesAStdErrorCode) {
  const auto own = Error(Errc::timed_out).error_code();
  EXPECT_STREQ(own.category().name(), "weft");
  EXPECT_EQ(own.message(), "timed_out");
  EXPECT_EQ(own, std::errc::timed_out);
  EXPECT_EQ(Error(Errc::denied).error_code(), std::errc::permission_denied);
  const auto foreign = Error::os(ENOENT).error_code();
  EXPECT_EQ(foreign.category(), std::system_category());
  EXPECT_EQ(foreign, std::errc::no_such_file_or_directory);
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> value = 3;
  const Result<int> error = Errc::closed;
  EXPECT_TRUE(value.has_value());
  EXPECT_EQ(*value, 3);
  EXPECT_EQ(value.value(), 3);
  EXPECT_FALSE(error);
  EXPECT_EQ(error.error(), Errc::closed);
}

TEST(Result, MovesAMoveOnlyValueOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  EXPECT_EQ(**result, 5);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
  const Result<std::unique_ptr<int>> failed = Errc::closed;
  EXPECT_EQ(failed.error(), Errc::closed);
}

TEST(Result, IsConvertibleJustAsItsValueIs) {
  struct Explicit {
    explicit Explicit(int) {}
  };
  static_assert(std::is_convertible_v<const char*, Result<std::string>>);
  static_assert(!std::is_convertible_v<int, Result<Explicit>>);
  static_assert(std::is_constructible_v<Result<Explicit>, int>);
  // A bool does not swallow another result, and anything keeps its errors.
  static_assert(!std::is_constructible_v<Result<bool>, Result<int>>);
  const Result<std::any> any = Errc::closed;
  EXPECT_FALSE(any.has_value());
}

TEST(Result, ReachesMembersByArrow) {
  Result<std::string> text = std::string("weft");
  text->push_back('!');
  const auto& constant = text;
  EXPECT_EQ(constant->size(), 5u);
}

TEST(Result, ValueThrowsTheError) {
  Result<int> result = Error::os(ECONNREFUSED);
  try {
    (void)result.value();
    FAIL() << "no exception";
  } catch (const BadResult& bad) {
    EXPECT_EQ(bad.error, Error::os(ECONNREFUSED));
    EXPECT_STREQ(bad.what(), "weft: system: Connection refused (111)");
  }
  EXPECT_THROW((void)std::move(result).value(), BadResult);
  EXPECT_THROW(Status(Errc::closed).value(), BadResult);
  EXPECT_NO_THROW(ok().value());
}

// What value() is in a file built with -fno-exceptions.
TEST(ResultDeathTest, ValueAbortsWithoutExceptions) {
  const Result<int> result = Errc::closed;
  EXPECT_DEATH((void)result.value<detail::Aborts>(), "weft: closed");
  EXPECT_DEATH(Status(Error::user(3)).value<detail::Aborts>(),
               "weft: failed: 3");
}

TEST(Result, ValueOrFallsBack) {
  const Result<int> value = 3;
  const Result<int> error = Errc::closed;
  EXPECT_EQ(value.value_or(4), 3);
  EXPECT_EQ(error.value_or(4), 4);
  Result<std::string> text = std::string("some");
  EXPECT_EQ(text.value_or("none"), "some");
  EXPECT_EQ(std::move(text).value_or("none"), "some");
}

TEST(Result, AndThenGoesOnWithTheValue) {
  const auto half = [](int x) -> Result<int> {
    if (x % 2 != 0) return Errc::invalid;
    return x / 2;
  };
  EXPECT_EQ(*Result<int>(8).and_then(half).and_then(half), 2);
  EXPECT_EQ(Result<int>(6).and_then(half).and_then(half).error(),
            Errc::invalid);
  EXPECT_EQ(Result<int>(Errc::closed).and_then(half).error(), Errc::closed);
  EXPECT_TRUE(Result<int>(1).and_then([](int) { return ok(); }));
}

TEST(Result, AndThenPassesTheValueAsItIsHeld) {
  Result<std::string> text = std::string("a");
  (void)text.and_then([](std::string& held) {
    held += "b";
    return ok();
  });
  EXPECT_EQ(*text, "ab");
  auto moved = std::move(text).and_then(
      [](std::string&& held) { return Result<std::string>(std::move(held)); });
  EXPECT_EQ(*moved, "ab");
}

TEST(Result, TransformMapsTheValue) {
  const Result<int> value = 3;
  EXPECT_EQ(*value.transform([](int x) { return std::to_string(x); }), "3");
  EXPECT_EQ(
      Result<int>(Errc::closed).transform([](int x) { return x; }).error(),
      Errc::closed);
  Status nothing = value.transform([](int) {});
  EXPECT_TRUE(nothing);
  const auto nested = value.transform([](int x) { return Result<int>(x); });
  EXPECT_EQ(**nested, 3);
}

TEST(Result, OrElseRescues) {
  const auto rescue = [](Error error) -> Result<int> {
    if (error == Errc::closed) return 0;
    return error;
  };
  EXPECT_EQ(*Result<int>(3).or_else(rescue), 3);
  EXPECT_EQ(*Result<int>(Errc::closed).or_else(rescue), 0);
  EXPECT_EQ(Result<int>(Errc::denied).or_else(rescue).error(), Errc::denied);
}

TEST(Status, ChainsLikeAResult) {
  EXPECT_EQ(*ok().and_then([] { return Result<int>(1); }), 1);
  EXPECT_EQ(*ok().transform([] { return 2; }), 2);
  EXPECT_TRUE(ok().transform([] {}));
  const Status closed = Errc::closed;
  EXPECT_EQ(closed.and_then([] { return ok(); }).error(), Errc::closed);
  EXPECT_EQ(closed.transform([] { return 2; }).error(), Errc::closed);
  EXPECT_TRUE(closed.or_else([](Error) { return ok(); }));
  EXPECT_FALSE(closed.or_else([](Error error) { return Status(error); }));
}

Result<int> twice(Result<int> input, Status before) {
  WEFT_TRY(before);
  const int value = WEFT_TRY(input);
  return 2 * value;
}

TEST(Try, ReturnsTheErrorAndYieldsTheValue) {
  EXPECT_EQ(*twice(4, ok()), 8);
  EXPECT_EQ(twice(Errc::closed, ok()).error(), Errc::closed);
  EXPECT_EQ(twice(4, Error::user(1)).error(), Error::user(1));
}

constexpr Result<int> kThree = 3;
constexpr Result<int> kClosed = Errc::closed;
static_assert(kThree && *kThree == 3 && kThree.value() == 3);
static_assert(kClosed.value_or(1) == 1 && kClosed.error() == Errc::closed);
static_assert(ok().has_value() && !Status(Errc::closed));

}  // namespace
}  // namespace weft
