// registry.hpp: the runtimes of this process, for reports only.
//
// Nothing is ever looked up here to get work done: a fiber reaches its runtime
// through itself. The crash dump and the overflow report need the list.
#pragma once

#include "sched/scheduler.hpp"

namespace weft::runtime {

void register_scheduler(sched::Scheduler& scheduler);  // may throw bad_alloc
void unregister_scheduler(sched::Scheduler& scheduler) noexcept;
// Any thread. The state of every runtime to stderr.
void dump_all() noexcept;

}  // namespace weft::runtime
