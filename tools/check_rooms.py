#!/usr/bin/env python3
"""A room includes itself and lower floors; public headers only public ones.

  src/<room>/     "room/file.hpp" of its own room or a lower floor; <weft/...>
  include/weft/   "weft/..." or <weft/...>: other public headers
"""
import re

import lint

FLOORS = {
    "base": 0,
    "context": 1, "stack": 1, "queue": 1, "time": 1,
    "fiber": 2,
    "sched": 3,
    "wait": 4,
    "sync": 5, "scope": 5, "io": 5, "diag": 5, "sim": 5,
    "runtime": 6,
    "capi": 7,
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield f"{path}:{number}", match[1] == '"', match[2]


def check_room(root, room):
    for path in lint.files(root / "src", [room]):
        for where, quoted, name in includes(path):
            first = name.split("/")[0]
            if first == "weft":
                if quoted:
                    yield f"{where}: write <{name}>: it is a public header"
                if not (root / "include" / name).is_file():
                    yield f"{where}: there is no public header {name}"
            elif not quoted:
                if (root / "src" / name).is_file():
                    yield f'{where}: write "{name}": it is an internal header'
            elif first not in FLOORS or "/" not in name:
                yield f'{where}: write "room/file.hpp", not "{name}"'
            elif not (root / "src" / name).is_file():
                yield f"{where}: there is no header src/{name}"
            elif first != room and FLOORS[first] >= FLOORS[room]:
                yield (f"{where}: {room} (floor {FLOORS[room]}) must not "
                       f"know {first} (floor {FLOORS[first]})")


def check_public(root):
    for path in lint.files(root, ["include"]):
        for where, quoted, name in includes(path):
            if name.startswith("weft/"):
                if not (root / "include" / name).is_file():
                    yield f"{where}: there is no public header {name}"
            elif quoted or (root / "src" / name).is_file():
                yield f'{where}: a public header must not include "{name}"'


def check(root):
    for folder in sorted((root / "src").iterdir()):
        if folder.name not in FLOORS:
            yield f"{folder}: has no floor; see FLOORS in check_rooms.py"
        else:
            yield from check_room(root, folder.name)
    yield from check_public(root)


if __name__ == "__main__":
    lint.main(check, __doc__)
