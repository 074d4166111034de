"""
How much faster is the worker than the obvious loop?

The obvious loop claims one row, sends one message, deletes the row and commits. The worker is one
real `deliver --until-empty` with its defaults, its promises included. Both send the same 2 kB
letter to the same provider, which answers at once, over the same PostgreSQL with full durability,
on this machine, in turns. Both are timed while they work, without the start of their Python: the
worker by the database's record of its first and its last attempt. What counts is the ratio; both
rates move with the machine.

    .venv/bin/python -m benchmarks.worker_against_one_by_one [--readers 100000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time

from benchmarks.site import LETTER, Site, a_site

LOOP_ROWS = 2_000


def the_loop(database: str, provider: str) -> float:
    """Copies per second of the obvious loop."""
    import orjson
    import psycopg
    import requests

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS one_by_one")
        connection.execute("CREATE TABLE one_by_one (id bigint PRIMARY KEY, address text)")
        connection.execute(
            "INSERT INTO one_by_one SELECT n, 'reader' || n || '@example.net' "
            "FROM generate_series(1, %s) n",
            [LOOP_ROWS],
        )
        connection.autocommit = False
        session = requests.Session()
        began = time.monotonic()
        while True:
            row = connection.execute(
                "SELECT id, address FROM one_by_one ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"
            ).fetchone()
            if row is None:
                break
            body = {
                "From": "letter@example.org",
                "To": row[1],
                "Subject": "Swifts",
                "HtmlBody": LETTER,
                "MessageStream": "broadcast",
            }
            session.post(f"{provider}/email", data=orjson.dumps(body)).raise_for_status()
            connection.execute("DELETE FROM one_by_one WHERE id = %s", [row[0]])
            connection.commit()
        took = time.monotonic() - began
        connection.rollback()
        connection.execute("DROP TABLE one_by_one")
        connection.commit()
    return LOOP_ROWS / took


def the_worker(site: Site, readers: int) -> float:
    """Copies per second of one worker process."""
    issue = site.publish()
    totals = json.loads(site.manage("deliver", "--until-empty").splitlines()[-1])
    assert totals["sent"] == readers, totals
    took = site.one(
        "SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 "
        "FROM attempt JOIN edition ON edition.id = edition_id WHERE issue_id = %s",
        issue,
    )
    return readers / float(took)


def main() -> None:
    """Measure both in turns and print the ratio of the medians."""
    options = argparse.ArgumentParser(description="The worker against the obvious loop.")
    options.add_argument("--readers", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--at-least", type=float, default=15.0, help="exit 1 below this ratio")
    chosen = options.parse_args()

    with a_site() as site:
        site.readers(chosen.readers)
        loop, worker = [], []
        for number in range(1, chosen.rounds + 1):
            loop.append(the_loop(site.database, site.provider.url))
            worker.append(the_worker(site, chosen.readers))
            print(
                f"round {number}: loop {loop[-1]:,.0f}/s, worker {worker[-1]:,.0f}/s, "
                f"{worker[-1] / loop[-1]:.1f} times",
                flush=True,
            )
    ratio = statistics.median(worker) / statistics.median(loop)
    print(f"The worker is {ratio:.1f} times as fast as the loop (medians of {chosen.rounds}).")
    if ratio < chosen.at_least:
        sys.exit(f"Expected at least {chosen.at_least:g} times.")


if __name__ == "__main__":
    main()
