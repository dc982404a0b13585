"""A temporary tree with planted files, for the tests of the rules."""
import pathlib
import tempfile
import unittest

import lint


class TreeTest(unittest.TestCase):
    """`rules_of(files)` plants {path: text} and returns the names of the rules that fire."""

    def findings_of(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            return lint.findings_of(root)[0]

    def rules_of(self, files):
        return [finding.rule for finding in self.findings_of(files)]

    def assert_clean(self, files):
        self.assertEqual([], [str(finding) for finding in self.findings_of(files)])

    def assert_fires(self, rule, files, line=None):
        fired = [finding for finding in self.findings_of(files) if finding.rule == rule]
        self.assertTrue(fired, f"{rule} did not fire")
        if line is not None:
            self.assertEqual(line, fired[0].line)


def header(*lines):
    """A header that breaks no rule, with the given lines in it."""
    return "// A planted header that documents itself.\n#pragma once\n" + "\n".join(lines) + "\n"
