#!/usr/bin/env python3
"""Tests of check_glossary.py: what it accepts, and what it refuses."""
import unittest

import check_glossary
from test_lints import Tree

HEAD = "# Glossary\n\n| word | meaning | name | file |\n| --- | --- | --- | --- |\n"


class Glossary(Tree):
    def page(self, *rows):
        self.write("src/a.hpp", "class Fiber;\n")
        self.write("docs/glossary.md", HEAD + "\n".join(rows) + "\n")

    def test_accepts_names_that_are_there(self):
        self.page("| fiber | runs | `Fiber` | src/a.hpp |",
                  "| task | of one | `Fiber` | src/a.hpp |")
        self.expect(check_glossary)

    def test_refuses_what_is_gone(self):
        self.page("| fiber | runs | `Fib` | src/a.hpp |",
                  "| task | of one | `Fiber` | src/b.hpp |")
        self.expect(check_glossary, "does not have Fib", "b.hpp does not exist")

    def test_refuses_words_out_of_order_and_broken_rows(self):
        self.page("| task | of one | `Fiber` | src/a.hpp |",
                  "| fiber | runs | `Fiber` | src/a.hpp |", "| fiber | runs |")
        self.expect(check_glossary, "fiber comes after task", "has 2 cells")

    def test_refuses_a_page_that_is_empty_or_missing(self):
        self.expect(check_glossary, "is missing")
        self.page()
        self.expect(check_glossary, "explains no word")


if __name__ == "__main__":
    unittest.main()
