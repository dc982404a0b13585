"""The lint of the tree: `python3 tools/lint [ROOT]`. Exit 1 when a rule is broken.

Rules are in arrows.py, lengths.py, banned.py, mutable_globals.py, headers.py, documents.py; each
has `check(tree)`, which gives findings. STYLE.md says why they exist.
"""
import sys

import lint

if __name__ == "__main__":
    sys.exit(lint.main(sys.argv[1] if len(sys.argv) > 1 else "."))
