#!/usr/bin/env python3
"""docs/memory_model.md says what the code does.

The page is what make_memory_model.py would write, and each linearization point
stands in the function that it names, with the order that it names.
"""
import re

import lint
import make_memory_model
from make_memory_model import PAGE, POINTS


def body(text, function):
    """From the function's head to the brace that closes it, or None."""
    start = text.find(function)
    if start < 0:
        return None
    indent = re.search(r"[^\n]*\Z", text[:start])[0]
    indent = indent[:len(indent) - len(indent.lstrip())]
    end = text.find(f"\n{indent}}}", start)
    return text[start:end]


def squeezed(text):
    return " ".join(text.split())


def check_points(root):
    for event, _, name, function, code in POINTS:
        path = root / name
        found = body(path.read_text(), function) if path.is_file() else None
        if found is None:
            yield f"{path}: lacks {function}, the point of: {event}"
        elif code not in squeezed(found):
            yield f"{path}: {function} lacks {code}, the point of: {event}"


def check(root):
    yield from check_points(root)
    page = root / PAGE
    if not page.is_file() or page.read_text() != make_memory_model.page(root):
        yield f"{page}: out of date; run tools/make_memory_model.py"


if __name__ == "__main__":
    lint.main(check, __doc__)
