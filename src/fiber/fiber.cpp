#include "fiber/fiber.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "fiber/family.hpp"

namespace weft::fiber {

// Headers look there: detail/here.hpp.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(offsetof(Fiber, word) == detail::kControlWord);
static_assert(offsetof(Fiber, storage) == 2 * kCacheLine);
#pragma GCC diagnostic pop

void Fiber::set_exception(std::exception_ptr what) noexcept {
  ::new (static_cast<void*>(storage.bytes)) std::exception_ptr(std::move(what));
  outcome = Outcome::exception;
}

void Fiber::run_body() noexcept {
  if (skip_body) {
    body->drop_closure(storage.bytes);
    set_error(to_errc(stop_of(*this)));
    return;
  }
  try {
    outcome = body->run(storage.bytes);
  } catch (const BadResult& bad) {
    // Whoever unwinds at the end of a wait has not failed by that any more than
    // who returns: from here on the two are one.
    if (detail::tells_of_stop(bad.error)) {
      set_error(bad.error);
    } else {
      set_exception(std::current_exception());
    }
  } catch (...) {
    // What is not C++'s own can neither be kept here nor go on: the thread is
    // the worker's. If something waited on the way here, who knows on which.
    auto thrown = std::current_exception();
    WEFT_CHECK(thrown != nullptr,
               "a fiber ends its thread, by pthread_exit() or a cancel of the "
               "thread, which other fibers need; or lets an exception of "
               "another language out. Return from its body, or throw");
    set_exception(std::move(thrown));
  }
  WEFT_CHECK(scope == nullptr || scope->covered() != this,
             "a fiber ended inside of a scope (Nursery, CancelScope, Shield) "
             "that it opened and did not close");
  if (has_extras) [[unlikely]]
    take_inherited();
}

Family& Fiber::family() const noexcept { return static_cast<Family&>(*scope); }

bool Fiber::answers_stop() noexcept {
  return outcome == Outcome::error && detail::tells_of_stop(error()) &&
         stop_of(*this) != Stop::none;
}

void Fiber::enlist() noexcept {
  // A guest waits in its hosts' place: they must be told as well. From the
  // exchange on, who tells a host finds the guest at its stack; who told it
  // before is seen by the look that follows (P4).
  for (auto* place = static_cast<Listing*>(stack->listing); place != nullptr;
       place = place->below) {
    Fiber& own = *place->fiber;
    if (!own.listed) {
      own.listed = true;
      Scope* base = own.scope;
      while (base->covered() == &own) base = base->parent();
      base->add(*place);
    }
    if (&own != this) own.word.look_again();
  }
}

void Fiber::delist() noexcept {
  scope->remove(*static_cast<Listing*>(stack->listing));
  listed = false;
}

// Who told a host while the guest was here told the guest, in vain.
void Fiber::look_as_guest() noexcept {
  enlist();
  word.look_again();
}

void Fiber::take_inherited() noexcept {
  Extras& own = *extras.load(relaxed);  // the fiber's own
  if (own.inherited == Errc{}) return;
  // Whom only a cancel ended has not failed, its children have: the family
  // hears of that when the fiber winds up.
  if (answers_stop()) return;
  const auto error = std::exchange(own.inherited, Errc{});
  auto exception = std::move(own.inherited_exception);
  if (outcome != Outcome::value) {
    // Its own failure says enough, unless it only tells that waits were ended.
    if (outcome == Outcome::exception ||
        !detail::tells_of_stop(this->error())) {
      return;
    }
  }
  drop_result();
  if (exception != nullptr) {
    set_exception(std::move(exception));
  } else {
    set_error(error);
  }
}

void Fiber::drop_result() noexcept {
  const auto was = outcome;
  outcome = Outcome::none;
  switch (was) {
    case Outcome::value:
      if (body->drop_value != nullptr) body->drop_value(storage.bytes);
      break;
    case Outcome::exception: {
      using Pointer = std::exception_ptr;
      exception().~Pointer();
      break;
    }
    case Outcome::error:
    case Outcome::none:
      break;
  }
}

void Fiber::drop_locals() noexcept {
  // A destructor may make new locals: until none is left.
  Extras& own = *extras.load(relaxed);  // the fiber's own
  while (Local* local = own.locals) {
    own.locals = local->next;
    local->drop(local->value);
    delete local;
  }
  if (own.account != nullptr) own.account->close();
}

void Fiber::drop_extras() noexcept {
  Extras* const own = extras.load(relaxed);  // nobody else is left
  Name* name = own->name.load(relaxed);      // nobody else is left
  while (name != nullptr) std::free(std::exchange(name, name->older));
  delete own;
  extras.store(nullptr, relaxed);  // nobody else is left
  has_extras = false;
}

const char* Fiber::name() const noexcept {
  Extras* const own = extras.load(acquire);  // [name]
  if (own == nullptr) return "";
  Name* name = own->name.load(acquire);  // [name]
  return name != nullptr ? name->text() : "";
}

bool Fiber::inherit_failure(Error error,
                            std::exception_ptr exception) noexcept {
  Extras* own = make_extras();
  if (own == nullptr) return false;
  if (own->inherited == Errc{}) {
    own->inherited = error;
    own->inherited_exception = std::move(exception);
  }
  return true;
}

Extras* Fiber::make_extras() noexcept {
  Extras* own = extras.load(relaxed);  // one writer
  if (own == nullptr) {
    own = new (std::nothrow) Extras();
    extras.store(own, release);  // [name]
    has_extras = own != nullptr;
  }
  return own;
}

bool Fiber::set_name(std::string_view text) noexcept {
  Extras* own = make_extras();
  if (own == nullptr) return false;
  text = text.substr(0, kLongestName);
  auto* name = static_cast<Name*>(std::malloc(size_of_name(text)));
  if (name == nullptr) return false;
  name->older = own->name.load(relaxed);  // one writer
  std::memcpy(name->text(), text.data(), text.size());
  name->text()[text.size()] = '\0';
  own->name.store(name, release);  // [name]
  return true;
}

std::int64_t ControlWord::spec_value() const noexcept {
  const auto w = word_.load(relaxed);  // a snapshot
  switch (state(w)) {
    case State::free:
      return 0;
    case State::reserved:
      return -5;
    case State::fresh:
    case State::queued:
      return -1;
    case State::running:
    case State::parking:
      return static_cast<std::int64_t>((w >> kOwnerShift) & kOwnerMask);
    case State::parked:
      return -2;
    case State::hosting:
      return -3;
    case State::done:
      return -4;
  }
  return 0;
}

Logical ControlWord::logical() const noexcept {
  switch (state_now()) {
    case State::free:
    case State::reserved:
      return Logical::init;
    case State::fresh:
    case State::queued:
      return Logical::runnable;
    case State::running:
      return Logical::running;
    case State::parking:
      return Logical::parking;
    case State::parked:
    case State::hosting:
      return Logical::parked;
    case State::done:
      return Logical::done;
  }
  return Logical::init;
}

}  // namespace weft::fiber
