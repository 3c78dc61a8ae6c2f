#!/usr/bin/env python3
"""What has one door is done nowhere else.

One row a door: what is done, how that looks in the code, and the files or
folders of src/ and include/ that may do it. A file that needs a door of its own
gets it here, where a reviewer sees it.
"""
import re

import lint

DOORS = [
    ("begins a wait", r"\bbegin_(wait|park)\(",
     ["src/fiber/control_word.hpp", "src/wait/wait.hpp", "src/wait/park.cpp"]),
    ("leaves the stack of a fiber", r"\bsuspend_current\(",
     ["src/sched/", "src/wait/wait.hpp", "src/wait/park.cpp"]),
    ("commits a park", r"\.commit\(",
     ["src/sched/", "src/wait/wait.cpp", "src/wait/park.cpp"]),
    # A source by its node, a deadline by its timer or the thread that slept.
    ("claims a wait", r"\.claim\(",
     ["src/fiber/fiber.hpp", "src/sched/worker.cpp", "src/wait/wait.cpp"]),
    ("settles a wait", r"\bsettle\(",
     ["src/fiber/wait_node.hpp", "src/fiber/fiber.hpp", "src/sched/finish.cpp",
      "src/sync/wait_queue.hpp", "src/wait/wait_list.cpp"]),
    ("unparks a fiber", r"\bword\.unpark\(",
     ["src/wait/park.cpp", "src/sched/dispatch.cpp"]),  # there: stray_wake()
    ("pushes to a run queue", r"\bpush_local\(|\bqueues\.\w+\.push|"
     r"\bglobal\.push", ["src/sched/"]),
    ("knows the runtimes of the process",
     r"\bRegistry\b|\bregister_scheduler\b|\bdump_all\b", ["src/runtime/"]),
    ("has a thread-local", r"\bthread_local\b|\b__thread\b|weft_tls_carrier",
     ["include/weft/detail/here.hpp", "src/sched/carrier.",
      "src/sched/worker.cpp", "src/sched/simulator.cpp",
      "src/base/model_seam.cpp", "src/time/clock.cpp",  # there: virtual time
      "src/diag/charge_new.cpp", "src/diag/mutex_watch.cpp"]),
    ("reads the environment", r"\bgetenv\b",
     ["src/runtime/config.cpp", "src/sim/explore.cpp",
      "src/sync/channel.cpp"]),  # channels know of no runtime
]
STRING = re.compile(r'"(\\.|[^"\\])*"')


def check(root):
    doors = [(what, re.compile(how), tuple(may)) for what, how, may in DOORS]
    for path in lint.files(root, ["src", "include"]):
        name = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = STRING.sub('""', lint.code_of(line))
            for what, how, may in doors:
                if how.search(code) and not name.startswith(may):
                    yield f"{path}:{number}: {what}, but has no door to it"


if __name__ == "__main__":
    lint.main(check, __doc__)
