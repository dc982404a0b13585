"""Planted includes: the arrow and the third-party lists."""
import unittest

import arrows
from test_support import TreeTest, header

BASE = {"src/base/ids.h": header()}
WIRE = {"src/wire/codec.h": header('#include "base/ids.h"')}


class ArrowTest(TreeTest):

    def test_include_along_the_arrow_is_fine(self):
        self.assert_clean({**BASE, **WIRE})

    def test_include_against_the_arrow_fires(self):
        self.assert_fires("arrow", {**WIRE, "src/base/ids.h": header('#include "wire/codec.h"')},
                          line=3)

    def test_include_of_a_sibling_that_is_not_listed_fires(self):
        self.assert_fires("arrow", {"src/topo/fabric.h": header(),
                                    "src/core/flow.h": header('#include "topo/fabric.h"')})

    def test_own_folder_and_its_sub_folders_are_fine(self):
        self.assert_clean({"src/sim/net/link.h": header('#include "sim/clock.h"'),
                           "src/sim/clock.h": header()})

    def test_one_listed_header_of_a_folder_is_fine_and_its_neighbour_fires(self):
        files = {"src/io/driver.h": header(), "src/io/udp.h": header()}
        self.assert_clean({**files, "src/sim/link.h": header('#include "io/driver.h"')})
        self.assert_fires("arrow", {**files, "src/sim/link.h": header('#include "io/udp.h"')})

    def test_file_that_is_nowhere_fires(self):
        self.assert_fires("arrow", {"src/base/ids.h": header('#include "ids_detail.h"')})

    def test_folder_without_a_line_in_the_table_fires(self):
        self.assert_fires("arrow", {"src/extras/x.h": header()})

    def test_plugin_sees_the_public_headers_only(self):
        files = {**BASE, "include/zhinu/zhinu.h": header()}
        self.assert_clean({**files, "plugins/nccl/a.h": header("#include <zhinu/zhinu.h>")})
        self.assert_fires("arrow", {**files, "plugins/nccl/a.h": header('#include "base/ids.h"')})

    def test_unit_test_keeps_to_the_arrow_of_its_folder(self):
        self.assert_fires("arrow", {"src/core/flow.h": header(),
                                    "src/wire/codec_test.cc": '#include "core/flow.h"\n'})

    def test_commented_out_include_does_not_fire(self):
        self.assert_clean({**WIRE, "src/base/ids.h": header('// #include "wire/codec.h"')})

    def test_table_with_an_unknown_verb_is_refused(self):
        with self.assertRaises(ValueError):
            arrows.Arrows("src/base includes src/wire")


class ThirdPartyTest(TreeTest):

    def test_standard_and_system_headers_are_fine(self):
        self.assert_clean({"src/io/udp.h": header("#include <vector>", "#include <sys/socket.h>",
                                                  "#include <linux/if_link.h>")})

    def test_openssl_only_in_aead(self):
        include = "#include <openssl/evp.h>"
        self.assert_clean({"src/base/aead.h": header(include)})
        self.assert_fires("third-party", {"src/base/crc.h": header(include)})
        self.assert_fires("third-party", {"src/core/aead.h": header(include)})

    def test_gtest_only_in_tests(self):
        include = "#include <gtest/gtest.h>"
        self.assert_clean({"src/base/ids_test.cc": include, "tests/scenario_test.cc": include})
        self.assert_fires("third-party", {"src/base/ids.h": header(include)})

    def test_benchmark_only_in_benchmarks(self):
        include = "#include <benchmark/benchmark.h>"
        self.assert_clean({"src/base/ids_bench.cc": include, "bench/micro/ids_bench.cc": include})
        self.assert_fires("third-party", {"src/base/ids_test.cc": include})

    def test_json_only_where_listed(self):
        include = "#include <nlohmann/json.hpp>"
        self.assert_clean({"src/cli/report.h": header(include)})
        self.assert_fires("third-party", {"src/sim/report.h": header(include)}, line=3)

    def test_threads_and_sockets_are_refused_below_the_runtime(self):
        for name in ("thread", "sys/socket.h", "chrono"):
            self.assert_fires("third-party", {"src/core/flow.h": header(f"#include <{name}>")})
        self.assert_clean({"src/rt/worker.h": header("#include <thread>", "#include <chrono>")})


if __name__ == "__main__":
    unittest.main()
