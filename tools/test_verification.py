#!/usr/bin/env python3
"""The page of the models changes when it should, and only then."""
import unittest

import verification


class Verification(unittest.TestCase):
    TABLES = "| ring | 3 | 1,825 | 0.1 |\n"
    PAGE = f"head\n{verification.BEGIN}\n\n{TABLES}\n{verification.END}\ntail\n"

    def test_leaves_a_page_where_only_seconds_differ(self):
        self.assertIsNone(verification.renewed(self.PAGE, "| ring | 3 | 1,825 | 7.3 |"))

    def test_puts_new_counts_between_what_people_wrote(self):
        page = verification.renewed(self.PAGE, "| ring | 3 | 1,826 | 7.3 |")
        self.assertIn("| ring | 3 | 1,826 | 7.3 |", page)
        self.assertNotIn("1,825", page)
        self.assertTrue(page.startswith("head\n") and page.endswith("\ntail\n"))
        self.assertIsNone(verification.renewed(page, "| ring | 3 | 1,826 | 7.2 |"))

    def test_refuses_a_page_without_marks(self):
        with self.assertRaises(ValueError):
            verification.renewed("head\n", self.TABLES)


if __name__ == "__main__":
    unittest.main()
