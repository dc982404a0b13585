"""Counts the tests of a ctest JUnit file: prints "passed failed skipped".

Usage: junit.py FILE EXIT_STATUS FAILED_LOG. The output of the failing tests goes to FAILED_LOG. A
test run that ended badly although no test failed (nothing could be discovered) counts as one
failure: a run must never look better than it was.
"""
import sys
import xml.etree.ElementTree as ElementTree


def main(path: str, exit_status: str, failed_log: str) -> int:
    passed = failed = skipped = 0
    with open(failed_log, "w", encoding="utf-8") as log:
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            if case.find("failure") is not None or case.get("status") == "fail":
                failed += 1
                output = case.findtext("system-out") or ""
                log.write(f"{case.get('name')} failed:\n{output.strip()}\n\n")
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
    sys.exit(main(*sys.argv[1:4]))
