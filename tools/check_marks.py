#!/usr/bin/env python3
"""Nothing left open, nothing too long, no std threads outside base and detail.

std's atomics, threads and locks are reached through src/base, so that checkers
can stand in for them; include/weft/detail may name them, too.
"""
import re

import lint

FOLDERS = ["src", "include", "tests", "models", "bench", "examples", "tools",
           "cmake"]
SHORT = ("src/", "include/", "tests/", "models/", "bench/", "examples/",
         "tools/")
SUFFIXES = lint.CODE + (".py", ".sh", ".cmake", ".txt", ".in")
LIMIT = 400
COLUMNS = 80
OPEN = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3])
                  + r")\b")
THREADS = re.compile(
    r"\bstd::(atomic\w*|j?thread\b|\w*mutex\b|condition_variable\w*)")
MAY_THREAD = ("src/base/", "include/weft/detail/")


def check(root):
    for path in lint.files(root, FOLDERS, SUFFIXES):
        name = path.relative_to(root).as_posix()
        lines = path.read_text().splitlines()
        if name.startswith(SHORT) and len(lines) > LIMIT:
            yield f"{path}: has {len(lines)} lines; the limit is {LIMIT}"
        guarded = (name.startswith(("src/", "include/")) and
                   not name.startswith(MAY_THREAD))
        for number, line in enumerate(lines, 1):
            if match := OPEN.search(line):
                yield f"{path}:{number}: {match[1]} left open"
            # clang-format keeps code within the columns, but not comments.
            if (path.suffix in lint.CODE and "//" in line and
                    len(line) > COLUMNS and "://" not in line):
                yield f"{path}:{number}: comment past column {COLUMNS}"
            if not guarded:
                continue
            if match := THREADS.search(lint.code_of(line)):
                yield (f"{path}:{number}: std::{match[1]} outside "
                       f"{' and '.join(MAY_THREAD)}")


if __name__ == "__main__":
    lint.main(check, __doc__)
