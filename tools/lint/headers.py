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
    stem = re.sub(r"_(test|bench|fuzz)$", "", file.path[:-len(".cc")])
    header = stem + ".h"
    first = _FIRST_INCLUDE.search(file.text)
    if header in paths and (first is None or not header.endswith("/" + first.group(1))):
        yield Finding(file.path, 1, "own-header",
                      f"includes {header.removeprefix('src/')} first, which proves it whole")
    needs_test = (file.path.startswith("src/") and not file.path.startswith("src/cli/")
                  and not file.is_test() and not file.is_table() and file.name != "main.cc")
    if needs_test and stem + "_test.cc" not in paths:
        yield Finding(file.path, 1, "test-beside", f"{stem}_test.cc is missing")
