"""
After a worker was killed with `kill -9`: when does its work go on?

Two real workers with four calls each, one after the other, and the sandbox as their provider, which
can be searched as Postmark can. The first is killed at the worst moment, the second is started at
once and has to find out by itself. Two moments are taken:

- It has claimed four batches and started none of their calls. They are to be taken again within
  the lease and ten seconds. Counted from the kill to the start of each batch's own call, by the
  database's clock; so the start of the second worker's Python is in it.
- Four of its calls are in the air, and the provider never answers them. Two it accepted, and two it
  did not. What is in doubt is to be settled within the schedule of look-ups, of which the last
  decides that a call surely never arrived. Counted from the end of each call's deadline, which is
  where the schedule counts from when nobody wrote down how the call ended, to the moment that
  nothing of the batch is in doubt.

Lease, deadline and schedule are short here, so that it ends soon; they stand in the notes. What
follows from a longer one is longer by as much: nothing else of it is waited for.

In the end everybody has one copy and nobody two, by the sandbox's own count.
"""

import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import psycopg

from benchmarks.frame import Measured, Options, RowResult, Target, run_alone, say, shown
from benchmarks.site.sandbox import Sandbox, a_sandbox
from benchmarks.site.site import Site, a_site

BATCH, CALLS = 100, 4
# Half of the calls are in the air when the worker is killed, the other half is still in line.
READERS = 2 * CALLS * BATCH
LEASE_S, DEADLINE_S, LOOK_UPS_S = 5.0, 5.0, (6.0, 9.0, 12.0)
# How soon somebody looks: workers sweep every five seconds and poll once a second, and of several
# calls in doubt one is asked about after the other.
CLAIM_MARGIN_S = LOOK_UP_MARGIN_S = 10.0
SETTINGS = {
    "DELIVERY_BATCH_SIZE": str(BATCH),
    "DELIVERY_CONCURRENCY": str(CALLS),
    "DELIVERY_LEASE_S": f"{LEASE_S:g}",
    "DELIVERY_HTTP_DEADLINE_S": f"{DEADLINE_S:g}",
    "DELIVERY_LOOKUP_AFTER_S": ",".join(f"{after:g}" for after in LOOK_UPS_S),
}
LONGEST_S = 120.0
LOOK_EVERY_S = 0.05


def measure(options: Options) -> RowResult:
    """How long each of the two took, round by round."""
    claimed: list[float] = []
    found: list[float] = []
    absent: list[float] = []
    with a_site() as site, closing(site.connect()) as database:
        site.readers(READERS)
        for number in range(1, options.rounds + 1):
            with a_sandbox() as sandbox:
                claimed.append(Scene(site, database, sandbox).killed_between_claim_and_call())
            with a_sandbox() as sandbox:
                had, had_not = Scene(site, database, sandbox).killed_with_calls_in_the_air()
            found.append(had)
            absent.append(had_not)
            told = ", ".join(shown(times[-1], "s") for times in (claimed, found, absent))
            say(f"  round {number}: claimed again after, found after, surely absent after: {told}")
    lease_s, last_s = LEASE_S + CLAIM_MARGIN_S, LOOK_UPS_S[-1] + LOOK_UP_MARGIN_S
    settings = ", ".join(f"{name}={value}" for name, value in SETTINGS.items())
    return RowResult(
        "recovery after kill -9",
        (
            Target(
                f"claimed work within lease + 10 s: here {lease_s:g} s",
                Measured("from the kill to the last of its calls", "s", tuple(claimed)),
                lease_s,
                at_most=True,
            ),
            Target(
                f"unknown attempts within their look-ups: here {LOOK_UPS_S[-1]:g} s + "
                f"{LOOK_UP_MARGIN_S:g} s to come to it",
                Measured("from the deadline to the last that was settled", "s", tuple(absent)),
                last_s,
                at_most=True,
            ),
        ),
        (Measured("of them those that the provider had", "s", tuple(found)),),
        (settings, "each figure is that of the slowest batch of a round"),
    )


