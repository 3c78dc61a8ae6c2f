#!/usr/bin/env python3
"""Every header compiles alone: the public ones without src/ in sight.

The compiler is $CXX, or g++. A .h is compiled as C99 and as C++.
"""
import concurrent.futures
import os
import subprocess

import lint

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion",
            "-Werror"]


def jobs(root):
    for path in lint.files(root, ["include"], (".hpp", ".h")):
        name = path.relative_to(root / "include")
        yield path, name, ["-x", "c++", "-std=c++20"], ["include"]
        if path.suffix == ".h":
            yield path, name, ["-x", "c", "-std=c99"], ["include"]
    for path in lint.files(root, ["src"], (".hpp", ".h")):
        name = path.relative_to(root / "src")
        yield path, name, ["-x", "c++", "-std=c++20"], ["include", "src"]
    for path in lint.files(root, ["models"], (".hpp", ".h")):
        name = path.relative_to(root / "models")
        yield (path, name, ["-DWEFT_MODEL", "-x", "c++", "-std=c++20"],
               ["include", "src", "models"])


def compile_alone(root, path, name, language, folders):
    compiler = os.environ.get("CXX", "g++").split()
    result = subprocess.run(
        [*compiler, *language, *WARNINGS, "-fsyntax-only",
         *(f"-I{root / folder}" for folder in folders), "-"],
        input=f'#include "{name}"\n', capture_output=True, text=True,
        check=False)
    if result.returncode == 0:
        return None
    how = language[-1].removeprefix("-std=")
    return f"{path}: does not compile alone as {how}\n{result.stderr}"


def check(root):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        work = [pool.submit(compile_alone, root, *job) for job in jobs(root)]
        yield from filter(None, (future.result() for future in work))


if __name__ == "__main__":
    lint.main(check, __doc__)
