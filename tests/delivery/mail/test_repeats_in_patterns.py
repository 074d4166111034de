"""Patterns match the same texts on every supported Python.

Before Python 3.11.5, a possessive repeat of a group may miss a match (gh-106052), and Debian 12 has
3.11.2. An equivalent that works in every version is a repeat in an atomic group, `(?>(?:…)*)`.
"""

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
PACKAGES = [
    "api",
    "delivery",
    "idempotency",
    "newsletter_site",
    "postmark_sandbox",
    "publishing",
    "subscribers",
]
# A possessive repeat: a closing bracket or an inserted pattern, followed by a repeat and a plus.
POSSESSIVE = re.compile(r"(?<!\\)(?:\\\\)*[)}](?:[*+?]|\{\{?[0-9][^}]*\}{1,3})\+")


def test_no_repeat_of_a_group_is_possessive():
    files = [path for name in PACKAGES for path in (REPOSITORY / name).rglob("*.py")]
    assert files
    possessive = [
        f"{path.relative_to(REPOSITORY)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if POSSESSIVE.search(line)
    ]
    assert not possessive
