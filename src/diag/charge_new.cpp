// charge_new.cpp: what a metered fiber takes from the heap is paid for.
//
// Not a part of the library but beside it: a program that links
// weft_charge_new has operator new and delete from here. A metered fiber pays
// the bytes of each block, as large as the allocator made it, and has them back
// for each that it frees; out of memory of its own it gets std::bad_alloc, as
// it would at the end of the machine's. Nobody waits here: a caller of new may
// hold anything. Other fibers, and threads, pay nothing.
//
// What is freed by another fiber than paid for it is that one's: a message that
// moves through a channel takes its bytes along. All together, in the process,
// get back no more than all have paid: so blocks that came from somebody who
// pays nothing make no memory, but for what others have paid for and will never
// get back, as of a block that was freed by a thread.

#include <malloc.h>

#include <cstdlib>
#include <new>

#include "sched/carrier.hpp"
#include "wait/charge.hpp"

namespace {

using weft::fiber::Fiber;
using weft::sched::Carrier;

// Set while this thread asks: what that allocates is nobody's.
thread_local constinit bool asking = false;

// By whoever has not got it back.
constinit weft::Atomic<std::size_t> paid_for{0};

// The fiber that pays here, nullptr if nobody does.
Fiber* payer(Carrier*& here) noexcept {
  here = asking ? nullptr : weft::sched::carrier_or_null();
  if (here == nullptr || here->worker == nullptr) return nullptr;
  Fiber* const current = here->current;
  return current != nullptr && current->word.is_metered() ? current : nullptr;
}

bool charge(std::size_t bytes) noexcept {
  Carrier* here = nullptr;
  Fiber* const fiber = payer(here);
  if (fiber == nullptr) return true;
  asking = true;
  here->hold(&asking, __builtin_return_address(0));  // nobody else runs here
  const bool paid =
      weft::waiting::charge(*fiber, {0, weft::Resource::memory, bytes},
                            /*may_wait=*/false)
          .has_value();
  here->let_go();
  asking = false;
  if (paid) paid_for.fetch_add(bytes, weft::relaxed);  // a sum
  return paid;
}

void refund(std::size_t bytes) noexcept {
  Carrier* here = nullptr;
  Fiber* const fiber = payer(here);
  if (fiber == nullptr) return;
  std::size_t all = paid_for.load(weft::relaxed);  // a sum
  std::size_t part = 0;
  do {
    part = all < bytes ? all : bytes;
  } while (!paid_for.compare_exchange_weak(all, all - part, weft::relaxed,
                                           weft::relaxed));  // a sum
  weft::waiting::Purse::of(*fiber)->put_memory(part);
}

// dear: there is such a block, and the fiber cannot pay for it.
void* take(std::size_t bytes, std::size_t align, bool& dear) noexcept {
  if (bytes == 0) bytes = 1;
  void* block = nullptr;
  if (align <= alignof(std::max_align_t)) {
    block = std::malloc(bytes);
  } else if (::posix_memalign(&block, align, bytes) != 0) {
    block = nullptr;
  }
  if (block == nullptr || charge(::malloc_usable_size(block))) return block;
  std::free(block);
  dear = true;
  return nullptr;
}
void* take(std::size_t bytes, std::size_t align) noexcept {
  bool dear = false;
  return take(bytes, align, dear);
}

void* take_or_throw(std::size_t bytes, std::size_t align) {
  for (;;) {
    bool dear = false;
    if (void* const block = take(bytes, align, dear)) return block;
    const auto handler = std::get_new_handler();  // frees the machine's memory
    if (handler == nullptr || dear) throw std::bad_alloc();
    handler();
  }
}

void give(void* block) noexcept {
  if (block == nullptr) return;
  refund(::malloc_usable_size(block));
  std::free(block);
}

constexpr std::size_t kUsual = alignof(std::max_align_t);

}  // namespace

extern "C" const bool weft_charge_new = true;  // for the linker: take this file

void* operator new(std::size_t n) { return take_or_throw(n, kUsual); }
void* operator new[](std::size_t n) { return take_or_throw(n, kUsual); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return take(n, kUsual);
}
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return take(n, kUsual);
}
void* operator new(std::size_t n, std::align_val_t a) {
  return take_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return take_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, std::align_val_t a,
                   const std::nothrow_t&) noexcept {
  return take(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a,
                     const std::nothrow_t&) noexcept {
  return take(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { give(p); }
void operator delete[](void* p) noexcept { give(p); }
void operator delete(void* p, std::size_t) noexcept { give(p); }
void operator delete[](void* p, std::size_t) noexcept { give(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete(void* p, std::align_val_t) noexcept { give(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  give(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  give(p);
}
void operator delete(void* p, std::align_val_t,
                     const std::nothrow_t&) noexcept {
  give(p);
}
void operator delete[](void* p, std::align_val_t,
                       const std::nothrow_t&) noexcept {
  give(p);
}
