// future.cpp: the public face of futures, futexes and sequencers.

#include <algorithm>
#include <memory>

#include "base/check.hpp"
#include "sync/about_to.hpp"
#include "sync/core_in.hpp"
#include "sync/futex_core.hpp"
#include "sync/future_access.hpp"
#include "sync/sequencer_core.hpp"
#include <weft/futex.hpp>
#include <weft/future.hpp>
#include <weft/sequencer.hpp>

namespace weft {

using sched::Op;
using sync::core_in;
using sync::FutexCore;
using sync::FutureCore;
using sync::SequencerCore;
using sync::SequencerWait;

AnyFuture::~AnyFuture() { core_in<FutureCore>(core_).check_unused(); }

bool AnyFuture::is_set() const noexcept {
  sched::interleave(Op::read, this);
  return core_in<FutureCore>(core_).is_set();
}

bool AnyFuture::subscribe(Callback& callback) noexcept {
  return core_in<FutureCore>(core_).subscribe(callback);
}

void AnyFuture::complete(Error error) noexcept {
  sched::interleave(Op::signal, this);
  core_in<FutureCore>(core_).set(error);
}

Status AnyFuture::await(Deadline deadline) {
  return core_in<FutureCore>(core_).wait(deadline);
}

void AnyFuture::fail(Error error) noexcept {
  WEFT_CHECK(error != Errc{}, "a future is to fail with no error");
  complete(error);
}

Status AnyFuture::result() const noexcept {
  return core_in<FutureCore>(core_).result();
}

void AnyFuture::renew() noexcept { core_in<FutureCore>(core_).reset(); }

Result<std::size_t> wait_any(std::span<AnyFuture* const> futures,
                             Deadline deadline) {
  constexpr std::size_t kOnStack = 16;
  if (futures.empty()) return Errc::invalid;
  FutureCore* few[kOnStack];
  fiber::WaitNode few_nodes[kOnStack];
  std::unique_ptr<FutureCore*[]> many;
  std::unique_ptr<fiber::WaitNode[]> many_nodes;
  std::span<FutureCore*> cores(few, std::min(futures.size(), kOnStack));
  std::span<fiber::WaitNode> nodes(few_nodes);
  if (futures.size() > kOnStack) {
    many.reset(new (std::nothrow) FutureCore*[futures.size()]);
    many_nodes.reset(new (std::nothrow) fiber::WaitNode[futures.size()]);
    if (many == nullptr || many_nodes == nullptr) {
      return Error::out_of(Resource::memory);
    }
    cores = {many.get(), futures.size()};
    nodes = {many_nodes.get(), futures.size()};
  }
  std::ranges::transform(futures, cores.begin(), [](AnyFuture* future) {
    return &detail::FutureAccess::core(*future);
  });
  return FutureCore::wait_any(cores, nodes, deadline);
}

Futex::~Futex() {
  WEFT_CHECK(core_in<FutexCore>(core_).unused(),
             "a Futex is destroyed while somebody waits for it");
}

std::uint64_t Futex::get() const noexcept {
  sched::interleave(Op::read, this);
  return core_in<FutexCore>(core_).value();
}

Status Futex::wait(std::uint64_t token, Deadline deadline) {
  if (const auto end = sync::cancel_point(this); !end) return end;
  auto& core = core_in<FutexCore>(core_);
  return core.value() >= token ? Status() : core.wait_slow(token, deadline);
}

Status Futex::wait(Deadline deadline) { return wait(get() + 1, deadline); }

void Futex::post() noexcept {
  sched::interleave(Op::signal, this);
  core_in<FutexCore>(core_).post();
}

Sequencer::Sequencer(std::uint64_t start) noexcept {
  sync::make_core<SequencerCore>(core_, start);
}

Sequencer::~Sequencer() {
  WEFT_CHECK(
      core_in<SequencerCore>(core_).unused(),
      "a Sequencer or an Event is destroyed while somebody waits for it");
}

std::uint64_t Sequencer::value() const noexcept {
  sched::interleave(Op::read, this);
  return core_in<SequencerCore>(core_).value();
}

Status Sequencer::wait(std::uint64_t token, Deadline deadline) {
  if (const auto end = sync::cancel_point(this); !end) return end;
  return core_in<SequencerCore>(core_).wait(token, deadline);
}

void Sequencer::wait(std::uint64_t token, Future& done) noexcept {
  sched::interleave(sched::carrier(), Op::wait, this);
  core_in<SequencerCore>(core_).wait(token, core_in<SequencerWait>(done.wait_));
}

void Sequencer::increment() noexcept {
  sched::interleave(sched::carrier(), Op::signal, this);
  core_in<SequencerCore>(core_).increment();
}

void Sequencer::advance(std::uint64_t value) noexcept {
  sched::interleave(sched::carrier(), Op::signal, this);
  core_in<SequencerCore>(core_).advance(value);
}

Sequencer::Future::Future() noexcept {
  sync::make_core<SequencerWait>(wait_, detail::FutureAccess::core(*this));
}

Sequencer::Future::~Future() {
  WEFT_CHECK(core_in<SequencerWait>(wait_).is_idle(),
             "a Sequencer's Future is destroyed while it waits: cancel() it");
}

void Sequencer::Future::reset() noexcept {
  auto& wait = core_in<SequencerWait>(wait_);
  WEFT_CHECK(wait.is_idle(),
             "a Sequencer's Future is reset while it waits: cancel() it");
  weft::Future<>::reset();
  wait.state.store(SequencerWait::State::idle, relaxed);  // nobody knows it
}

void Sequencer::Future::cancel() noexcept {
  sched::interleave(sched::carrier(), Op::signal, this);
  core_in<SequencerWait>(wait_).cancel();
}

}  // namespace weft
