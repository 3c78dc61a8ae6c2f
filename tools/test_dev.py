#!/usr/bin/env python3
"""./dev refuses a wrong use at once: before it builds, and without its manual."""
import pathlib
import subprocess
import unittest

DEV = pathlib.Path(__file__).resolve().parent.parent / "dev"


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


if __name__ == "__main__":
    unittest.main()
