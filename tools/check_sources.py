#!/usr/bin/env python3
"""Every source file is listed in the CMakeLists.txt that should build it."""
import re

import lint

# CMakeLists.txt of this folder names all sources below these folders.
LISTS = {
    ".": ["src"],
    "tests": ["tests/unit", "tests/stress", "tests/regress", "tests/corpus",
              "tests/refused", "tests/support"],
    "models": ["models"],
    "bench": ["bench"],
    "examples": ["examples"],
}
# Other runtimes, built by their own means.
ELSEWHERE = {"bench/peers"}


def named_in(path):
    """The words of a CMakeLists.txt, without its comments."""
    if not path.is_file():
        return set()
    return set(re.findall(r"[^\s()\"]+", re.sub(r"#.*", "", path.read_text())))


def check(root):
    for home, folders in LISTS.items():
        cmake = root / home / "CMakeLists.txt"
        words = named_in(cmake)
        for path in lint.files(root, folders, (".cpp", ".c", ".S")):
            if any(path.is_relative_to(root / other) for other in ELSEWHERE):
                continue
            name = path.relative_to(root / home).as_posix()
            # in examples the name 01_hello stands for tutorial/01_hello.cpp
            if name in words or (home == "examples" and path.stem in words):
                continue
            yield f"{path}: is not listed in {cmake}"


if __name__ == "__main__":
    lint.main(check, __doc__)
