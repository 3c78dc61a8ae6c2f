#!/usr/bin/env python3
"""Puts the tables of a model run into docs/verification.md.

usage: verification.py TABLES [PAGE]

TABLES is what `weft-models --page` wrote. Seconds differ from run to run: if
nothing else does, the page stays as it is. Ends with 1 if the page was out of
date, and is not any more.
"""
import pathlib
import re
import sys

BEGIN = "<!-- tables: begin -->"
END = "<!-- tables: end -->"
ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = re.compile(r"^\d+\.\d$")


def without_seconds(text):
    """The cells of each line, those with seconds left out."""
    return [
        [cell.strip() for cell in line.split("|") if not SECONDS.match(cell.strip())]
        for line in text.strip().splitlines()
    ]


def renewed(page, tables):
    """The page with these tables, or None if it says the same already."""
    before, begin, rest = page.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN} ... {END} in the page")
    if without_seconds(old) == without_seconds(tables):
        return None
    return f"{before}{BEGIN}\n\n{tables.strip()}\n\n{END}{after}"


def main(arguments):
    if not 1 <= len(arguments) <= 2 or arguments[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    path = pathlib.Path(arguments[1]) if len(arguments) == 2 else ROOT / "docs/verification.md"
    try:
        page = renewed(path.read_text(), pathlib.Path(arguments[0]).read_text())
    except (OSError, ValueError) as error:
        print(f"verification.py: {error}", file=sys.stderr)
        return 2
    if page is None:
        return 0
    path.write_text(page)
    print(f"{path.name} was out of date; it has the new tables now: look at them, commit them")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
