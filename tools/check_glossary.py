#!/usr/bin/env python3
"""docs/glossary.md: words in order, each with a name that its file still has.

Rows look like `| word | meaning | name | file |`.
"""
import re

import lint

PAGE = "docs/glossary.md"


def check(root):
    page = root / PAGE
    if not page.is_file():
        yield f"{page}: is missing"
        return
    former = ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("| ") or re.match(r"\| (word|---) ", line):
            continue
        where = f"{page}:{number}"
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 4:
            yield f"{where}: has {len(cells)} cells, not 4"
            continue
        word, _, name, file = cells[0], cells[1], cells[2].strip("`"), cells[3]
        if word.lower() <= former:
            yield f"{where}: {word} comes after {former}"
        former = word.lower()
        path = root / file
        if not path.is_file():
            yield f"{where}: {file} does not exist"
        elif not re.search(rf"\b{re.escape(name)}\b", path.read_text()):
            yield f"{where}: {file} does not have {name}"
    if not former:
        yield f"{page}: explains no word"


if __name__ == "__main__":
    lint.main(check, __doc__)
