#!/usr/bin/env python3
"""Every atomic ordering names its reason; every named edge has two ends.

An edge is declared in the head of a file, as `//   [name]  from -> to: what`,
and cited as [name] in the comment of each statement that is an end of it:
on one of the statement's lines or on the line above. `relaxed` needs no
citation. A citation means the declaration in its own file or in the .cpp or
.hpp of the same name, and if there is none, that of the headers it includes.
"""
import collections
import re

import lint

ORDER = re.compile(
    r"(?:[,(?:]|^)\s*(?:std::)?(?:memory_order(?:_|::))?"
    r"(acquire|release|acq_rel|seq_cst)\s*(?=[,):])")
DECLARED = re.compile(r"^//   \[(\w+)\]", re.M)
# Not an index (slot[i]), not an attribute ([[nodiscard]]).
CITED = re.compile(r"(?<![\w\[\])])\[([A-Za-z]\w*)\](?!\])")
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.M)
ENDS = (";", "{", "}", ":")


def comment_of(line):
    return line.partition("//")[2]


def is_end(line):
    """Does a statement end on this line, or is none there?"""
    code = lint.code_of(line).rstrip()
    return not code or code.endswith(ENDS) or code.startswith("#")


def explained(lines, index):
    """Has the statement around lines[index] a comment?"""
    first = index
    while first > 0 and not is_end(lines[first - 1]):
        first -= 1
    last = index
    while last + 1 < len(lines) and not is_end(lines[last]):
        last += 1
    above = lines[first - 1].strip() if first else ""
    return (above.startswith("//") or
            any(comment_of(line) for line in lines[first:last + 1]))


class Source:
    def __init__(self, path, root):
        self.path = path
        self.text = path.read_text()
        self.lines = self.text.splitlines()
        self.declared = set(DECLARED.findall(self.text))
        comments = [comment_of(line) for line in self.lines
                    if not line.startswith("//")]
        self.cited = [edge for c in comments for edge in CITED.findall(c)]
        self.near = {path.with_suffix(".hpp"), path.with_suffix(".cpp")}
        self.included = {root / folder / name for folder in ("src", "include")
                         for name in INCLUDE.findall(self.text)}

    def uncited(self):
        for index, line in enumerate(self.lines):
            if (ORDER.search(lint.code_of(line)) and
                    not explained(self.lines, index)):
                yield (f"{self.path}:{index + 1}: "
                       "ordering without an edge or a reason")


def declarers(source, edge, sources):
    """The files whose declaration a citation of the edge here means."""
    for group in (source.near, source.included):
        found = [path for path in group & sources.keys()
                 if edge in sources[path].declared]
        if found:
            return found
    return []


def check(root):
    paths = lint.files(root, ["src", "include/weft/detail"], (".hpp", ".cpp"))
    sources = {path: Source(path, root) for path in paths}
    ends = collections.Counter()
    for path, source in sources.items():
        yield from source.uncited()
        for edge in sorted(set(source.cited)):
            found = declarers(source, edge, sources)
            if not found:
                yield f"{path}: edge [{edge}] is not declared in a file head"
            for other in found:
                ends[other, edge] += source.cited.count(edge)
    for path, source in sources.items():
        for edge in sorted(source.declared):
            if ends[path, edge] < 2:
                yield f"{path}: edge [{edge}] is cited at fewer than two ends"


if __name__ == "__main__":
    lint.main(check, __doc__)