class Scene:
    """One issue to everyone, a worker that is killed with it, and one that comes after."""

    def __init__(self, site: Site, database: psycopg.Connection[Any], sandbox: Sandbox) -> None:
        self._site = replace(site, settings=site.settings | SETTINGS)
        self._database, self._sandbox = database, sandbox

    def killed_between_claim_and_call(self) -> float:
        """Seconds from the kill until the last batch that it had claimed was in a call again."""
        edition = self._publish()
        with psycopg.connect(self._site.database) as other, self._worker() as worker:
            # It claims, and then waits to read the copies that it is to render.
            other.execute("LOCK TABLE delivery IN ACCESS EXCLUSIVE MODE")
            until("the worker had claimed", lambda: len(self._held(edition, "claimed")) == CALLS)
            killed_at = self._clock()
            kill(worker)
        lost = self._held(edition, "claimed")
        assert len(lost) == CALLS, lost
        with self._worker("--until-empty") as next_worker:
            assert next_worker.wait(LONGEST_S) == 0
        self._everybody_has_one(edition)
        took = self._one(
            "SELECT extract(epoch FROM max(started_at) - %s)::float8 FROM attempt "
            "WHERE batch_id = ANY(%s)",
            [killed_at, lost],
        )
        return float(took)

    def killed_with_calls_in_the_air(self) -> tuple[float, float]:
        """
        Seconds from the deadline of its calls until the last one was settled that the provider had,
        and until the last one was that it had not.
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
            # What surely never arrived was sent once more, which is an attempt of its own.
            took = (settled_at[batch] - deadline).total_seconds()
            (found if attempts == 1 else absent).append(took)
        assert len(found) == len(absent) == CALLS // 2, (found, absent)
        return max(found), max(absent)

    def _publish(self) -> int:
        """The edition's id."""
        issue = self._site.publish()
        return int(self._one("SELECT id FROM edition WHERE issue_id = %s", [issue]))

    def _worker(self, *options: str) -> AbstractContextManager[subprocess.Popen[str]]:
        return self._site.running("deliver", *options, POSTMARK_BASE_URL=self._sandbox.url)

    def _held(self, edition: int, state: str) -> list[int]:
        rows = self._database.execute(
            "SELECT id FROM batch WHERE edition_id = %s AND state = %s", [edition, state]
        )
        return [batch for (batch,) in rows]

    def _when_settled(self, lost: Sequence[int]) -> dict[int, datetime]:
        """When each batch was first seen to be neither in its lost call nor in doubt about it."""
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

        until("all calls in doubt were settled", all_are)
        return settled_at

    def _everybody_has_one(self, edition: int) -> None:
        sent = self._one(
            "SELECT count(*) FROM delivery JOIN edition USING (issue_id, version) "
            "WHERE edition.id = %s AND outcome = 'sent'",
            [edition],
        )
        summary = self._sandbox.summary()
        accepted = (summary["accepted"], summary["distinct_deliveries"])
        assert (sent, *accepted) == (READERS, READERS, READERS), (sent, accepted)

    def _clock(self) -> datetime:
        return cast("datetime", self._one("SELECT clock_timestamp()", []))

    def _one(self, sql: str, values: Sequence[Any]) -> Any:
        row = self._database.execute(sql, values).fetchone()
        assert row is not None
        return row[0]


def kill(worker: subprocess.Popen[str]) -> None:
    """kill -9, and wait until it is gone."""
    worker.kill()
    worker.wait()


def until(what: str, is_so: Callable[[], bool]) -> None:
    """Wait until it is so."""
    for _ in range(round(LONGEST_S / LOOK_EVERY_S)):
        if is_so():
            return
        time.sleep(LOOK_EVERY_S)
    raise RuntimeError(f"After {LONGEST_S:g} s it was still not so that {what}.")


if __name__ == "__main__":
    run_alone(measure)
