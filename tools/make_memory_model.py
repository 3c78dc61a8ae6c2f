#!/usr/bin/env python3
"""Writes docs/memory_model.md from the Edges sections of the file heads.

An edge is declared in the head of a file, as `//   [name]  from -> to: what`,
and cited as [name] in the comments of its ends; tools/check_edges.py keeps the
two together. This script collects the declarations into one page, with the
files that cite each, below the table of POINTS. tools/check_memory_model.py
fails if the page is out of date or a point is not where it should be.
"""
import argparse
import pathlib
import re

import check_rooms
import lint

PAGE = pathlib.Path("docs/memory_model.md")
FLOORS = list(check_rooms.FLOORS)
EDGE = re.compile(r"^//   \[(\w+)\]\s*(.*)$")
# Not an index (slot[i]), not an attribute ([[nodiscard]]).
CITED = re.compile(r"(?<![\w\[\])])\[([A-Za-z]\w*)\](?!\])")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)

# (event, order in words, file, function, what its body must contain; one
# space for any number of them)
POINTS = [
    ("enqueue runnable", "release store of fresh, then the queue's push",
     "src/fiber/control_word.hpp", "void publish(",
     "State::fresh), release); // [spawn]"),
    ("dequeue to running", "the queue's take, then one acq_rel addition; none "
     "if it was claimed near, or yielded",
     "src/fiber/control_word.hpp", "std::uint64_t move(",
     "acq_rel); // [spawn] [context] [wake]"),
    ("enter parking",
     "acq_rel compare-exchange, before the waiter is published",
     "src/fiber/control_word.hpp", "Begun begin(",
     "compare_exchange_weak(w, next, acq_rel, acquire)) { // [wake]"),
    ("waiter publish, at a list", "under the lock of its source",
     "src/wait/wait_list.cpp", "void WaitList::push_back(", "push_back(node)"),
    ("waiter publish, at a slot", "acq_rel compare-exchange",
     "src/fiber/join_word.hpp", "Entered enter(",
     "compare_exchange_strong(seen, value, acq_rel, acquire)"),
    ("commit parked", "acq_rel compare-exchange, off the fiber's stack",
     "src/fiber/control_word.hpp", "Committed commit()", "acq_rel, acquire"),
    ("enter parking and commit in one",
     "acq_rel compare-exchange, off the fiber's stack, under the lock of its "
     "source", "src/fiber/control_word.hpp", "Committed commit_wait(",
     "compare_exchange_weak(w, next, acq_rel, acquire)"),
    ("post-commit check",
     "none is needed: token and claim are in the word, and the commit fails if "
     "one is set",
     "src/fiber/control_word.hpp", "Committed commit()",
     "claim_of(w) != Who::open || (w & kToken) != 0"),
    ("self-claim", "none is needed: a refused commit leaves the fiber with its "
     "worker, and it takes the token itself, acq_rel",
     "src/fiber/control_word.hpp", "void end_park()", "acq_rel, acquire"),
    ("waker sees parking", "acq_rel compare-exchange that sets the token",
     "src/fiber/control_word.hpp", "Unparked interrupt(", "next | kToken"),
    ("waker claim", "acq_rel compare-exchange of the claim and, if parked, of "
     "the state",
     "src/fiber/control_word.hpp", "Claimed claim(", "acq_rel, acquire"),
    ("wake enqueue", "the claim made it queued, or running if it stays near; "
     "then the queue's push",
     "src/sched/carrier.cpp", "void make_runnable(", "enqueue(owned)"),
    ("close", "seq_cst store, against the count of spawns",
     "src/sched/admission.hpp", "void close()",
     "seq_cst); // [admit]"),
]

