// weft.hpp: everything, in reading order.
//
// Contract of every suspending call, unless its comment says otherwise:
//   Suspends:  the fiber; a plain thread blocks. Always a cancel point.
//   Errors:    cancelled, timed_out; exhausted (no memory for the timer of its
//              deadline). After an error nothing has happened.
//   Ordering:  what was done before the call that ends the wait is visible.
//   Callers:   any fiber or thread, any number at once.
// try_x never suspends and is not a cancel point. Misuse prints what happened
// and the state of the runtime, then aborts.
#pragma once

// clang-format off
#include "weft/result.hpp"
#include "weft/time.hpp"
#include "weft/budget.hpp"
#include "weft/capability.hpp"
#include "weft/config.hpp"
#include "weft/runtime.hpp"
#include "weft/fiber.hpp"
#include "weft/task.hpp"
#include "weft/nursery.hpp"
#include "weft/profile.hpp"
#include "weft/combine.hpp"
#include "weft/cancel.hpp"
#include "weft/future.hpp"
#include "weft/mutex.hpp"
#include "weft/condition.hpp"
#include "weft/semaphore.hpp"
#include "weft/latch.hpp"
#include "weft/sequencer.hpp"
#include "weft/event.hpp"
#include "weft/futex.hpp"
#include "weft/channel.hpp"
#include "weft/select.hpp"
#include "weft/ordered.hpp"
#include "weft/broadcast.hpp"
#include "weft/actor.hpp"
#include "weft/wait.hpp"
#include "weft/yield_check.hpp"
// clang-format on
