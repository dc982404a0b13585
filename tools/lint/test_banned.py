"""Planted calls, headers and marks that the tree refuses."""
import unittest

from test_support import TreeTest, header

CLOCK = "auto t = std::chrono::steady_clock::now();"


class BannedTest(TreeTest):

    def assert_banned(self, line, path="src/base/a.h"):
        self.assert_fires("banned", {path: header(line)}, line=3)

    def assert_fine(self, line, path="src/base/a.h"):
        self.assertNotIn("banned", self.rules_of({path: header(line)}))

    def test_randomness(self):
        for line in ("int x = rand();", "std::srand(1);", "std::mt19937 g;", "#include <random>"):
            self.assert_banned(line)
        for line in ("int operand(int x);", "Prng random(7);",
                     "// rand() is global", 'f("rand()");'):
            self.assert_fine(line)

    def test_clocks_belong_to_the_runtime_and_above(self):
        for line in (CLOCK, "std::chrono::system_clock::time_point t;", "t = time(nullptr);",
                     "clock_gettime(CLOCK_MONOTONIC, &t);"):
            self.assert_banned(line, "src/core/a.h")
            self.assert_fine(line, "src/rt/a.h")
        self.assert_banned(CLOCK, "src/core/a_test.cc")
        self.assert_banned(CLOCK, "tests/scenario.h")
        self.assert_fine(CLOCK, "tests/lab/a.h")
        self.assert_fine("Instant time(int tick);", "src/core/a.h")

    def test_nobody_sleeps_but_the_lab_tests(self):
        for line in ("usleep(5);", "std::this_thread::sleep_for(x);", "nanosleep(&t, nullptr);"):
            self.assert_banned(line, "src/rt/a.h")
            self.assert_banned(line, "src/rt/a_test.cc")
            self.assert_fine(line, "tests/lab/a.h")
        for line in ("bool sleeping();", "void sleep();", "peer.sleep(3);"):
            self.assert_fine(line, "src/rt/a.h")

    def test_ending_the_process(self):
        for line in ("exit(1);", "std::exit(1);", "::_exit(1);", "abort();", "std::abort();"):
            self.assert_banned(line)
        for line in ("flow.abort();", "void on_exit(int x);", "scope->exit(1);"):
            self.assert_fine(line)
        self.assert_fine("std::abort();", "src/base/check.h")
        self.assert_banned("std::exit(1);", "src/base/check.h")

    def test_assertions_are_ours(self):
        self.assert_banned("#include <cassert>")
        self.assert_banned("assert(x);")
        self.assert_fine("static_assert(x);")
        self.assert_fine("ZHINU_ASSERT(x);")

    def test_costly_headers(self):
        self.assert_banned("#include <iostream>")
        self.assert_banned("#include <regex>")
        self.assert_banned("std::regex r;")
        self.assert_fine("#include <ostream>")

    def test_goto_and_using_namespace(self):
        self.assert_banned("goto out;")
        self.assert_banned("using namespace std;")
        self.assert_fine("using std::span;")

    def test_environment_is_read_at_the_entry_points(self):
        self.assert_banned('getenv("X");', "src/core/a.h")
        self.assert_fine('getenv("X");', "src/cli/a.h")

    def test_memory_in_the_core_comes_from_containers(self):
        for line in ("int* p = new int;", "void* p = malloc(3);", "T* p = new T[3];"):
            self.assert_banned(line, "src/core/a.h")
            self.assert_fine(line, "src/base/a.h")
        for line in ("new (place) Flow;", "::new (place) Flow;", "auto p = std::make_unique<A>();",
                     "int new_flow = 1;", "void* operator new(std::size_t n);"):
            self.assert_fine(line, "src/core/a.h")

    def test_disabled_code(self):
        self.assert_banned("#if 0")
        self.assert_fine("#if defined(__x86_64__)")

    def test_open_work_marks(self):
        mark = "TO" + "DO"
        self.assert_banned(f"// {mark}: later")
        self.assertIn("banned", self.rules_of({"a.md": f"# A\n{mark}\n", "tools/b.sh": "true\n"}))
        self.assert_fine("// to do")

    def test_suppressions_in_a_line(self):
        self.assert_banned("int x;  // NO" + "LINT")


class AllowTest(TreeTest):

    ALLOW = "tools/lint/allow.txt"
    FAULT = {"src/base/a.h": header("void f() { goto out; }")}

    def test_exception_with_a_reason_excuses(self):
        self.assert_clean({**self.FAULT, self.ALLOW: "# why\nbanned src/base/a.h generated code\n"})

    def test_exception_without_a_reason_or_use_fires(self):
        self.assertEqual(["allow"],
                         self.rules_of({**self.FAULT, self.ALLOW: "banned src/base/a.h\n"}))
        self.assertEqual(["allow"], self.rules_of({self.ALLOW: "banned src/base/b.h old\n"}))


if __name__ == "__main__":
    unittest.main()
