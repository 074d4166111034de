"""Test letters: all are versions of one issue, and each goes to one address.

Their recipient id is 0.
"""

from uuid import UUID

TEST_ISSUE = UUID("0d3cf5c3-3b0c-4f3e-9d64-6a1c6f0d3c52")
TEST_RECIPIENT = 0
MARK = "[Test] "


def mark_subject(title: str) -> str:
    """Mark the subject of a test letter."""
    return f"{MARK}{title}"
