"""
Test letters: mails that show an author what a reader would get, before anything is published.

Each is an edition of its own, of one issue that is the same in every database, and its version is
its number. Its one copy goes to an address and to nobody on the list: no reader has the number 0.
Pure.
"""

from __future__ import annotations

from uuid import UUID

TEST_ISSUE = UUID("0d3cf5c3-3b0c-4f3e-9d64-6a1c6f0d3c52")
TEST_RECIPIENT = 0
MARK = "[Test] "


def mark_subject(title: str) -> str:
    """The subject of a test letter: nobody takes it for the issue itself."""
    return f"{MARK}{title}"
