#!/usr/bin/env python3
"""The lints see what they should see, and nothing else."""
import pathlib
import tempfile
import textwrap
import unittest

import check_conformance
import check_doors
import check_edges
import check_globals
import check_headers
import check_marks
import check_memory_model
import make_memory_model
import check_rooms
import check_sources
import check_symbols


class Tree(unittest.TestCase):
    """A small repository in a temporary folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        (self.root / "src").mkdir()

    def write(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def expect(self, module, *fragments):
        """module.check() finds one problem per fragment, in this order."""
        found = list(module.check(self.root))
        self.assertEqual(len(found), len(fragments), found)
        for problem, fragment in zip(found, fragments):
            self.assertIn(fragment, problem)


class Rooms(Tree):
    def setUp(self):
        super().setUp()
        self.write("include/weft/fiber.hpp", "#include <cstdint>\n")
        self.write("src/base/check.hpp")
        self.write("src/queue/ring.hpp", '#include "base/check.hpp"\n')

    def test_accepts_own_room_lower_floor_and_public(self):
        self.write("src/queue/ring.cpp",
                   '#include "queue/ring.hpp"\n#include <sys/mman.h>\n'
                   '#include "base/check.hpp"\n#include <weft/fiber.hpp>\n')
        self.write("include/weft/weft.hpp", '#include "weft/fiber.hpp"\n')
        self.expect(check_rooms)

    def test_refuses_a_higher_floor(self):
        self.write("src/base/a.cpp", '#include "queue/ring.hpp"\n')
        self.expect(check_rooms, "base (floor 0) must not know queue (floor 1)")

    def test_refuses_a_room_of_the_same_floor(self):
        self.write("src/time/a.cpp", '#  include "queue/ring.hpp"\n')
        self.expect(check_rooms, "src/time/a.cpp:1: time (floor 1)")

    def test_refuses_a_name_without_room(self):
        self.write("src/queue/a.cpp", '#include "ring.hpp"\n')
        self.expect(check_rooms, 'write "room/file.hpp"')

    def test_refuses_the_wrong_brackets(self):
        self.write("src/queue/a.cpp",
                   '#include "weft/fiber.hpp"\n#include <base/check.hpp>\n')
        self.expect(check_rooms, "write <weft/fiber.hpp>",
                    'write "base/check.hpp"')

    def test_refuses_a_header_that_is_not_there(self):
        self.write("src/queue/a.cpp",
                   '#include "base/gone.hpp"\n#include <weft/gone.hpp>\n')
        self.expect(check_rooms, "no header src/base/gone.hpp",
                    "no public header weft/gone.hpp")

    def test_refuses_an_internal_header_in_a_public_one(self):
        self.write("include/weft/a.hpp",
                   '#include "base/check.hpp"\n#include <base/check.hpp>\n')
        self.expect(check_rooms, "a.hpp:1: a public header must not",
                    "a.hpp:2: a public header must not")

    def test_refuses_a_room_without_floor(self):
        self.write("src/attic/a.cpp")
        self.expect(check_rooms, "has no floor")


class Edges(Tree):
    def test_accepts_both_ends_and_reasons(self):
        self.write("src/base/a.hpp", """\
            // a.hpp: good.
            //
            //   [lock]  unlock() -> lock(): all.
            bool f() { return x.exchange(true, acquire); }  // [lock]
            void g() {
              // [lock], of slot[i]; [[nodiscard]] is no edge
              x.store(false, release);
              x.load(relaxed);
              x.load(seq_cst);  // the caller's edge
              release(x);
              if (x.compare_exchange_strong(
                      seen, next, acq_rel,
                      relaxed)) {  // [lock]
              }
            }
            """)
        self.expect(check_edges)

    def test_refuses_an_order_without_a_reason(self):
        self.write("src/base/a.hpp", """\
            void f() {
              int a = 0;
              x.store(1, release);
              x.compare_exchange_weak(
                  a, 2,
                  std::memory_order_acq_rel);
            }
            """)
        self.expect(check_edges, "a.hpp:3: ordering", "a.hpp:6: ordering")

    def test_does_not_borrow_the_comment_of_another_statement(self):
        self.write("src/base/a.hpp", """\
            void f() {
              x.load(acquire);  // a reason
              y.load(acquire);
              z.load(relaxed);  // another reason
            }
            """)
        self.expect(check_edges, "a.hpp:3: ordering")

    def test_refuses_an_edge_with_one_end(self):
        self.write("src/base/a.hpp", """\
            //   [lock]  unlock() -> lock(): all.
            void f() { x.store(1, release); }  // [lock]
            """)
        self.expect(check_edges, "[lock] is cited at fewer than two ends")

    def test_refuses_an_edge_nobody_declared(self):
        self.write("include/weft/detail/a.hpp",
                   "void f() { x.store(1, release); }  // [lock]\n")
        self.expect(check_edges, "[lock] is not declared")

    def test_counts_the_ends_in_the_twin_and_in_those_who_include(self):
        self.write("src/base/a.hpp", """\
            //   [lock]  unlock() -> lock(): all.
            //   [wake]  wake() -> wait(): all.
            void f() { x.store(1, release); }  // [lock]
            """)
        self.write("src/base/a.cpp", "int g() {}  // [lock] [wake]\n")
        self.write("src/queue/b.cpp",
                   '#include "base/a.hpp"\nint h() {}  // [wake]\n')
        self.expect(check_edges)
        self.write("src/queue/b.cpp", "int h() {}  // [wake]\n")
        self.expect(check_edges, "b.cpp: edge [wake] is not declared",
                    "[wake] is cited at fewer")

    def test_does_not_take_the_ends_of_a_namesake(self):
        self.write("src/base/a.hpp", """\
            //   [lock]  unlock() -> lock(): all.
            void f() { x.store(1, release); }  // [lock]
            """)
        self.write("src/queue/b.hpp", """\
            //   [lock]  give() -> take(): another one.
            #include "base/a.hpp"
            void g() { y.store(1, release); }  // [lock]
            void h() { y.load(acquire); }      // [lock]
            """)
        self.expect(check_edges, "a.hpp: edge [lock] is cited at fewer")


class Headers(Tree):
    def test_accepts_headers_that_stand_alone(self):
        self.write("include/weft/a.hpp",
                   "#pragma once\n#include <vector>\nstd::vector<int> f();\n")
        self.write("include/weft/a.h", "int f(void);\n")
        self.write("src/base/a.hpp", "#pragma once\n#include <weft/a.hpp>\n")
        self.expect(check_headers)

    def test_refuses_a_forgotten_include(self):
        self.write("src/base/a.hpp", "std::vector<int> f();\n")
        self.expect(check_headers, "src/base/a.hpp: does not compile alone")

    def test_refuses_cpp_in_a_c_header(self):
        self.write("include/weft/a.h", "namespace weft {}\n")
        self.expect(check_headers, "does not compile alone as c99")

    def test_hides_src_from_public_headers(self):
        self.write("src/base/b.hpp")
        self.write("include/weft/a.hpp", '#include "base/b.hpp"\n')
        self.expect(check_headers, "include/weft/a.hpp: does not compile")


class Sources(Tree):
    def test_accepts_what_is_listed(self):
        self.write("src/base/a.cpp")
        self.write("CMakeLists.txt", "set(S\n  src/base/a.cpp)\n")
        self.write("tests/unit/base/a_test.cpp")
        self.write("tests/CMakeLists.txt",
                   "weft_test(unit_base unit/base/a_test.cpp)\n")
        self.write("examples/tutorial/01_a.cpp")
        self.write("examples/CMakeLists.txt", "foreach(name\n  01_a\n)\n")
        self.write("bench/peers/go/a.c")
        self.expect(check_sources)

    def test_refuses_what_is_not_or_only_in_a_comment(self):
        self.write("src/base/a.cpp")
        self.write("src/context/b.S")
        self.write("CMakeLists.txt", "# src/base/a.cpp\n")
        self.write("tests/stress/a_test.cpp")
        self.expect(check_sources, "src/base/a.cpp: is not listed",
                    "src/context/b.S: is not listed",
                    "tests/stress/a_test.cpp: is not listed")


class Marks(Tree):
    def test_accepts_finished_work(self):
        self.write("src/base/a.hpp", "std::atomic<int> a;\n")
        self.write("include/weft/detail/a.hpp", "std::mutex m;\n")
        self.write("src/queue/a.cpp", "int a;  // not std::mutex\n" * 400)
        self.write("tests/unit/a_test.cpp", "std::thread t;\n")
        self.expect(check_marks)

    def test_refuses_open_marks(self):
        for mark in ("TO" + "DO", "FIX" + "ME", "X" * 3):
            self.write("tests/unit/a_test.cpp", f"// {mark}: later\n")
            self.expect(check_marks, f"{mark} left open")

    def test_refuses_a_long_file(self):
        self.write("bench/a.cpp", "\n" * 401)
        self.expect(check_marks, "has 401 lines")

    def test_refuses_a_long_comment_but_not_a_long_link(self):
        self.write("src/base/a.cpp",
                   f"// {'a' * 78}\n// https://{'a' * 78}\n")
        self.expect(check_marks, "a.cpp:1: comment past column 80")

    def test_refuses_std_threads_in_other_rooms(self):
        self.write("src/queue/a.cpp", "std::atomic_thread_fence(x);\n")
        self.write("include/weft/a.hpp",
                   "std::thread t;\nstd::recursive_mutex m;\n")
        self.expect(check_marks, "std::atomic_thread_fence", "std::thread",
                    "std::recursive_mutex")


class Doors(Tree):
    def test_accepts_those_who_may_and_mere_words(self):
        self.write("src/wait/park.cpp", "word.begin_park(1);\n")
        self.write("src/sched/worker.cpp", "queues.turns.push_back(f);\n")
        self.write("src/scope/a.cpp",
                   '// getenv\ncheck("thread_local");\nlist.push(f);\n')
        self.expect(check_doors)

    def test_refuses_the_others(self):
        self.write("src/scope/a.cpp", """\
            word.begin_wait(1, false);
            worker.queues.inbox.push(&fiber);
            if (std::getenv("A")) return;
            """)
        self.write("include/weft/a.hpp", "inline thread_local int a;\n")
        self.expect(check_doors, "a.cpp:1: begins a wait",
                    "a.cpp:2: pushes to a run queue",
                    "a.cpp:3: reads the environment",
                    "a.hpp:1: has a thread-local")


class Globals(unittest.TestCase):
    def found(self, *rows):
        row = "{}|0|b|OBJECT|8||{}"
        return list(check_globals.check(
            "\n".join(row.format(*names) for names in rows)))

    def test_accepts_the_list_constants_and_what_cannot_be_written(self):
        self.assertEqual([], self.found(
            ("weft_tls_carrier    ", ".tbss"),
            ("guard variable for weft::stack::page_size()::size", ".bss"),
            ("weft::a::kNames", ".data.rel.local"),
            ("weft::a::table", ".data.rel.ro.local"),
            ("weft::a::text", ".rodata"),
            ("weft::a::run()", ".text"),
            ("DW.ref.__gxx_personality_v0", ".data.rel.local.DW.ref")))

    def test_refuses_any_other(self):
        for section in (".bss", ".data", ".tbss", ".tdata", ".data.rel.local",
                        ".bss._ZN4weft1aE"):
            self.assertEqual(1, len(self.found(("weft::a::root", section))))


class Symbols(unittest.TestCase):
    def found(self, *rows):
        return list(check_symbols.check("\n".join(rows) + "\n"))

    def test_accepts_ours_and_what_is_weak_of_the_standard_library(self):
        self.assertEqual([], self.found(
            "weft_switch_context T 0 8a",
            "_ZNK4weft5Error7messageB5cxx11Ev T 0 10",
            "_ZTVN4weft9BadResultE V 0 28",
            "_ZGVZN4weft5stack9page_sizeEvE4size b 0 8",
            "_ZZN4weft5stack9page_sizeEvE4size u 0 8",
            "_ZNSt6vectorIiSaIiEE9push_backEOi W 0 40",
            "_ZSt4moveIRiEvOT_ W 0 8",
            "DW.ref.__gxx_personality_v0 V 0 8"))

    def test_refuses_any_other(self):
        for row in ("helper T 0 8", "_Z6helperv T 0 8", "_ZN5other1fEv W 0 8",
                    "table D 0 8", "weftless T 0 8",
                    "_ZNSt6vectorIiSaIiEE9push_backEOi T 0 40"):
            self.assertEqual(1, len(self.found(row)), row)


class MemoryModel(Tree):
    POINT = ("wake", "release", "src/base/a.hpp", "void f()",
             "x.store(1, release); // [a]")

    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, check_memory_model, "POINTS",
                        check_memory_model.POINTS)
        check_memory_model.POINTS = [self.POINT]

    def model(self, order, function="void f()"):
        self.write("src/base/a.hpp", f"""\
            //   [a]  f() -> g(): all.
            class A {{
              {function} {{
                x.store(1,
                        {order});  // [a]
              }}
              void g() {{ x.store(1, release); }}  // [a]
            }};
            """)
        self.write("docs/memory_model.md", make_memory_model.page(self.root))

    def test_accepts_a_point_in_its_function(self):
        self.model("release")
        self.expect(check_memory_model)

    def test_refuses_another_order_and_a_function_that_is_gone(self):
        self.model("relaxed")
        self.expect(check_memory_model, "void f() lacks x.store(1, release)")
        self.model("release", "void h()")
        self.expect(check_memory_model, "lacks void f(), the point of: wake")

    def test_refuses_a_page_that_is_out_of_date(self):
        self.model("release")
        self.write("docs/memory_model.md", "old\n")
        self.expect(check_memory_model, "memory_model.md: out of date")


class Conformance(Tree):
    def setUp(self):
        super().setUp()
        self.write("src/base/a.cpp")
        self.write("tests/unit/a_test.cpp",
                   "TEST(A, One) {}\nTEST_F(A,\n       Two) {}\n"
                   "TEST(A, DISABLED_Three) {}\n")

    def rows(self, *rows):
        head = "| row | name | file | test | status |\n|-|-|-|-|-|\n"
        self.write("docs/conformance.md", head + "\n".join(rows) + "\n")

    def test_accepts_tests_that_exist_and_rows_not_done(self):
        self.rows("| R-A-1 | a | `src/base/a.cpp` | `A.One`, A.Two | done |",
                  "| R-A-2 | a \\| b | src/base/a.cpp | A.One<br>A.Two | done |",
                  "| R-A-3 | a | src/base/gone.cpp | A.Gone | planned |")
        self.expect(check_conformance)

    def test_refuses_done_without_a_test(self):
        self.rows("| R-A-1 | a | src/base/a.cpp | - | done |")
        self.expect(check_conformance, "is shown by no test")

    def test_accepts_lints_and_wants_a_test_for_another_form(self):
        self.write("tests/lints.cmake", "weft_lint(lint_a a.py)\n")
        self.rows("| R-A-1 | a | src/base/a.cpp | lint_a | done |",
                  "| R-A-2 | a | src/base/a.cpp | lint_a, A.One | otherwise |",
                  "| R-A-3 | a | src/base/a.cpp | lint_b | otherwise |",
                  "| R-A-4 | a | src/base/a.cpp | - | otherwise |")
        self.expect(check_conformance, "the test lint_b", "shown by no test")

    def test_refuses_tests_and_files_that_do_not_exist(self):
        self.rows("| R-A-1 | a | src/gone.cpp | A.One, A.Gone | done |",
                  "| R-A-2 | a | src/base/a.cpp | A.DISABLED_Three | done |")
        self.expect(check_conformance, "the file src/gone.cpp",
                    "the test A.Gone", "the test A.DISABLED_Three")

    def test_refuses_broken_and_doubled_rows(self):
        self.rows("| R-A-1 | a | done |",
                  "| R-A-1 | a | src/base/a.cpp | A.One | done |")
        self.expect(check_conformance, "has 3 cells", "has a second row")

    def test_refuses_a_missing_table(self):
        self.expect(check_conformance, "is missing")


if __name__ == "__main__":
    unittest.main()
