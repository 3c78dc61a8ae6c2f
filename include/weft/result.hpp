// result.hpp: a value, or the reason there is none.
//
//   weft::Result<int> answer = task.join();
//   if (!answer) return answer.error();
//   use(*answer);
//
// std::expected's member names, but our own type in every language mode: an
// alias that changes with -std would break the ABI between library and client.
#pragma once

#if !defined(__cpp_concepts)
#error "weft needs C++20: compile with -std=c++20 or newer"
#endif

#include <cstdint>
#include <exception>
#include <functional>
#include <iosfwd>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace weft {

enum class Errc : std::uint8_t {  // Errc{}, zero: no error
  cancelled = 1,                  // this fiber was cancelled
  timed_out,                      // the deadline passed
  closed,                         // the other side is gone for good
  would_block,                    // a try_ function could not finish at once
  exhausted,  // memory or a limit is spent; see Error::resource()
  denied,     // not permitted here
  invalid,    // the argument or the object's state makes no sense
  failed,     // a user's own code, passed on; see Error::value()
  panicked,   // a fiber died of an exception
  system,     // the operating system refused; see Error::os_code()
};

enum class Resource : std::uint8_t {  // which purse was empty
  none,
  ops,
  memory,
  spawns,
  channel_ops,
  syscalls,
  tasks,
  stacks,
};

std::ostream& operator<<(std::ostream& out, Errc code);
std::ostream& operator<<(std::ostream& out, Resource resource);

// Of Error::error_code(), unless that is the operating system's own. Compares
// with std::errc where it has the same idea (timed_out, permission_denied, …).
const std::error_category& error_category() noexcept;

// Eight bytes, trivially copyable: returned in registers, stored anywhere.
class Error {
 public:
  constexpr Error(Errc code) noexcept : code_(code) {}  // NOLINT: implicit
  static constexpr Error os(int errno_value) noexcept {
    return Error(Errc::system, Resource::none, errno_value);
  }
  static constexpr Error user(int value) noexcept {
    return Error(Errc::failed, Resource::none, value);
  }
  static constexpr Error out_of(Resource resource) noexcept {
    return Error(Errc::exhausted, resource, 0);
  }

  constexpr Errc code() const noexcept { return code_; }
  constexpr int os_code() const noexcept {  // errno, if system
    return code_ == Errc::system ? detail_ : 0;
  }
  constexpr int value() const noexcept {  // the user's code, if failed
    return code_ == Errc::failed ? detail_ : 0;
  }
  constexpr Resource resource() const noexcept { return resource_; }
  // "timed_out", "exhausted: stacks", "system: Connection refused (111)"
  std::string message() const;
  std::error_code error_code() const noexcept;

  friend constexpr bool operator==(Error a, Errc b) noexcept {
    return a.code_ == b;
  }
  friend constexpr bool operator==(Error, Error) noexcept = default;
  friend std::ostream& operator<<(std::ostream& out, Error error);

 private:
  constexpr Error(Errc code, Resource resource, int detail) noexcept
      : code_(code), resource_(resource), detail_(detail) {}
  Errc code_;
  Resource resource_ = Resource::none;
  std::int32_t detail_ = 0;
};

// What value() throws. Besides this and what user code throws, weft raises only
// std::bad_alloc, where a call says so.
struct BadResult : std::exception {
  explicit BadResult(Error e) noexcept;
  const char* what() const noexcept override;  // "weft: timed_out"
  Error error;

 private:
  char what_[96];  // copying must not fail
};

template <typename T = void>
class Result;
using Status = Result<>;

