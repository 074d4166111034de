"""Find words and sentences that are hard to read.

Run `python -m tests.plain_english [PATH …]`. It reads pages, messages, comments, docstrings, test
names and Markdown. It prints each finding with its file and line, and exits with 1 if there is
one. The reasons for the rules are in docs/decisions/0035-plain-english-and-translation.md.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.plain_english.prose import prose_files
from tests.plain_english.rules import Finding, all_findings
from tests.plain_english.translation_marks import unmarked_texts


def main() -> int:
    """Print every finding; the exit code is 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", help="files or folders; all tracked files by default")
    paths = [str(Path(path)) for path in parser.parse_args().paths]
    found = all_findings(paths)
    found += [
        Finding(path, line, words, "mark it for translation")
        for path in prose_files(*paths)
        for line, words in unmarked_texts(path)
    ]
    print(*found, sep="\n")
    print(f"{len(found)} texts to rewrite." if found else "Every text is plain.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
