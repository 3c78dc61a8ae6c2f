#!/usr/bin/env python3
"""./dev refuses a wrong use at once: before it builds, and without its manual.
Its lanes name programs that exist."""
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEV = ROOT / "dev"


class Misuse(unittest.TestCase):
    def refused(self, *words):
        """What it says, but for the line that comes last."""
        run = subprocess.run(
            [DEV, *words], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(run.returncode, 2, run)
        self.assertEqual(run.stdout, "")  # it would say what it builds
        said, last = run.stderr.splitlines()
        self.assertEqual(last, "./dev help lists the commands")
        return said

    def test_of_a_command(self):
        self.assertEqual(self.refused("zzz"), "dev: unknown command: zzz")

    def test_of_a_command_that_begins_like_another(self):
        self.assertIn("modle (did you mean model?)", self.refused("modle"))
        self.assertIn("t (did you mean test, tidy, tsan?)", self.refused("t"))

    def test_of_arguments(self):
        self.assertIn("takes no argument: 3", self.refused("run", "3"))
        self.assertIn("a number of seeds: -1", self.refused("explore", "-1"))

    def test_of_an_option_that_ctest_does_not_know(self):
        said = "has no such option, and ctest neither: --chek"
        self.assertIn("model " + said, self.refused("model", "--chek", "x"))
        self.assertIn("test " + said, self.refused("test", "-R", "x", "--chek"))

    def test_of_a_file_that_is_not_there(self):
        said = self.refused("model", "--check", "no/such/model.cpp")
        self.assertIn("no such file: ", said)
        self.assertIn("no/such/model.cpp", said)

    def test_is_not_asking_for_help(self):
        run = subprocess.run([DEV, "help"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0)
        self.assertIn("usage: ", run.stdout)


def alternatives(pattern):
    """Those of a regular expression: x|y_(a|b) gives x, y_a, y_b."""
    for part in re.findall(r"(?:[^|(]|\([^)]*\))+", pattern):
        before, _, inside = part.partition("(")
        inside, _, after = inside.partition(")")
        for word in inside.split("|"):
            yield before + word + after


class Lanes(unittest.TestCase):
    def setUp(self):
        table = re.search(r"^rooms_of_threads=.*?^declare -A not_run",
                          DEV.read_text(), re.M | re.S)[0]
        show = 'for p in "${!programs[@]}"; do echo "$p ${programs[$p]}"; done'
        said = subprocess.run(
            ["bash", "-c", table.rpartition("\n")[0] + "\n" + show],
            capture_output=True, text=True, check=True).stdout
        self.programs = dict(line.split(" ", 1) for line in said.splitlines())
        listed = "".join((ROOT / folder / "CMakeLists.txt").read_text()
                         for folder in ("tests", "examples"))
        self.known = re.findall(
            r"^ *weft_(?:test|example)\((\w+)", listed, re.M)
        self.known += re.findall(r"^  (\d\d_\w+)$", listed, re.M)

    def test_name_programs_that_exist(self):
        for preset, pattern in self.programs.items():
            for part in alternatives(pattern):
                self.assertTrue(
                    any(re.fullmatch(part, name) for name in self.known),
                    f"{preset}: {part}")

    def test_of_sanitizers_have_what_is_linked_beside_the_library(self):
        for preset in ("asan", "tsan"):
            for name in ("unit_checks", "unit_charge_new"):
                self.assertIn(name, self.known)
                self.assertRegex(name, f"^({self.programs[preset]})$")


if __name__ == "__main__":
    unittest.main()
