"""What does one copy cost the database, from claim to settlement?

One real `deliver` with batches of 200 sends a 2 kB letter to 100,000 readers, and the provider
answers at once. From the worker's start to its end, the database counts all bytes of write-ahead
log, all updates of delivery rows, and those updates that stayed within their page. VACUUM
and a checkpoint run before the issue is published, so the clean-up after the previous issue is not
part of the figures. The row fails if a checkpoint occurs while work is counted. The server's
setting full_page_writes is on, and no webhooks arrive.
"""

import json
from contextlib import closing

from benchmarks.database_work import NO_CHECKPOINTS, DatabaseWork, Work
from benchmarks.frame import Measured, Options, RowResult, at_least, at_most, say
from benchmarks.site.site import Site, a_site

BATCH = 200


def measure(options: Options) -> RowResult:
    """Measure bytes, updates and HOT updates per copy, round by round."""
    copies = options.size(100_000, 10_000)
    rounds: list[Work] = []
    with a_site() as site:
        site.readers(copies)
        with closing(site.connect()) as database:
            for name, value in NO_CHECKPOINTS.items():
                database.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            database.execute("SELECT pg_reload_conf()")
        for number in range(1, options.rounds + 1):
            work = one_send(site, copies)
            rounds.append(work)
            say(f"  round {number}: {work.wal_bytes / copies:,.0f} B a copy")

    def of_each(name: str, unit: str, counts: list[float]) -> Measured:
        return Measured(name, unit, tuple(counts))

    delivery = [work.changes["delivery"] for work in rounds]
    wal = of_each("WAL a copy", "B", [work.wal_bytes / copies for work in rounds])
    updates = of_each("updates a copy", "", [each.updated / copies for each in delivery])
    hot = of_each("within their page", "%", [100 * each.hot / each.updated for each in delivery])
    batches = of_each(
        "updates of each batch's row",
        "",
        [work.changes["batch"].updated * BATCH / copies for work in rounds],
    )
    return RowResult(
        f"database cost of {copies:,} copies",
        (
            at_most("at most 400 B of WAL a copy", wal, 400),
            at_most("one row update a copy", updates, 1),
            at_least("at least 80 % of them HOT", hot, 80),
        ),
        (batches,),
        (
            f"from claim to settling, batches of {BATCH}, no checkpoint in between; "
            + ", ".join(f"{name} {value}" for name, value in NO_CHECKPOINTS.items()),
        ),
    )


def one_send(site: Site, copies: int) -> Work:
    """Send one issue to everyone; return the database's work."""
    with closing(site.connect()) as database:
        database.execute("VACUUM (ANALYZE)")
        database.execute("CHECKPOINT")
        site.publish()
        counting = DatabaseWork(database, ("delivery", "batch"))
        output = site.manage("deliver", "--until-empty", DELIVERY_BATCH_SIZE=str(BATCH))
        work = counting.so_far()
    assert json.loads(output.splitlines()[-1])["sent"] == copies, output
    assert not work.had_a_checkpoint, "a checkpoint came in between, so the counts are invalid"
    return work
