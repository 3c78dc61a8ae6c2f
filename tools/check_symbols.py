#!/usr/bin/env python3
"""What the library exports is its own: weft::..., weft_...

  check_symbols.py LIBRARY      libweft.a; asks nm

What was instantiated here of the standard library is weak: the linker takes any
of several. Every other name could collide with a client's.
"""
import re

import lint

# Mangled. Vtables, guards, local statics belong where their name does.
DERIVED = r"_Z(?:T[VTISHW]|GV|GR|Th\w+?_)?Z*N?[KVRO]*"
OURS = re.compile(rf"weft_|{DERIVED}4weft")
STANDARD = re.compile(rf"{DERIVED}(?:S[tabsiod]|9__gnu_cxx)|"
                      r"_Zn[wa]mPv$|_Zd[la]PvS_$|"  # placement new, delete
                      r"DW\.ref\.|__clang_call_terminate$")


def check(table):
    """table: the output of nm -P --extern-only --defined-only."""
    for line in sorted(set(re.findall(r"^\S+ [A-Za-z](?= )", table, re.M))):
        name, kind = line.split()
        weak = kind in "VWvwu"
        if not (OURS.match(name) or (weak and STANDARD.match(name))):
            yield f"{name}: is exported ({kind}) and not weft's"


if __name__ == "__main__":
    lint.main_of_library(check, __doc__, ["-P", "--extern-only"],
                         lambda table: "weft_switch_context " in table)
