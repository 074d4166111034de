"""Send to a large list while workers are killed, calls fail and the search lags.

`python -m tests.long_runs.chaos storm|chaos`. In the end every reader has one copy, the records
balance, and no operator had to act. `chaos` has shorter time-outs, and workers that end when the
queue is empty.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import django
import psycopg

from benchmarks.site.sandbox_process import a_sandbox
from tests.faults.processes.forked_workers import Crew
from tests.long_runs.clean_environment import clean_environment
from tests.postgres_cluster import ROOT

WORKERS = 4
KILL_EVERY_S = 1.0
SHARE_CUT = 0.05
SAY_EVERY = 10
# In this number of calls, each kind of fault certainly occurs.
ENOUGH_CALLS = 500


@dataclass(frozen=True)
class Conditions:
    """The faults of a run, and its times, which are shorter than the defaults."""

    readers: int
    call_ms: int  # long enough that kills find calls in flight
    refused: float  # share of calls answered 429
    search_is_late_s: int
    settings: dict[str, str]
    options: tuple[str, ...] = ()


# As with the default settings, the last look-up comes well after the search has caught up.
CONDITIONS = {
    "storm": Conditions(
        readers=500_000,
        call_ms=200,
        refused=0.05,
        search_is_late_s=30,
        settings={
            "DELIVERY_HTTP_DEADLINE_S": "5",
            "DELIVERY_LEASE_S": "5",
            "DELIVERY_LOOKUP_AFTER_S": "10,40,60",
            "DELIVERY_RETRY_BASE_S": "0.5",
            "DELIVERY_RETRY_CAP_S": "10",
        },
    ),
    "chaos": Conditions(
        readers=100_000,
        call_ms=100,
        refused=0.0,
        search_is_late_s=0,
        settings={
            "DELIVERY_HTTP_DEADLINE_S": "4",
            "DELIVERY_LEASE_S": "2",
            "DELIVERY_LOOKUP_AFTER_S": "1,2,3",
            "DELIVERY_RETRY_BASE_S": "0.1",
            "DELIVERY_RETRY_CAP_S": "1",
        },
        options=("--until-empty",),
    ),
}


def main() -> int:
    """Publish once, kill workers until every reader is served, and check the counts."""
    options = argparse.ArgumentParser(prog="python -m tests.long_runs.chaos", description=__doc__)
    options.add_argument("name", choices=CONDITIONS)
    options.add_argument("--seed", type=int, default=1789)
    options.add_argument("--readers", type=int)
    chosen = options.parse_args()
    conditions = CONDITIONS[chosen.name]
    readers = chosen.readers or conditions.readers
    clean_environment(
        DJANGO_SETTINGS_MODULE="newsletter_site.settings",
        DATABASE_URL="postgres://127.0.0.1:9/none",  # the server names its own
    )
    django.setup()
    from tests.faults.servers.postgres_server import OwnServer

    server = OwnServer("\n")  # durable, as in production
    try:
        with server.fresh_database() as name, server.as_djangos_own(server.url(name)):
            faults = _run(server.url(name), conditions, readers, chosen.seed)
    finally:
        server.remove()
    print(*faults, sep="\n")
    return 1 if faults else 0


def _run(url: str, conditions: Conditions, readers: int, seed: int) -> list[str]:
    """Run under these conditions; return a sentence for each fault found at the end."""
    # A refused call cannot be cut off as well, so a larger share of the other calls is cut off.
    cut = SHARE_CUT / (1 - conditions.refused)
    faults = (
        f"refuse_429:probability={conditions.refused},seed={seed}",
        f"accept_then_close:probability={cut:.6f},seed={seed + 1}",
        f"search_delay:seconds={conditions.search_is_late_s}",
    )
    options = [word for fault in faults for word in ("--fault", fault)]
    with (
        psycopg.connect(url, autocommit=True) as session,
        a_sandbox("--latency-ms", str(conditions.call_ms), *options) as provider,
        tempfile.TemporaryDirectory() as folder,
        closing(
            Crew(
                url,
                provider.url,
                Path(folder) / "log",
                *conditions.options,
                **conditions.settings,
            )
        ) as crew,
    ):
        _publish(session, readers)
        print(f"{readers:,} readers, {conditions}", flush=True)
        began = time.monotonic()
        _kill_until_served(crew, session, readers, random.Random(seed))
        alone = crew.ended_alone()
        statuses = crew.statuses(crew.running) if conditions.options else crew.stop()
        summary = provider.summary()
        sendings = summary["calls"]["by_path"].get("/email/batch", 0)
        cut_off = summary["calls"]["by_fault"].get("accept_then_close", 0)
        minutes = (time.monotonic() - began) / 60
        print(
            f"{crew.kills} kills, {sendings} calls: {summary['calls']['by_fault']}, "
            f"{minutes:.1f} minutes"
        )
        alarms = session.execute("SELECT kind FROM alarm WHERE kind <> 'batch_crashing'").fetchall()
        audit = subprocess.run(
            [sys.executable, "manage.py", "audit"],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": url},
            capture_output=True,
            text=True,
            check=False,
        )
        expected = {
            "workers ended alone": (0 if not conditions.options else alone, alone),
            "exit codes": ([0] * WORKERS, statuses),
            "sent, waiting, unconfirmed": ((readers, 0, 0), _counts(session)),
            "accepted copies": (readers, summary["accepted"]),
            "accepted deliveries": (readers, summary["distinct_deliveries"]),
            "readers with two copies": (0, summary["readers_with_two_of_one_edition"]),
            "alarms": ([], alarms),  # Two killed workers look like a crashing batch.
            "audit": (0, audit.returncode),
            "no call cut off": (False, sendings >= ENOUGH_CALLS and not cut_off),
            "kills": (True, crew.kills > 0),
        }
        found = [
            f"{what}: {is_so}" for what, (wanted, is_so) in expected.items() if wanted != is_so
        ]
        return [*found, audit.stdout, crew.last_lines()] if found else []


def _publish(session: psycopg.Connection, readers: int) -> None:
    from django.contrib.auth import get_user_model

    from publishing.content.edition_content import Content
    from publishing.publish.publish_edition import publish

    session.execute(
        """
        INSERT INTO subscriber (email, name, state, source, confirmed_at)
        SELECT 'reader' || n || '@example.net', 'Reader ' || n, 'confirmed', 'sign-up', now()
        FROM generate_series(1, %s::int) AS n
        """,
        [readers],
    )
    session.execute("ANALYZE subscriber")
    author = get_user_model().objects.create_superuser("author", "author@example.org")
    letter = Content.from_input(title="Swifts", html="<p>Dear {{ name|reader }}.</p>")
    publish(author.pk, "the-author-pressed-once", letter, hold_s=0)


def _kill_until_served(
    crew: Crew, session: psycopg.Connection, readers: int, dice: random.Random
) -> None:
    """Kill one worker a second until every reader is served or time runs out."""
    crew.begin(WORKERS)
    pause = threading.Event()
    began = time.monotonic()
    while (counts := _counts(session))[0] < readers:
        if time.monotonic() - began > 400 + readers / 250:
            return
        pause.wait(KILL_EVERY_S)
        crew.kill_one(dice)
        if crew.kills % SAY_EVERY == 0:
            print(f"{crew.kills} kills; sent, waiting, unconfirmed: {counts}", flush=True)


def _counts(session: psycopg.Connection) -> tuple[int, int, int]:
    """Return how many copies are sent, waiting and unconfirmed."""
    query = "SELECT sum(sent)::int, sum(waiting)::int, sum(unknown)::int FROM batch"
    row = session.execute(query).fetchone()
    assert row is not None
    return row[0], row[1], row[2]


if __name__ == "__main__":
    sys.exit(main())
