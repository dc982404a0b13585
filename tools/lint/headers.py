"""Rules `header`, `own-header` and `test-beside`: each header documented and whole, each source
tested beside itself."""
import re

from tree import Finding

_COMMENT_CHARACTERS_MIN = 24
_FIRST_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)


def check(tree):
    findings = []
    paths = {file.path for file in tree.files}
    for file in tree.cpp("src", "include", "plugins", "tests", "bench"):
        if file.suffix == ".h":
            findings += _header(file)
        else:
            findings += _source(file, paths)
    return findings


def _header(file):
    comment = re.match(r"\s*((?://[^\n]*\n)+|/\*.*?\*/)", file.text, re.DOTALL)
    if comment is None or len(comment.group()) < _COMMENT_CHARACTERS_MIN:
        yield Finding(file.path, 1, "header",
                      "starts with a comment: what, units, owner, thread, failure")
    if not re.search(r"^#pragma once$", file.text, re.MULTILINE):
        yield Finding(file.path, 1, "header", "#pragma once is missing")


def _source(file, paths):
    stem = file.path.removesuffix(".cc").removesuffix("_test")
    header = stem + ".h"
    first = _FIRST_INCLUDE.search(file.text)
    if header in paths and (first is None or not header.endswith("/" + first.group(1))):
        yield Finding(file.path, 1, "own-header",
                      f"includes {header.removeprefix('src/')} first, which proves it whole")
    needs_test = (file.path.startswith("src/") and not file.path.startswith("src/cli/")
                  and not file.is_test() and not file.is_table() and file.name != "main.cc")
    if needs_test and not any(test in paths for test in _tests_of(stem, first, paths)):
        yield Finding(file.path, 1, "test-beside", f"{stem}_test.cc is missing")


def _tests_of(stem, first_include, paths):
    """x_test.cc; where x.cc is one of several sources of y.h, so that there is no x.h and its
    first include is y.h, also y_test.cc."""
    tests = [stem + "_test.cc"]
    if first_include is not None and stem + ".h" not in paths:
        declared_in = "src/" + first_include.group(1).removesuffix(".h")
        if declared_in.rsplit("/", 1)[0] == stem.rsplit("/", 1)[0]:
            tests.append(declared_in + "_test.cc")
    return tests
