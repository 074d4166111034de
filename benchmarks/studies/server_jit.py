"""PostgreSQL's CPU time for a copy with its own JIT setting, and without JIT.

`migrate` turns JIT off for the database. A third side turns it on there again, so that only the
functions of each call protect themselves. All sides take turns on one server.
"""

from collections.abc import Callable
from functools import partial

from benchmarks.frame import Options, RowResult, Target, in_turns, ratio, run_alone
from benchmarks.sending import sent_by_worker
from benchmarks.site.site import Site, a_site

ROW = "sending with the server's JIT setting"
OFF, OWN, ON = "jit = off on the server", "the server's own setting", "jit = on for the database"


def measure(options: Options) -> RowResult:
    """Measure the CPU time of each side."""
    readers = options.size(20_000, 500)
    with a_site() as site:
        site.readers(readers)
        has_compiler = site.one("SELECT set_config('jit', 'on', false) = 'on'") and site.one(
            "SELECT EXISTS (SELECT FROM pg_config WHERE name = 'CONFIGURE'"
            " AND setting LIKE '%--with-llvm%')"
        )
        sides: dict[str, Callable[[], float]] = {
            OFF: partial(database_us, site, readers, server="off", database="off"),
            OWN: partial(database_us, site, readers, server=None, database="off"),
            ON: partial(database_us, site, readers, server="on", database="on"),
        }
        off, own, on = in_turns(options, sides, "µs a copy")
    return RowResult(
        ROW,
        (
            Target(f"{OWN}: at most 1.25 × {OFF}", ratio(ROW, own, off), 1.25, True),
            Target(f"{ON}: at most 1.25 × {OFF}", ratio(ROW, on, off), 1.25, True),
        ),
        (off, own, on),
        () if has_compiler else ("This server has no compiler, so JIT changes nothing.",),
    )


def database_us(site: Site, readers: int, *, server: str | None, database: str) -> float:
    """Send to all readers; return PostgreSQL's CPU microseconds for a copy."""
    with site.connect() as connection:
        connection.execute(f"ALTER SYSTEM {f'SET jit = {server}' if server else 'RESET jit'}")
        connection.execute(f"ALTER DATABASE homing SET jit = {database}")
        connection.execute("SELECT pg_reload_conf()")
    sent = sent_by_worker(site, readers)
    return sent.cpu.database_s / sent.copies * 1e6


if __name__ == "__main__":
    run_alone(measure)
