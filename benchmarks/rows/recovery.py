"""How soon does the work of a killed worker continue?

Two real workers run one after the other, with four calls each. The sandbox is the provider, and
workers can search its messages as they search Postmark's. The first worker is killed with `kill -9`
at the worst moment. The second worker starts at once and must recover the work automatically. Two
moments are measured with short settings:

- The first worker has claimed four batches and started no call. The batches must be claimed again
  within the lease and ten seconds. The time runs from the kill to the start of each batch's own
  call, by the database's clock. This time includes the start of the second worker's Python.
- Four calls of the first worker are in flight and never get an answer. The provider accepted two of
these calls. All four calls must be settled within the schedule of look-ups; the last look-up
decides that a call never arrived. The time runs from each call's deadline until the batch has no
unconfirmed copy. If the end of a call is not recorded, the schedule begins at the call's deadline.

The notes show lease, deadline and schedule. A longer lease, deadline or schedule makes
the measured times longer by the same amount.

A third moment is measured with the default settings: calls of several processes are in flight when
all processes are killed. Four of these calls are accepted and get no answer. The search shows
accepted mail at once. The time runs from the kill until every copy of the issue is settled. A
complete but never accepted request waits for the whole schedule, as in the second measurement.

At the end, the sandbox counts exactly one copy for every reader.
"""

import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import psycopg

from benchmarks.frame import Measured, Options, RowResult, at_most, say, shown
from benchmarks.site.sandbox_process import Sandbox, a_sandbox
from benchmarks.site.site import Site, a_site, kill

BATCH, CALLS = 100, 4
# When the worker is killed, half of the calls are in flight and half are still queued.
READERS = 2 * CALLS * BATCH
LEASE_S, DEADLINE_S, LOOK_UPS_S = 5.0, 5.0, (6.0, 9.0, 12.0)
# Allow ten seconds: workers reap leases every five seconds and poll once a second, and they look up
# unconfirmed calls one after another.
CLAIM_MARGIN_S = LOOK_UP_MARGIN_S = 10.0
SETTINGS = {
    "DELIVERY_BATCH_SIZE": str(BATCH),
    "DELIVERY_PROCESSES": "1",
    "DELIVERY_CONCURRENCY": str(CALLS),
    "DELIVERY_LEASE_S": f"{LEASE_S:g}",
    "DELIVERY_HTTP_DEADLINE_S": f"{DEADLINE_S:g}",
    "DELIVERY_LOOKUP_AFTER_S": ",".join(f"{after:g}" for after in LOOK_UPS_S),
}
# This number is larger than the number of copies that all processes can have in flight.
READERS_BY_DEFAULT = 5_000
BY_DEFAULT_S = 120.0
LONGEST_S = 300.0
LOOK_EVERY_S = 0.05


def measure(options: Options) -> RowResult:
    """Measure both times, round by round."""
    claimed: list[float] = []
    found: list[float] = []
    absent: list[float] = []
    by_default: list[float] = []
    with (
        a_site() as site,
        closing(site.connect()) as database,
        a_site() as default_site,
        closing(default_site.connect()) as default_database,
    ):
        site.readers(READERS)
        default_site.readers(READERS_BY_DEFAULT)
        site = replace(site, settings=site.settings | SETTINGS)
        for number in range(1, options.rounds + 1):
            with a_sandbox() as sandbox:
                claimed.append(Scene(site, database, sandbox).killed_between_claim_and_call())
            with a_sandbox() as sandbox:
                had, had_not = Scene(site, database, sandbox).killed_with_calls_in_flight()
            found.append(had)
            absent.append(had_not)
            with a_sandbox() as sandbox:
                scene = Scene(default_site, default_database, sandbox)
                by_default.append(scene.killed_with_the_defaults())
            times = (claimed, found, absent, by_default)
            after = ", ".join(shown(each[-1], "s") for each in times)
            say(f"  round {number}: until claimed again, found, absent, with defaults: {after}")
    lease_s, last_s = LEASE_S + CLAIM_MARGIN_S, LOOK_UPS_S[-1] + LOOK_UP_MARGIN_S
    settings = ", ".join(f"{name}={value}" for name, value in SETTINGS.items())
    return RowResult(
        "recovery after kill -9",
        (
            at_most(
                f"claimed work within lease + 10 s: here {lease_s:g} s",
                Measured("from the kill to the last call of that work", "s", tuple(claimed)),
                lease_s,
            ),
            at_most(
                f"unknown attempts within their look-ups: here {LOOK_UPS_S[-1]:g} s + "
                f"{LOOK_UP_MARGIN_S:g} s to reach it",
                Measured("from the deadline to the last settlement", "s", tuple(absent)),
                last_s,
            ),
            at_most(
                f"with the defaults within {BY_DEFAULT_S:g} s",
                Measured("from the kill to the last settlement", "s", tuple(by_default)),
                BY_DEFAULT_S,
            ),
        ),
        (Measured("the same for calls that the provider accepted", "s", tuple(found)),),
        (settings, "each figure is for the slowest batch in a round"),
    )


