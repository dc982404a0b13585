"""Counts the tests of a ctest JUnit file: prints "passed failed skipped".

Usage: junit.py FILE CTEST_LOG EXIT_STATUS FAILED_LOG. The output of the failing tests goes to
FAILED_LOG. A test run that ended badly although no test failed (nothing could be discovered) counts
as one failure: a run must never look better than it was.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

# What GoogleTest prints around the message of a failure.
_FRAME = re.compile(r"Running main\(\)|Note: Google Test filter|\[[ =\-A-Z]{8,}\]"
                    r"| *\d+ FAILED TEST|$")


def message_of(output: str) -> str:
    """The lines of a test's output that say what failed, with paths from the root of the tree."""
    lines = [line for line in output.splitlines() if not _FRAME.match(line)]
    return "".join(f"  {line.replace('../../', '')}\n" for line in lines)


def reasons_of(ctest_log: str) -> dict:
    """Why each test failed (Failed, Timeout, SEGFAULT): ctest says it in its log only."""
    with open(ctest_log, encoding="utf-8", errors="replace") as log:
        return {match[1]: match[2].lower()
                for match in re.finditer(r"^\s+\d+ - (.+) \((.*)\)$", log.read(), re.MULTILINE)}


def main(path: str, ctest_log: str, exit_status: str, failed_log: str) -> int:
    passed = failed = skipped = 0
    reasons = reasons_of(ctest_log)
    with open(failed_log, "w", encoding="utf-8") as log:
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            if case.find("failure") is not None or case.get("status") == "fail":
                failed += 1
                output = case.findtext("system-out") or ""
                name = case.get("name")
                log.write(f"{name}: {reasons.get(name, 'failed')}\n{message_of(output)}")
            elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
                skipped += 1
            else:
                passed += 1
        if exit_status != "0" and failed == 0:
            failed = 1
            log.write(f"ctest ended with status {exit_status} and named no failing test\n")
    print(passed, failed, skipped)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
