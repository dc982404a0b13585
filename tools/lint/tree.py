"""The files of the tree that the lint looks at, and what a finding is."""
import dataclasses
import fnmatch
import functools
import pathlib
import subprocess

import cpp

CPP_SUFFIXES = {".cc", ".h"}
SCRIPT_SUFFIXES = {".py", ".sh", ".cmake"}
SCRIPT_NAMES = {"CMakeLists.txt", "check", "dev", "quickstart", "run"}


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    """One breach of one rule. A warning is printed and does not fail the lint."""

    path: str
    line: int
    rule: str
    text: str
    warning: bool = False

    def __str__(self):
        kind = "warning: " if self.warning else ""
        return f"{self.path}:{self.line}: {kind}{self.rule}: {self.text}"


class File:
    """One file: `path` from the root with slashes, `text`, and for C++ `code`, which is the text
    with comments and the insides of literals blanked, line for line."""

    def __init__(self, root, path):
        self.path = path
        self.name = path.rsplit("/", 1)[-1]
        self.folder = path.rsplit("/", 1)[0] if "/" in path else ""
        self._absolute = pathlib.Path(root, path)

    @functools.cached_property
    def text(self):
        return self._absolute.read_text(encoding="utf-8", errors="replace")

    @functools.cached_property
    def code(self):
        return cpp.blank(self.text)

    @property
    def suffix(self):
        return pathlib.PurePosixPath(self.path).suffix

    def is_cpp(self):
        return self.suffix in CPP_SUFFIXES

    def is_script(self):
        return self.suffix in SCRIPT_SUFFIXES or self.name in SCRIPT_NAMES

    def is_test(self):
        """Tests, benchmarks, fuzz targets and everything under tests/ and bench/."""
        stem = self.name.rsplit(".", 1)[0]
        return self.path.startswith(("tests/", "bench/")) or stem.endswith(
            ("_test", "_bench", "_fuzz"))

    def is_table(self):
        """Data written as code, by a person or a program: no limit of length."""
        return fnmatch.fnmatch(self.name, "*_table.*") or "/generated/" in f"/{self.path}"

    def matches(self, patterns):
        """True for a file in one of the folders, or named by one of the patterns."""
        return any(
            self.path == pattern or self.path.startswith(pattern + "/")
            or fnmatch.fnmatch(self.path, pattern) for pattern in patterns)


class Tree:
    """All files that git tracks or would track; without git, all but hidden and built ones."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = [File(root, path) for path in sorted(_paths(self.root))]

    def cpp(self, *patterns):
        return [file for file in self.files
                if file.is_cpp() and (not patterns or file.matches(patterns))]

    def markdown(self):
        return [file for file in self.files if file.suffix == ".md"]

    def has(self, path):
        return (self.root / path).exists()


def _paths(root):
    if (root / ".git").exists():
        listing = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"], capture_output=True, text=True, check=True).stdout
        return {path for path in listing.split("\0") if path and (root / path).is_file()}
    relative = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {path.as_posix() for path in relative
            if path.parts[0] != "build" and not any(part.startswith(".") for part in path.parts)}
