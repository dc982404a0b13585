"""Planted globals, headers and sources."""
import unittest

from test_support import TreeTest, header


class MutableGlobalTest(TreeTest):

    def assert_mutable(self, line):
        files = {"src/base/a.h": header("namespace zhinu {", line, "}")}
        self.assert_fires("mutable-global", files, line=4)

    def assert_fine(self, line):
        self.assert_clean({"src/base/a.h": header("namespace zhinu {", line, "}")})

    def test_variables_of_a_namespace(self):
        for line in ("int count = 0;", "static std::vector<int> list;", "inline Options options{};",
                     "thread_local int depth = 0;", 'const char* name = "x";',
                     "constinit int a = 1;"):
            self.assert_mutable(line)

    def test_constants_and_declarations(self):
        for line in ("constexpr int kCount = 3;", "const std::string_view kName = \"x\";",
                     "inline constexpr std::array<int, 2> kList = {1, 2};", "int f(int x);",
                     'constexpr const char* kText = "x";', "using A = int;", "class B;",
                     "template <class T> T g(T t);", "enum class E { kA };",
                     "extern template class C<int>;",
                     "struct D { int x = 0; static constexpr int kY = 1; static D make(); };",
                     "const char* const kPair[] = {\"a\"};", "static_assert(sizeof(int) == 4);"):
            self.assert_fine(line)

    def test_static_members_and_locals(self):
        self.assert_mutable("struct D { static int count; };")
        self.assert_mutable("inline int f() { static int count = 0; return ++count; }")
        self.assert_fine("inline int f() { static const int kX = g(); return kX; }")
        self.assert_fine("inline int f() { return static_cast<int>(g()); }")

    def test_tests_may_have_state(self):
        self.assert_clean({"src/base/a_test.cc": "int allocations = 0;\n"})


class HeaderTest(TreeTest):

    def test_header_needs_a_comment_and_pragma_once(self):
        comment = "// A planted header that documents itself.\n"
        self.assert_fires("header", {"src/base/a.h": "#pragma once\nint f();\n"})
        self.assert_fires("header", {"src/base/a.h": "// Ids.\n#pragma once\n"})
        self.assert_fires("header", {"src/base/a.h": comment + "int f();\n"})
        self.assert_clean({"src/base/a.h": comment + "#pragma once\n"})

    def test_source_includes_its_own_header_first(self):
        files = {"src/cli/a.h": header(), "src/cli/b.h": header()}
        good = '#include "cli/a.h"\n\n#include "cli/b.h"\n'
        bad = '#include "cli/b.h"\n\n#include "cli/a.h"\n'
        self.assert_clean({**files, "src/cli/a.cc": good})
        self.assert_fires("own-header", {**files, "src/cli/a.cc": bad})
        self.assert_fires("own-header", {**files, "src/cli/a_test.cc": bad})

    def test_source_has_its_test_beside_it(self):
        self.assert_fires("test-beside", {"src/base/a.cc": "int f();\n"})
        self.assert_clean({"src/base/a.cc": "int f();\n", "src/base/a_test.cc": "int g();\n"})

    def test_sources_of_one_header_share_its_test(self):
        files = {"src/wire/codec.h": header(), "src/base/ids.h": header(),
                 "src/wire/codec_test.cc": '#include "wire/codec.h"\n'}
        source = '#include "wire/codec.h"\n'
        self.assert_clean({**files, "src/wire/encode.cc": source, "src/wire/decode.cc": source})
        self.assert_fires("test-beside", {**files, "src/wire/a.cc": '#include "base/ids.h"\n'})
        self.assert_fires("test-beside", {**files, "src/wire/a.cc": source,
                                          "src/wire/a.h": header()})

    def test_no_test_is_asked_of_programs_and_tables(self):
        self.assert_clean({"src/cli/bench.cc": "int f();\n", "src/rt/main.cc": "int f();\n",
                           "src/base/crc_table.cc": "int f();\n"})


if __name__ == "__main__":
    unittest.main()