class Scene:
    """One issue to all readers, a worker that is killed, and the worker that follows."""

    def __init__(self, site: Site, database: psycopg.Connection[Any], sandbox: Sandbox) -> None:
        self._site, self._database, self._sandbox = site, database, sandbox

    def killed_between_claim_and_call(self) -> float:
        """Return the seconds from the kill until every claimed batch is called again."""
        edition = self._publish()
        with psycopg.connect(self._site.database) as other, self._worker() as worker:
            # The worker claims batches, then waits to read the newsletter's settings.
            other.execute("LOCK TABLE newsletter IN ACCESS EXCLUSIVE MODE")
            until("the worker had claimed", lambda: len(self._held(edition, "claimed")) == CALLS)
            killed_at = self._clock()
            kill(worker)
        lost = self._held(edition, "claimed")
        assert len(lost) == CALLS, lost
        with self._worker("--until-empty") as next_worker:
            assert next_worker.wait(LONGEST_S) == 0
        self._everybody_has_one(edition)
        took = self._site.one(
            "SELECT extract(epoch FROM max(started_at) - %s)::float8 FROM attempt "
            "WHERE batch_id = ANY(%s)",
            *(killed_at, lost),
        )
        return float(took)

    def killed_with_calls_in_flight(self) -> tuple[float, float]:
        """Return the seconds from the deadline to the last settlement, for two groups.

        The first group contains the calls that the provider accepted, and the second group the
        other calls.
        """
        self._sandbox.set_fault("hold", moment="after_accept", calls=CALLS // 2)
        self._sandbox.set_fault("hold", moment="before_accept", calls=CALLS // 2)
        edition = self._publish()
        with self._worker() as worker:
            self._sandbox.wait_until_held(CALLS)
            kill(worker)
        lost = self._held(edition, "sending")
        assert len(lost) == CALLS, lost
        with self._worker("--until-empty") as next_worker:
            settled_at = self._when_settled(lost)
            assert next_worker.wait(LONGEST_S) == 0
        self._everybody_has_one(edition)
        found: list[float] = []
        absent: list[float] = []
        for batch, attempts, deadline in self._database.execute(
            "SELECT batch_id, count(*), min(deadline_at) FROM attempt "
            "WHERE batch_id = ANY(%s) GROUP BY batch_id",
            [lost],
        ):
            # A call that never arrived is repeated once, as a new attempt.
            took = (settled_at[batch] - deadline).total_seconds()
            (found if attempts == 1 else absent).append(took)
        assert len(found) == len(absent) == CALLS // 2, (found, absent)
        return max(found), max(absent)

    def killed_with_the_defaults(self) -> float:
        """Return the seconds from the kill until every copy of the issue is settled."""
        self._sandbox.set_fault("hold", moment="after_accept", calls=CALLS)
        edition = self._publish()
        with self._worker() as worker:
            self._sandbox.wait_until_held(CALLS)
            killed_at = self._clock()
            kill(worker)
        with self._worker("--until-empty") as next_worker:
            assert next_worker.wait(LONGEST_S) == 0
        self._everybody_has_one(edition)
        return (self._clock() - killed_at).total_seconds()

    def _publish(self) -> int:
        """Publish an issue; return the edition's id."""
        issue = self._site.publish()
        return int(self._site.one("SELECT id FROM edition WHERE issue_id = %s", issue))

    def _worker(self, *options: str) -> AbstractContextManager[subprocess.Popen[str]]:
        return self._site.running("deliver", *options, POSTMARK_BASE_URL=self._sandbox.url)

    def _held(self, edition: int, state: str) -> list[int]:
        rows = self._database.execute(
            "SELECT id FROM batch WHERE edition_id = %s AND state = %s", [edition, state]
        )
        return [batch for (batch,) in rows]

    def _when_settled(self, lost: Sequence[int]) -> dict[int, datetime]:
        """Return the time from which each batch had no lost call and no unconfirmed copy."""
        settled_at: dict[int, datetime] = {}

        def all_are() -> bool:
            rows = self._database.execute(
                """
                SELECT id, clock_timestamp() FROM batch
                WHERE id = ANY(%(lost)s)
                  AND NOT (state IN ('sending', 'unknown', 'looking_up')
                           AND attempt = (SELECT id FROM attempt WHERE batch_id = batch.id
                                          ORDER BY started_at LIMIT 1))
                """,
                {"lost": list(lost)},
            )
            for batch, now in rows:
                settled_at.setdefault(batch, now)
            return len(settled_at) == len(lost)

        until("all unconfirmed calls were settled", all_are)
        return settled_at

    def _everybody_has_one(self, edition: int) -> None:
        sent = self._site.one(
            "SELECT count(*) FROM delivery JOIN edition USING (issue_id, version) "
            "WHERE edition.id = %s AND outcome = 'sent'",
            edition,
        )
        summary = self._sandbox.summary()
        accepted = (summary["accepted"], summary["distinct_deliveries"])
        readers = self._site.one("SELECT audience FROM edition WHERE id = %s", edition)
        assert (sent, *accepted) == (readers, readers, readers), (sent, accepted, readers)

    def _clock(self) -> datetime:
        return cast("datetime", self._site.one("SELECT clock_timestamp()"))


def until(what: str, is_so: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    for _ in range(round(LONGEST_S / LOOK_EVERY_S)):
        if is_so():
            return
        time.sleep(LOOK_EVERY_S)
    raise RuntimeError(f"Not within {LONGEST_S:g} s: {what}.")
