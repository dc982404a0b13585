"""Rule `banned`: calls, headers and marks that do not belong into the tree, and what to do instead.

A ban holds for the files of `where` without those of `unless`.
"""
import dataclasses
import re

from tree import Finding

# What reads the clock: drivers, the runtime, the lab, the programs, and what measures.
_CLOCK_OWNERS = ("src/rt", "src/io", "src/lab", "src/control", "src/cli", "bench", "tests/lab")
_CODE = ("src", "plugins", "examples", "tests", "bench")


@dataclasses.dataclass(frozen=True)
class Ban:
    pattern: str
    instead: str
    where: tuple = ("src",)
    unless: tuple = ()
    tests_too: bool = False


BANS = (
    Ban(r"\b(?:std::)?(?:(?:rand|random|drand48)\s*\(\s*\)|(?:srand|srandom|rand_r)\s*\()",
        "take a base/prng.h by argument", where=_CODE, tests_too=True),
    Ban(r"#\s*include\s*<random>|\bstd::(?:random_device|mt19937)",
        "take a base/prng.h by argument", tests_too=True),
    Ban(r"\b(?:system_clock|steady_clock|high_resolution_clock)\b"
        r"|\b(?:clock_gettime|gettimeofday|timespec_get|__rdtsc|__builtin_ia32_rdtsc)\b"
        r"|\b(?:std::)?time\s*\(\s*(?:nullptr|NULL|0|&)",
        "the time is an argument", where=_CODE, unless=_CLOCK_OWNERS, tests_too=True),
    Ban(r"(?<![\w.>])(?:sleep|usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until)"
        r"\s*\(\s*[^\s)]",
        "wait for an event with a deadline", where=_CODE, unless=("tests/lab",), tests_too=True),
    Ban(r"(?<![\w.>])(?:std::|::)?(?:_?exit|_Exit|quick_exit)\s*\(",
        "return an error; only main ends the process"),
    Ban(r"(?<![\w.>])(?:std::|::)?abort\s*\(\s*\)", "ZHINU_ASSERT, or return an error",
        unless=("src/base/check.*",)),
    Ban(r"#\s*include\s*<(?:cassert|assert\.h)>|(?<!\w)assert\s*\(", "ZHINU_ASSERT, always on"),
    Ban(r"#\s*include\s*<iostream>|\bstd::(?:cout|cerr|clog)\b",
        "return text, or std::fprintf in a program"),
    Ban(r"#\s*include\s*<(?:regex|regex\.h)>|\bstd::(?:regex|smatch|cmatch)\b",
        "parse by hand, with a limit"),
    Ban(r"\bgoto\b", "a function, or a destructor", where=_CODE),
    Ban(r"\busing\s+namespace\b", "name what is used", where=_CODE + ("include",)),
    Ban(r"\b(?:std::)?(?:secure_)?getenv\s*\(",
        "options are read once at the entry point and passed on",
        unless=("src/cli", "src/rt", "src/capi")),
    Ban(r"\bnew\b(?!\s*\()|\b(?:std::)?(?:malloc|calloc|realloc|strdup)\s*\(",
        "all memory comes at creation, through containers and std::make_unique",
        where=("src/core",)),
)

# Written in parts, so that this file does not breach its own rule.
_OPEN_WORK = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b")
_DISABLED = re.compile(r"^[ \t]*#[ \t]*if[ \t]+(?:0|false)\b", re.MULTILINE)
_SUPPRESSION = re.compile(r"NO" r"LINT|cppcheck-sup" r"press|clang-format" r" off")


def check(tree):
    findings = []
    for file in tree.files:
        if file.is_cpp():
            findings += _bans(file)
            findings += _marks(file, file.text, _DISABLED, "disabled code: delete it")
            findings += _marks(file, file.text, _SUPPRESSION,
                               "no suppression in a line: mend it, or tools/lint/allow.txt")
        if file.is_cpp() or file.is_script() or file.suffix == ".md":
            findings += _marks(file, file.text, _OPEN_WORK, "finish it, or write an issue")
    return findings


def _bans(file):
    for ban in BANS:
        if not file.matches(ban.where) or file.matches(ban.unless):
            continue
        if file.is_test() and not ban.tests_too:
            continue
        yield from _marks(file, file.code, re.compile(ban.pattern), ban.instead)


def _marks(file, text, pattern, instead):
    for match in pattern.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Finding(file.path, line, "banned", f"`{' '.join(match.group().split())}`: {instead}")
