"""What the check_*.py scripts share: finding files, reporting, exit status.

A check is a generator: check(root) yields one line of text per problem.
"""
import argparse
import pathlib
import subprocess
import sys

CODE = (".hpp", ".cpp", ".h", ".c", ".S")


def files(root, folders, suffixes=CODE):
    """Files below the folders, in a fixed order, without build output."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            if "build" in parts or "__pycache__" in parts:
                continue
            if path.is_file() and path.suffix in suffixes:
                yield path


def code_of(line):
    """The line without its // comment."""
    return line.partition("//")[0]


def main(check, description):
    """Runs check over --root (default: this repository); 1 if it found any."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    found = [line.replace(f"{root}/", "") for line in check(root)]
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)


def main_of_library(check, description, nm_options, is_library):
    """Runs check over what nm says of the library named on the command line.

    A table that is_library() does not know is an error: a check that cannot
    read it would find nothing.
    """
    if len(sys.argv) != 2:
        print(description)
        sys.exit(2)
    table = subprocess.run(["nm", *nm_options, "--defined-only", sys.argv[1]],
                           capture_output=True, text=True, check=True).stdout
    if not is_library(table):
        print(f"{sys.argv[1]}: is not the library, or nm cannot read it")
        sys.exit(1)
    found = list(check(table))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
