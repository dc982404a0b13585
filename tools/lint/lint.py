"""Runs all rules over one tree, takes out what allow.txt excuses, prints the rest."""
import pathlib

import arrows
import banned
import documents
import headers
import lengths
import mutable_globals
from tree import Finding, Tree

RULES = (arrows, banned, documents, headers, lengths, mutable_globals)
ALLOW = "tools/lint/allow.txt"


def findings_of(root):
    """All findings in the tree at `root`, sorted, and the number of files looked at."""
    tree = Tree(root)
    findings = [finding for rule in RULES for finding in rule.check(tree)]
    allow = pathlib.Path(root, ALLOW)
    if allow.exists():
        findings = _excuse(findings, allow.read_text(encoding="utf-8"))
    return sorted(findings), len(tree.files)


def _excuse(findings, text):
    """The findings that no line of allow.txt excuses, and the lines that excuse none."""
    left = list(findings)
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        rule, path, *reason = line.split()
        kept = [finding for finding in left if (finding.rule, finding.path) != (rule, path)]
        if not reason:
            kept.append(Finding(ALLOW, number, "allow", "an exception needs a reason"))
        elif len(kept) == len(left):
            kept.append(Finding(ALLOW, number, "allow", f"{rule} {path} is not needed any more"))
        left = kept
    return left


def main(root):
    findings, files = findings_of(root)
    for finding in findings:
        print(finding)
    faults = sum(not finding.warning for finding in findings)
    print(f"{files} files, {faults} faults, {len(findings) - faults} warnings")
    return 1 if faults else 0
