// plain_thread.hpp: a thread of a model that waits as every plain thread does.
//
// The checker keeps weft_tls_carrier apart for each thread of a model, so the
// real code below wait(), join and park finds its proxy here.
#pragma once

#include "checker/program.hpp"
#include "sched/carrier.hpp"

namespace weft::model {

// Made by Program::make() before the threads run.
struct PlainThread {
  sched::Carrier carrier;
  fiber::Fiber proxy;

  PlainThread() {
    proxy.proxy = true;
    proxy.storage.wake.store(0, relaxed);  // nobody knows it yet
    proxy.id.store(1, relaxed);            // nobody knows it yet
    proxy.word.reserve();
    proxy.word.publish();
    (void)proxy.word.start(0);
    carrier.current = &proxy;
  }
  // First in the body of its thread.
  void begin() { weft_tls_carrier = &carrier; }
  // Any thread of the model.
  void cancel() {
    if (proxy.word.cancel() == fiber::Unparked::owns) {
      sched::make_runnable(proxy);
    }
  }
};

// The clock is no part of a model: a deadline that has passed may be noticed
// at each look at the clock, early or late in the wait.
inline Deadline passed() {
  return Deadline(Clock::time_point(Clock::duration(1)));
}

}  // namespace weft::model
