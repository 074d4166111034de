"""Limit how PostgreSQL plans the statements of a transaction."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.backends.utils import CursorWrapper

# PostgreSQL expects few rows in a table that was never analysed, for example after a dump was
# restored. With this wrong estimate, a nested loop over readers and suppressions takes minutes.
NESTED_LOOPS = "enable_nestloop"
SCANS = ("enable_seqscan", "enable_bitmapscan")


@contextmanager
def plan_without(cursor: CursorWrapper, *methods: str) -> Iterator[None]:
    """Plan the statements of this block without methods such as `enable_seqscan`.

    Requires the caller's transaction. If no other method is possible, the planner uses a forbidden
    method. For a forbidden method, PostgreSQL before 18 adds 10,000,000,000 to the statement's
    cost. PostgreSQL then compiles each statement whose cost is above `jit_above_cost` (100,000),
    and compiling takes longer than running the statement. So `plan_without` turns JIT compilation
    off as well.
    """
    # The names are constants of this program. SET accepts no parameters.
    names = ("jit", *methods)
    cursor.execute("; ".join(f"SET LOCAL {name} = off" for name in names))
    yield
    cursor.execute("; ".join(f"SET LOCAL {name} TO DEFAULT" for name in names))