HEAD = """\
# Memory model

<!-- Written by tools/make_memory_model.py. Change the file heads instead. -->

## What a user may rely on

| done before | is visible after |
| --- | --- |
| `spawn()` | the child has started |
| a child's end | `join()`, `wait()`, `try_join()` or `done()` of its `Task`, or `Nursery::join()`, has told of it |
| a wake, by `WaitList::wake_one()` or `wake_all()` | `weft::wait()` returned because of it |
| `Task::cancel()`, `Nursery::cancel()`, `CancelScope::cancel()` | a wait of a fiber that it stops failed with `cancelled` |
| `SpinLock::unlock()` | the next `lock()` of the same lock |
| a fiber's last step on one thread | its next step on another |
| the last step of a runtime's fibers | `Runtime::run()` or `shutdown()` has returned |

`AnyTask::state()`, `Nursery::live()`, `this_fiber::cancelled()`, `checkpoint()`
and the statistics order nothing: they say when to look, not what is there.

## How it is kept

An **edge** is a pair of operations of which the second sees what came before
the first: a release and an acquire of one word, or a store-then-load on each of
two words, all four `seq_cst`, so that one side sees the other. Each edge has a
name, is declared in the head of the file that owns the word, and is cited at
both ends. `tools/check_edges.py` fails on an ordering without a reason and on
an edge with one end.

There are no fences, because ThreadSanitizer does not see them. Where one side
of a store-then-load is hot and the other rare, the hot side's store is a plain
one and the rare side pays with `membarrier(2)` (`src/base/asymmetric.hpp`).

Chains make the table above. Spawn: `[spawn]`, then the edge of the queue that
carried the fiber. Park and resume elsewhere: `[context]` at the commit, then
`[wake]` at the claim, then the queue. Join: `[done]` of the join word, or
`[live]` of the family.

## Linearization points

When each step of a fiber takes effect for the others. Weaker than here is
weaker than the specification asks for.

| event | order | where |
| --- | --- | --- |
"""

EDGES = """
## Edges
"""


def edges(text):
    """(name, meaning) for each edge that a file head declares."""
    found = []
    for line in text.splitlines():
        match = EDGE.match(line)
        if match:
            found.append([match[1], match[2].strip()])
        elif not found:
            continue
        elif re.match(r"^// {3,}\S", line):
            found[-1][1] += " " + line[2:].strip()
        else:
            break
    return found


def cell(text):
    return re.sub(r"\s+", " ", text).replace("|", r"\|")


def name_of(function):
    return re.search(r"[\w:]+(?=\()", function)[0]


class Source:
    def __init__(self, path, root):
        text = path.read_text()
        self.name = path.relative_to(root / "src").as_posix()
        self.edges = edges(text)
        self.declares = {edge for edge, _ in self.edges}
        self.cites = {edge for line in text.splitlines()
                      if not line.startswith("//")
                      for edge in CITED.findall(line.partition("//")[2])}
        stem = self.name.rpartition(".")[0]
        self.near = {stem + ".hpp", stem + ".cpp"}
        self.included = set(INCLUDE.findall(text))


def ends(owner, edge, sources):
    """Files that cite this edge: a declaration nearer to them goes first."""
    for source in sources:
        if edge not in source.cites:
            continue
        nearer = any(edge in other.declares for other in sources
                     if other.name in source.near)
        if (owner.name in source.near or
                (not nearer and owner.name in source.included)):
            yield source.name


def page(root):
    sources = [Source(path, root)
               for path in lint.files(root, ["src"], (".hpp", ".cpp"))]
    sources.sort(key=lambda s: FLOORS.index(s.name.partition("/")[0]))
    lines = [HEAD + "".join(
        f"| {event} | {order} | `{file}`: `{name_of(where)}()` |\n"
        for event, order, file, where, _ in POINTS) + EDGES]
    for source in sources:
        if not source.edges:
            continue
        lines += [f"### src/{source.name}", "",
                  "| edge | from → to: what is seen | cited in |",
                  "| --- | --- | --- |"]
        for edge, meaning in source.edges:
            cited = ", ".join(f"`{name}`"
                              for name in ends(source, edge, sources))
            lines.append(f"| [{edge}] | {cell(meaning)} | {cited} |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    (root / PAGE).write_text(page(root))


if __name__ == "__main__":
    main()