namespace detail {

// What value() does without a value. value() is a template over this, so that
// files built with and without exceptions may meet in one program: theirs are
// functions with different names.
struct Throws {
  [[noreturn]] static void bad_result(Error error);
};
struct Aborts {
  [[noreturn]] static void bad_result(Error error) noexcept;
};
#if defined(__cpp_exceptions)
using OnBadResult = Throws;
#else
using OnBadResult = Aborts;
#endif

// What a stop makes of a wait. Of a fiber's end it counts as returned, also if
// value() threw it.
constexpr bool tells_of_stop(Error error) noexcept {
  return error == Errc::cancelled || error == Errc::timed_out;
}

// Of what failed: Errc{} would say that nothing did.
constexpr Error as_failure(Error error) noexcept {
  return error == Errc{} ? Error(Errc::invalid) : error;
}

template <typename T>
inline constexpr bool is_result = false;
template <typename T>
inline constexpr bool is_result<Result<T>> = true;

template <typename U>
using Bare = std::remove_cvref_t<U>;
template <typename F, typename... Args>
using Returned = Bare<std::invoke_result_t<F, Args...>>;

template <typename T, typename U>
inline constexpr bool is_other_result =
    is_result<Bare<U>> && !std::is_same_v<Bare<U>, T>;

// A U that becomes the value of a Result<T>: no error, and no other Result,
// which a bool would swallow. The cheap questions first: the last one may ask
// for Result<T>'s own constructors.
template <typename T, typename U>
concept ValueOf =
    !std::is_same_v<Bare<U>, Error> && !std::is_same_v<Bare<U>, Errc> &&
    !std::is_same_v<Bare<U>, Result<T>> && !is_other_result<T, U> &&
    !std::is_same_v<Bare<U>, std::in_place_t> && std::is_constructible_v<T, U>;

// Wraps what f returns; a void f gives a Status.
template <typename F, typename... Args>
constexpr auto wrap(F&& f, Args&&... args) {
  using U = std::remove_cv_t<std::invoke_result_t<F, Args...>>;
  if constexpr (std::is_void_v<U>) {
    std::invoke(std::forward<F>(f), std::forward<Args>(args)...);
    return Result<U>();
  } else {
    return Result<U>(std::in_place, std::invoke(std::forward<F>(f),
                                                std::forward<Args>(args)...));
  }
}

}  // namespace detail

// T may be move-only or void, not a reference.
template <typename T>
class [[nodiscard]] Result {
  static_assert(!std::is_reference_v<T>,
                "weft: Result holds values; use Result<T*> for a reference");

 public:
  using value_type = T;
  using error_type = Error;

  template <typename U = T>
  requires detail::ValueOf<T, U>
  constexpr explicit(!std::is_convertible_v<U, T>) Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  template <typename... Args>
  requires std::is_constructible_v<T, Args...>
  constexpr explicit Result(std::in_place_t, Args&&... args)
      : state_(std::in_place_index<0>, std::forward<Args>(args)...) {}
  constexpr Result(Error error) noexcept  // NOLINT: implicit
      : state_(std::in_place_index<1>, error) {}
  constexpr Result(Errc code) noexcept  // NOLINT: implicit
      : Result(Error(code)) {}

  constexpr bool has_value() const noexcept { return state_.index() == 0; }
  constexpr explicit operator bool() const noexcept { return has_value(); }

  // Only if has_value().
  constexpr T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  constexpr const T& operator*() const& noexcept {
    return *std::get_if<0>(&state_);
  }
  constexpr T&& operator*() && noexcept { return std::move(**this); }
  constexpr T* operator->() noexcept { return std::get_if<0>(&state_); }
  constexpr const T* operator->() const noexcept {
    return std::get_if<0>(&state_);
  }

  // Only if !has_value(). `invalid` if there is none, as after an assignment
  // whose move constructor threw.
  constexpr Error error() const noexcept {
    const Error* error = std::get_if<1>(&state_);
    return error != nullptr ? *error : Error(Errc::invalid);
  }

  // For callers who prefer unwinding to checking: throws BadResult. In a
  // client built with -fno-exceptions it prints the error and aborts.
  template <typename OnBad = detail::OnBadResult>
  constexpr T& value() & {
    if (!has_value()) OnBad::bad_result(error());
    return **this;
  }
  template <typename OnBad = detail::OnBadResult>
  constexpr const T& value() const& {
    if (!has_value()) OnBad::bad_result(error());
    return **this;
  }
  template <typename OnBad = detail::OnBadResult>
  constexpr T&& value() && {
    return std::move(this->template value<OnBad>());
  }

