// detail/body.hpp: what a fiber's body looks like and what it gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/result.hpp"

namespace weft {
class Nursery;
namespace detail {

// F and Args arrive decayed; a body runs once, so it is called as an rvalue.
template <typename F, typename... Args>
struct Body {
  static constexpr bool plain = std::is_invocable_v<F, Args...>;
  static constexpr bool scoped = std::is_invocable_v<F, Nursery&, Args...>;
  static_assert(plain || scoped,
                "weft: a fiber's body is called as f(args...) or "
                "f(Nursery&, args...); arguments are copied or moved in, so "
                "take them by value or const&, and use std::ref to borrow");
  using raw = typename std::conditional_t<
      plain, std::invoke_result<F, Args...>,
      std::conditional_t<scoped, std::invoke_result<F, Nursery&, Args...>,
                         std::type_identity<int>>>::type;
  static_assert(!std::is_reference_v<raw>,
                "weft: a fiber may not return a reference: what it refers to "
                "may be gone when the parent joins. Return a value.");
  static_assert(!std::is_same_v<raw, Error> && !std::is_same_v<raw, Errc>,
                "weft: a fiber's body that fails returns a Status or a "
                "Result<T>; an Error by itself would be a value like any "
                "other. Write -> weft::Status.");
  using type = typename Unwrap<std::decay_t<raw>>::type;
};

template <typename F, typename... Args>
using BodyOf = Body<std::decay_t<F>, std::decay_t<Args>...>;

// What is in a frame's storage once its body has ended.
enum class Outcome : std::uint8_t { none, value, error, exception };

// What the core must know of one type of body. `storage` holds the closure
// until run() has moved it out, and then the result.
struct BodyOps {
  Outcome (*run)(void* storage);  // may throw: the core catches
  void (*drop_closure)(void* storage) noexcept;
  void (*drop_value)(void* storage) noexcept;  // nullptr: nothing to do
};

inline constexpr std::size_t kStorageSize = 64;
inline constexpr std::size_t kStorageAlign = 16;

template <typename T>
inline constexpr bool kFitsFrame =
    sizeof(T) <= kStorageSize &&
    alignof(T) <= kStorageAlign&& std::is_nothrow_move_constructible_v<T>;

// One T in the storage, or on the heap if it is too large for it.
template <typename T>
struct Slot {
  template <typename... Args>
  static void make(void* storage, Args&&... args) {
    if constexpr (kFitsFrame<T>) {
      ::new (storage) T(std::forward<Args>(args)...);
    } else {
      ::new (storage)(T*)(new T(std::forward<Args>(args)...));
    }
  }
  static T& get(void* storage) noexcept {
    if constexpr (kFitsFrame<T>) {
      return *std::launder(static_cast<T*>(storage));
    } else {
      return **std::launder(static_cast<T**>(storage));
    }
  }
  static void drop(void* storage) noexcept {
    if constexpr (kFitsFrame<T>) {
      get(storage).~T();
    } else {
      delete &get(storage);
    }
  }
  // Empties the storage: it may be used for something else afterwards.
  static T take(void* storage) {
    struct Drop {
      void* storage;
      ~Drop() { drop(storage); }
    } drop_after{storage};
    return std::move(get(storage));
  }
};

// A block for a closure in the memory of a nursery, and what belongs to it.
struct ClosureBlock {
  void* block;
  void* arena;
};
void free_closure(const ClosureBlock& where, std::size_t bytes,
                  std::size_t align) noexcept;

// One closure in the storage, or in its nursery if it is too large for that.
template <typename T>
struct ClosureSlot {
  // allocate(bytes, align) -> ClosureBlock; may throw.
  template <typename Allocate, typename... Args>
  static void make(void* storage, Allocate&& allocate, Args&&... args) {
    if constexpr (kFitsFrame<T>) {
      ::new (storage) T(std::forward<Args>(args)...);
    } else {
      struct Free {  // a copy that throws leaves nothing behind
        ClosureBlock where;
        bool made = false;
        ~Free() {
          if (!made) free_closure(where, sizeof(T), alignof(T));
        }
      } unless{allocate(sizeof(T), alignof(T))};
      ::new (unless.where.block) T(std::forward<Args>(args)...);
      ::new (storage) ClosureBlock(unless.where);
      unless.made = true;
    }
  }
  static void drop(void* storage) noexcept {
    if constexpr (kFitsFrame<T>) {
      Slot<T>::drop(storage);
    } else {
      const auto where = *std::launder(static_cast<ClosureBlock*>(storage));
      static_cast<T*>(where.block)->~T();
      free_closure(where, sizeof(T), alignof(T));
    }
  }
  static T take(void* storage) {
    if constexpr (kFitsFrame<T>) {
      return Slot<T>::take(storage);
    } else {
      struct Drop {
        void* storage;
        ~Drop() { drop(storage); }
      } drop_after{storage};
      const auto* where = std::launder(static_cast<ClosureBlock*>(storage));
      return std::move(*static_cast<T*>(where->block));
    }
  }
};

template <typename T>
inline void put_result(void* storage, Result<T>&& result, Outcome& outcome) {
  if (!result) {
    ::new (storage) Error(as_failure(result.error()));
    outcome = Outcome::error;
    return;
  }
  if constexpr (!std::is_void_v<T>) {
    Slot<T>::make(storage, *std::move(result));
  }
  outcome = Outcome::value;
}

// Runs `call`, which gives T, Result<T> or nothing, and leaves it in storage.
template <typename Call>
Outcome run_into(void* storage, Call&& call) {
  using Raw = std::decay_t<std::invoke_result_t<Call>>;
  auto outcome = Outcome::value;
  if constexpr (std::is_void_v<Raw>) {
    std::forward<Call>(call)();
  } else if constexpr (std::is_same_v<Raw, typename Unwrap<Raw>::type>) {
    Slot<Raw>::make(storage, std::forward<Call>(call)());
  } else {
    put_result(storage, std::forward<Call>(call)(), outcome);
  }
  return outcome;
}

// Calls body(args...) or body(nursery, args...) in a nursery of its own;
// defined in nursery.hpp.
template <typename F, typename... Args>
decltype(auto) call_scoped(F&& f, Args&&... args);

// How with_nursery() calls its body: in files built with exceptions, what
// value() throws when a stop ends a wait is as if the body had returned it.
struct LetsPass {
  template <typename T, typename F>
  static Result<T> call(F&& body, Nursery& nursery) {
    if constexpr (std::is_void_v<std::invoke_result_t<F, Nursery&>>) {
      std::invoke(std::forward<F>(body), nursery);
      return {};
    } else {
      return Result<T>(std::invoke(std::forward<F>(body), nursery));
    }
  }
};
#if defined(__cpp_exceptions)
struct CatchesStop {
  template <typename T, typename F>
  static Result<T> call(F&& body, Nursery& nursery) {
    try {
      return LetsPass::call<T>(std::forward<F>(body), nursery);
    } catch (const BadResult& bad) {
      if (!tells_of_stop(bad.error)) throw;
      return bad.error;
    }
  }
};
using OnStop = CatchesStop;
#else
using OnStop = LetsPass;
#endif

template <typename F, typename... Args>
struct Closure {
  using Data = std::tuple<F, Args...>;
  using Value = typename Body<F, Args...>::type;

  static Outcome run(void* storage) {
    Data data = ClosureSlot<Data>::take(storage);
    return run_into(storage, [&]() -> decltype(auto) {
      return std::apply(
          [](F& f, Args&... args) -> decltype(auto) {
            if constexpr (Body<F, Args...>::plain) {
              return std::invoke(std::move(f), std::move(args)...);
            } else {
              return call_scoped(std::move(f), std::move(args)...);
            }
          },
          data);
    });
  }
  static void drop_value(void* storage) noexcept {
    if constexpr (!std::is_void_v<Value>) Slot<Value>::drop(storage);
  }

  static constexpr BodyOps kOps{
      &run, &ClosureSlot<Data>::drop,
      std::is_trivially_destructible_v<
          std::conditional_t<std::is_void_v<Value>, int, Value>>&&
              kFitsFrame<std::conditional_t<std::is_void_v<Value>, int, Value>>
          ? nullptr
          : &drop_value};
};

}  // namespace detail
}  // namespace weft
