// fibers.hpp: how the Boost.Fiber peer starts a fiber, and its knobs.
//
// Environment: BF_STACK=fixed|pooled|protected  BF_STACK_SIZE=bytes
//              BF_LAUNCH=post|dispatch  BF_SUSPEND=0|1 (idle work_stealing)
#pragma once

#include <boost/fiber/all.hpp>
#include <utility>

#include "../common/peer.hpp"

namespace bf = boost::fibers;
using peer::i64;
using peer::Run;

enum class Stack { standard, fixed, pooled, guarded };
struct Knobs {
  Stack stack = Stack::standard;  // 128 KiB from malloc, the library's default
  std::size_t size = 16384;       // of all but the standard stack
  bf::launch launch = bf::launch::post;
  bool suspend = false;  // an idle work_stealing thread sleeps
};
inline Knobs knobs;

template <typename F>
bf::fiber go(F body) {
  static boost::context::pooled_fixedsize_stack pool(knobs.size, 64);
  switch (knobs.stack) {
    case Stack::fixed:
      return bf::fiber(knobs.launch, std::allocator_arg,
                       bf::fixedsize_stack(knobs.size), std::move(body));
    case Stack::pooled:  // on one thread only
      return bf::fiber(knobs.launch, std::allocator_arg, pool, std::move(body));
    case Stack::guarded:
      return bf::fiber(knobs.launch, std::allocator_arg,
                       bf::protected_fixedsize_stack(knobs.size),
                       std::move(body));
    case Stack::standard:
      break;
  }
  return bf::fiber(knobs.launch, std::move(body));
}

// channels.cpp
void pingpong(const Run&);
void spsc(const Run&);
void mpmc(const Run&);
void skynet_bench(const Run&);
void ring(const Run&);
void sieve(const Run&);