  template <typename U>
  constexpr T value_or(U&& other) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(other));
  }
  template <typename U>
  constexpr T value_or(U&& other) && {
    return has_value() ? std::move(**this)
                       : static_cast<T>(std::forward<U>(other));
  }

  // next(value) if there is one; it returns a Result.
  template <typename F>
  constexpr auto and_then(F&& next) & {
    return then(*this, std::forward<F>(next));
  }
  template <typename F>
  constexpr auto and_then(F&& next) const& {
    return then(*this, std::forward<F>(next));
  }
  template <typename F>
  constexpr auto and_then(F&& next) && {
    return then(std::move(*this), std::forward<F>(next));
  }

  // map(value) if there is one; it returns a value or nothing.
  template <typename F>
  constexpr auto transform(F&& map) & {
    return mapped(*this, std::forward<F>(map));
  }
  template <typename F>
  constexpr auto transform(F&& map) const& {
    return mapped(*this, std::forward<F>(map));
  }
  template <typename F>
  constexpr auto transform(F&& map) && {
    return mapped(std::move(*this), std::forward<F>(map));
  }

  // rescue(error) if there is no value; it returns a Result<T>.
  template <typename F>
  constexpr Result or_else(F&& rescue) const& {
    if (has_value()) return *this;
    return std::invoke(std::forward<F>(rescue), error());
  }
  template <typename F>
  constexpr Result or_else(F&& rescue) && {
    if (has_value()) return std::move(*this);
    return std::invoke(std::forward<F>(rescue), error());
  }

 private:
  template <typename Self, typename F>
  static constexpr auto then(Self&& self, F&& next) {
    using Next = detail::Returned<F, decltype(*std::forward<Self>(self))>;
    static_assert(detail::is_result<Next>, "weft: and_then() wants a Result");
    if (!self.has_value()) return Next(self.error());
    return Next(std::invoke(std::forward<F>(next), *std::forward<Self>(self)));
  }
  template <typename Self, typename F>
  static constexpr auto mapped(Self&& self, F&& map) {
    using Mapped =
        decltype(detail::wrap(std::forward<F>(map), *std::forward<Self>(self)));
    if (!self.has_value()) return Mapped(self.error());
    return detail::wrap(std::forward<F>(map), *std::forward<Self>(self));
  }

  std::variant<T, Error> state_;
};

// Nothing, or the reason why not.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  using error_type = Error;
  constexpr Result() noexcept : error_(Errc{}) {}
  constexpr Result(Error error) noexcept  // NOLINT: implicit
      : error_(error) {}
  constexpr Result(Errc code) noexcept : error_(code) {}  // NOLINT: implicit

  constexpr bool has_value() const noexcept { return error_ == Errc{}; }
  constexpr explicit operator bool() const noexcept { return has_value(); }
  constexpr void operator*() const noexcept {}
  constexpr Error error() const noexcept { return error_; }
  template <typename OnBad = detail::OnBadResult>
  constexpr void value() const {
    if (!has_value()) OnBad::bad_result(error_);
  }

  template <typename F>
  constexpr auto and_then(F&& next) const {
    using Next = detail::Returned<F>;
    static_assert(detail::is_result<Next>, "weft: and_then() wants a Result");
    return has_value() ? Next(std::invoke(std::forward<F>(next)))
                       : Next(error_);
  }
  template <typename F>
  constexpr auto transform(F&& map) const {
    using Mapped = decltype(detail::wrap(std::forward<F>(map)));
    return has_value() ? detail::wrap(std::forward<F>(map)) : Mapped(error_);
  }
  template <typename F>
  constexpr Result or_else(F&& rescue) const {
    return has_value() ? *this
                       : Result(std::invoke(std::forward<F>(rescue), error_));
  }

 private:
  Error error_;
};

constexpr Status ok() noexcept { return {}; }

namespace detail {
template <typename T>
struct Unwrap {
  using type = T;
};
template <typename T>
struct Unwrap<Result<T>> {
  using type = T;
};
template <typename T>
constexpr T take(Result<T>&& result) {
  return *std::move(result);
}
constexpr void take(Status&&) noexcept {}
}  // namespace detail

// auto answer = WEFT_TRY(task.join());   // returns the error to the caller
#define WEFT_TRY(expression)                      \
  __extension__({                                 \
    auto weft_result = (expression);              \
    if (!weft_result) return weft_result.error(); \
    ::weft::detail::take(std::move(weft_result)); \
  })

}  // namespace weft
