#!/usr/bin/env python3
"""What docs/conformance.md calls done is shown by a test that exists.

Rows look like `| R-... | name | file | test | status |`. A row with status
`done` or `otherwise` names existing files and at least one test, as Suite.Name
or lint_name; several are separated by commas or <br>. Every requirement has one
row.
"""
import re

import lint

TABLE = "docs/conformance.md"
ROW = re.compile(r"^\|\s*(R-[\w-]+)\s*\|")
LINTS = "tests/lints.cmake"
LINT = re.compile(r"^weft_lint\((\w+)", re.M)
SHOWN = ("done", "otherwise")
TEST = re.compile(
    r"\b(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)\s*\)")


def tests(root):
    """All tests as Suite.Name, without the disabled ones, and all lints."""
    if (root / LINTS).is_file():
        yield from LINT.findall((root / LINTS).read_text())
    for path in lint.files(root, ["tests"], (".cpp",)):
        for suite, name in TEST.findall(path.read_text()):
            if not f"{suite}{name}".count("DISABLED_"):
                yield f"{suite}.{name}"


def entries(cell):
    """The entries of a cell, without marks: `a`, `b`<br>c gives a, b, c."""
    words = re.split(r",|<br\s*/?>|\s", cell)
    return [word.strip("`*_ ") for word in words if word.strip("`*_ -–—")]


def check_row(root, cells, known):
    _, _, file_cell, test_cell, _ = cells
    for name in entries(file_cell):
        if not (root / name).exists():
            yield f"names the file {name}, which does not exist"
    named = entries(test_cell)
    if not named:
        yield "is shown by no test"
    for name in named:
        if name not in known:
            yield f"names the test {name}, which does not exist"


def check(root):
    table = root / TABLE
    if not table.is_file():
        yield f"{table}: is missing"
        return
    known = set(tests(root))
    seen = set()
    for number, line in enumerate(table.read_text().splitlines(), 1):
        match = ROW.match(line)
        if not match:
            continue
        where = f"{table}:{number}: {match[1]}"
        if match[1] in seen:
            yield f"{where} has a second row"
        seen.add(match[1])
        cells = [cell.strip()
                 for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if len(cells) != 5:
            yield f"{where} has {len(cells)} cells, not 5"
        elif cells[4].strip("`* ").lower() in SHOWN:
            for problem in check_row(root, cells, known):
                yield f"{where} {problem}"


if __name__ == "__main__":
    lint.main(check, __doc__)
