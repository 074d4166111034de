"""How tests over arbitrary input run: the same examples every time, and nothing kept on disk."""

from __future__ import annotations

from hypothesis import settings

# No deadline: how long an example takes says more about the machine than about the code.
repeatable = settings(derandomize=True, deadline=None, database=None, max_examples=300)
