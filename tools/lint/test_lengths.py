"""Planted lengths, and the finding of functions in C++ that they rest on."""
import unittest

import cpp
from test_support import TreeTest, header


def function(lines):
    """A function of `lines` lines in all."""
    return "int f() {\n" + "  g();\n" * (lines - 2) + "}\n"


class LengthTest(TreeTest):

    def test_function_of_70_lines_is_fine_and_of_71_fires(self):
        self.assert_clean({"src/base/a.h": header(function(70))})
        self.assert_fires("function-length", {"src/base/a.h": header(function(71))}, line=3)

    def test_tests_and_tables_have_no_limit(self):
        self.assert_clean({"src/base/a_test.cc": function(900),
                           "src/base/crc_table.cc": function(900)})

    def test_file_warns_over_400_and_fails_over_800(self):
        at_400 = header(*["int f();"] * 398)
        self.assert_clean({"src/base/a.h": at_400})
        warned = self.findings_of({"src/base/a.h": at_400 + "int g();\n"})
        self.assertEqual([("file-length", True)],
                         [(finding.rule, finding.warning) for finding in warned])
        failed = self.findings_of({"src/base/a.h": header(*["int f();"] * 799)})
        self.assertEqual([("file-length", False)],
                         [(finding.rule, finding.warning) for finding in failed])

    def test_100_columns_are_fine_and_101_fire(self):
        self.assert_clean({"src/base/a.h": header("//" + "x" * 98), "tools/a.py": "#" + "x" * 99})
        self.assert_fires("columns", {"src/base/a.h": header("//" + "x" * 99)}, line=3)
        self.assert_fires("columns", {"tools/a.py": "#" + "x" * 100})

    def test_columns_are_characters_not_bytes(self):
        self.assert_clean({"src/base/a.h": header("//" + "织" * 98)})


class FunctionsTest(unittest.TestCase):

    def functions_in(self, text):
        return [(f.name, f.first, f.last) for f in cpp.Scopes(cpp.blank(text)).functions]

    def test_methods_and_free_functions_in_nested_scopes(self):
        text = ("namespace a {\nnamespace {\nclass C final : public D {\n public:\n"
                "  int f() const { return 1; }\n private:\n  int x_ = 0;\n};\n}\n"
                "template <class T, int N = 3>\nint g(T t) {\n  if (t) {\n  }\n  return 0;\n}\n}\n")
        self.assertEqual([("f", 5, 5), ("g", 10, 15)], self.functions_in(text))

    def test_constructor_with_braces_in_its_initializers(self):
        text = "C::C(int a) : a_{a}, b_{1, 2} {\n  f();\n}\nvoid g() {\n}\n"
        self.assertEqual([("C::C", 1, 3), ("g", 4, 5)], self.functions_in(text))

    def test_constructor_with_parentheses_and_noexcept(self):
        text = "C::C() noexcept : a_(1),\n  b_{} {\n}\n"
        self.assertEqual([("C::C", 1, 3)], self.functions_in(text))

    def test_initializers_are_no_functions(self):
        text = ("constexpr int kA[] = {f(1), f(2)};\nenum class E : int { kX, kY };\n"
                "struct S { int a = 1; int b{2}; };\nconst auto kL = [](int x) { return x; };\n")
        self.assertEqual([], self.functions_in(text))

    def test_default_argument_with_braces(self):
        self.assertEqual([("f", 1, 2)], self.functions_in("void f(Options o = {}) {\n}\n"))

    def test_operators_and_destructors(self):
        text = "bool operator==(A a, A b) {\n}\nC::~C() {\n}\nA& A::operator=(const A& a) {\n}\n"
        self.assertEqual([(1, 2), (3, 4), (5, 6)],
                         [(first, last) for _, first, last in self.functions_in(text)])

    def test_return_types_and_qualifiers(self):
        text = ("[[nodiscard]] auto f() const noexcept -> int {\n}\n"
                "extern \"C\" int g(const char* p) {\n}\n"
                "std::array<int, 3> h() {\n}\n")
        self.assertEqual(["f", "g", "h"], [name for name, _, _ in self.functions_in(text)])

    def test_braces_in_literals_comments_and_macros_do_not_count(self):
        text = ("#define OPEN {\nvoid f() {\n  g(\"{{\", '{', 1'000);  // {\n"
                "  h(R\"x(}\n{{)x\");  /* { */\n}\nvoid i() {\n}\n")
        self.assertEqual([("f", 2, 6), ("i", 7, 8)], self.functions_in(text))


if __name__ == "__main__":
    unittest.main()
