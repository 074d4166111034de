"""Limit how PostgreSQL plans the statements of a transaction."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.backends.utils import CursorWrapper

SCANS = ("enable_seqscan", "enable_bitmapscan")


@contextmanager
def plan_without(cursor: CursorWrapper, *methods: str) -> Iterator[None]:
    """Plan the statements of this block without methods such as `enable_seqscan`.

    Requires the caller's transaction. Where nothing else is possible, the planner uses a method
    all the same. Before PostgreSQL 18 it then counts 10,000,000,000 for it, and the server
    compiles every statement above `jit_above_cost` (100,000) to machine code, which takes longer
    than the statement. Therefore the block has no JIT compilation either."""
    # Constants of this program, which cannot be parameters of SET.
    names = ("jit", *methods)
    cursor.execute("; ".join(f"SET LOCAL {name} = off" for name in names))
    yield
    cursor.execute("; ".join(f"SET LOCAL {name} TO DEFAULT" for name in names))
