#!/usr/bin/env python3
"""The library has no writable global but those named here.

  check_globals.py LIBRARY      libweft.a; asks nm

None of them leads to a runtime to get work done: a fiber reaches its own
through itself. Constants (kName) are not writable.
"""
import re

import lint

ALLOWED = {
    # The thread below a fiber: src/sched/carrier.cpp.
    "weft_tls_carrier",
    "weft::sched::adopt_plain_thread()::thread",
    "weft::sched::(anonymous namespace)::ended",
    "weft::sched::(anonymous namespace)::Proxies::get()::all",
    # For reports: the crash dump, the handler of a stack overflow.
    "weft::runtime::(anonymous namespace)::Registry::get()::all",
    "weft::base::(anonymous namespace)::crash_dump",
    "weft::stack::(anonymous namespace)::describe_owner",
    "weft::stack::(anonymous namespace)::former_bus",
    "weft::stack::(anonymous namespace)::former_known",
    "weft::stack::(anonymous namespace)::former_segv",
    "weft::stack::(anonymous namespace)::install_lock",
    "weft::stack::(anonymous namespace)::first_chunk",
    "weft::stack::(anonymous namespace)::free_records",
    "weft::stack::(anonymous namespace)::last_chunk",
    "weft::stack::(anonymous namespace)::records_in_last",
    "weft::stack::(anonymous namespace)::registry_lock",
    "weft::fiber::(anonymous namespace)::taken",
    # How often a fiber was given up: what it had opened was anybody's. Whose
    # frames are those that nobody can free.
    "weft::fiber::(anonymous namespace)::lost_fibers",
    "weft::sched::(anonymous namespace)::heir()::it",
    # How often anything was stopped: who looked since need not look again.
    "weft::fiber::stops_begun()::line",
    # What the environment says of channels, which know of no runtime.
    "weft::detail::(anonymous namespace)::is_lock_free_wanted()::wanted",
    # Who waits for which lock. Not in release builds.
    "weft::sync::WaitGraph::get()::graph",
    # Tests: what the system refuses. Not in release builds.
    "weft::base::(anonymous namespace)::faults",
    "weft::base::(anonymous namespace)::places",
    "weft::base::(anonymous namespace)::disturbed",
    "weft::base::(anonymous namespace)::lots",
    "weft::base::(anonymous namespace)::strays",
    # What the process may use, and how much of it is used.
    "weft::stack::(anonymous namespace)::mprotect_guards",
    # The checker of a thread that runs a model; the model build only.
    "weft::base::(anonymous namespace)::current_seam",
    # What failed schedules left, for good.
    "weft::detail::Explorer::abandon_world()::kept",
    # The clock of a thread that simulates.
    "weft::(anonymous namespace)::virtual_now",
    # Asked of the system once.
    "weft::base::membarrier_registered",
    "weft::base::(anonymous namespace)::registered()::done",
    "weft::stack::default_mapping_budget()::budget",
    "weft::stack::madvise_guards_work()::works",
    "weft::stack::page_size()::size",
    "weft::error_category()::category",
}
GUARD = "guard variable for "
WRITABLE = re.compile(r"^\.t?(data|bss)\b(?!\.rel\.ro)")
MADE_BY_THE_COMPILER = re.compile(r"^(DW\.ref\.|\.L|__odr_asan)")
CONSTANT = re.compile(r"(^|::)k[A-Z]\w*$")


def globals_of(table):
    """The names of writable objects in the output of nm -C -f sysv."""
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 7 and WRITABLE.match(cells[6]):
            yield cells[0].removeprefix(GUARD)


def check(table):
    for name in sorted(set(globals_of(table)) - ALLOWED):
        if not (MADE_BY_THE_COMPILER.match(name) or CONSTANT.search(name)):
            yield f"{name}: a writable global; see tools/check_globals.py"


if __name__ == "__main__":
    lint.main_of_library(check, __doc__, ["-C", "-f", "sysv"],
                         lambda table: "weft_tls_carrier" in globals_of(table))
