#include <array>
#include <cstdio>
#include <cstdlib>
#include <ostream>

#include <weft/result.hpp>

namespace weft {

namespace {

constexpr std::array kErrcNames = {
    "ok",     "cancelled", "timed_out", "closed",   "would_block", "exhausted",
    "denied", "invalid",   "failed",    "panicked", "system"};
constexpr std::array kResourceNames = {"none",   "ops",         "memory",
                                       "spawns", "channel_ops", "syscalls",
                                       "tasks",  "stacks"};

// A value from elsewhere (C, a cast) may lie outside the enumeration.
template <std::size_t N>
const char* name(const std::array<const char*, N>& names, std::size_t index) {
  return index < N ? names[index] : "unknown";
}

const char* name(Errc code) {
  return name(kErrcNames, static_cast<std::size_t>(code));
}
const char* name(Resource resource) {
  return name(kResourceNames, static_cast<std::size_t>(resource));
}

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "weft"; }
  std::string message(int code) const override {
    return weft::name(kErrcNames, static_cast<std::size_t>(code));
  }
  std::error_condition default_error_condition(
      int code) const noexcept override {
    switch (static_cast<Errc>(code)) {
      case Errc::cancelled:
        return std::errc::operation_canceled;
      case Errc::timed_out:
        return std::errc::timed_out;
      case Errc::closed:
        return std::errc::broken_pipe;
      case Errc::would_block:
        return std::errc::operation_would_block;
      case Errc::exhausted:
        return std::errc::resource_unavailable_try_again;
      case Errc::denied:
        return std::errc::permission_denied;
      case Errc::invalid:
        return std::errc::invalid_argument;
      default:
        return {code, *this};
    }
  }
};

}  // namespace

const std::error_category& error_category() noexcept {
  static const Category category;
  return category;
}

std::ostream& operator<<(std::ostream& out, Errc code) {
  return out << name(code);
}
std::ostream& operator<<(std::ostream& out, Resource resource) {
  return out << name(resource);
}
std::ostream& operator<<(std::ostream& out, Error error) {
  return out << error.message();
}

std::string Error::message() const {
  std::string text = name(code_);
  if (code_ == Errc::system) {
    text += ": " + std::generic_category().message(detail_) + " (" +
            std::to_string(detail_) + ")";
  } else if (code_ == Errc::failed) {
    text += ": " + std::to_string(detail_);
  } else if (resource_ != Resource::none) {
    text += ": ";
    text += name(resource_);
  }
  return text;
}

std::error_code Error::error_code() const noexcept {
  if (code_ == Errc::system) return {detail_, std::system_category()};
  return {static_cast<int>(code_), error_category()};
}

BadResult::BadResult(Error e) noexcept : error(e) {
  std::snprintf(what_, sizeof what_, "weft: %s", e.message().c_str());
}

const char* BadResult::what() const noexcept { return what_; }

namespace detail {

void Aborts::bad_result(Error error) noexcept {
  std::fprintf(stderr, "%s\n", BadResult(error).what());
  std::abort();
}

void Throws::bad_result(Error error) {
#if defined(__cpp_exceptions)
  throw BadResult(error);
#else
  Aborts::bad_result(error);
#endif
}

}  // namespace detail

}  // namespace weft
