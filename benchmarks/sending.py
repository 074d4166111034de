"""Send one issue to everyone and verify what the provider received.

The worker or a yardstick runs as a separate process. The measured time excludes the start of
Python: for the worker, it runs from the first to the last attempt that the database records. Before
the first attempt, each thread claims and renders one batch. CPU time includes this first batch and
the worker's end. After each run the provider must have received every reader's copy exactly once,
because a sender that loses copies would look fast.
"""

import resource
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.cpu_time import CpuTime, cpu_s, database_server
from benchmarks.frame import Measured
from benchmarks.site.site import Site
from benchmarks.site.within_site import within
from benchmarks.yardsticks.bare_loop import run_bare_loop, run_one_by_one

# The seconds from the first recorded call to the last settlement.
_TOOK_S = """
    SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8
    FROM attempt JOIN edition ON edition.id = edition_id WHERE issue_id = %s
"""
_SENT = """
    SELECT sum(sent) FROM batch JOIN edition ON edition.id = edition_id WHERE issue_id = %s
"""

_IS_CLAIMED = "SELECT 1 FROM batch WHERE edition_id = %s AND epoch > 0 LIMIT 1"


class NotTheSameError(Exception):
    """The provider did not receive the expected copies, so the time is invalid."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of one sending: copies, calls of the provider, seconds, CPU time."""

    copies: int
    calls: int
    took_s: float
    cpu: CpuTime

    @property
    def rate(self) -> float:
        """Return copies per second."""
        return self.copies / self.took_s


class Sendings:
    """The results of several senders, round by round."""

    def __init__(self) -> None:
        self._runs: dict[str, list[Sent]] = {}

    def rate_of(self, name: str, send: Callable[[], Sent]) -> Callable[[], float]:
        """Return a function that sends once, keeps the result and returns the rate."""

        def rate() -> float:
            sent = send()
            self._runs.setdefault(name, []).append(sent)
            return sent.rate

        return rate

    def cpu(self, name: str, rounds: int) -> tuple[Measured, Measured, Measured]:
        """Return the CPU time of a copy in the latest rounds.

        The three figures are for the sender, for the database, and for both together.
        """
        runs = self._runs[name][-rounds:]

        def figure(whose: str, seconds: Callable[[CpuTime], float]) -> Measured:
            values = tuple(seconds(run.cpu) / run.copies * 1e6 for run in runs)
            return Measured(f"{name}, CPU of {whose}", "µs a copy", values)

        return (
            figure("sender", lambda cpu: cpu.sender_s),
            figure("database", lambda cpu: cpu.database_s),
            figure("both", lambda cpu: cpu.total_s),
        )


def worker_rate(site: Site, readers: int, **how: Any) -> float:
    """Return a worker's copies per second; `how` has options of `sent_by_worker`."""
    return sent_by_worker(site, readers, **how).rate


def sent_by_worker(
    site: Site,
    readers: int,
    *,
    delay_ms: float = 0.0,
    **settings: str,
) -> Sent:
    """Send with one worker. Options that are not given have their defaults.

    The CPU time is counted from the first claim to the worker's end.
    """
    _vacuum(site)
    site.provider.start(delay_ms=delay_ms)
    sent = _sent_by_worker(site, readers, settings)
    return replace(sent, calls=_each_once(site, readers))


def sent_over_smtp(site: Site, readers: int, port: int) -> Sent:
    """Send with one worker and its defaults to an SMTP server on this machine."""
    _vacuum(site)
    # The CPU time is read from the provider's process, which has nothing to do here.
    site.provider.start()
    settings = {"MAIL_PROVIDER": "django", "EMAIL_URL": f"smtp://127.0.0.1:{port}"}
    return _sent_by_worker(site, readers, settings)


def _sent_by_worker(site: Site, readers: int, settings: Mapping[str, str]) -> Sent:
    issue = site.publish(**settings)
    earlier_s = _ended_children_s()
    with site.running("deliver", "--until-empty", **settings) as worker:
        before = _at_the_first_claim(site, issue, worker)
        if worker.wait():
            raise NotTheSameError(f"The worker ended with exit code {worker.returncode}.")
        cpu = _cpu(site, _ended_children_s() - earlier_s) - before
    sent = int(site.one(_SENT, issue))
    if sent != readers:
        raise NotTheSameError(f"{sent:,} of {readers:,} copies are sent.")
    return Sent(readers, 0, float(site.one(_TOOK_S, issue)), cpu)


def sent_by_bare_loop(site: Site, readers: int, *, batch: int, threads: int = 1) -> Sent:
    """Send with the yardstick `bare_loop`, which uses no framework."""
    return _yardstick(site, run_bare_loop, readers, batch, threads)


def sent_one_by_one(site: Site, readers: int) -> Sent:
    """Send with the yardstick `one_by_one`, which is a naive worker."""
    return _yardstick(site, run_one_by_one, readers)


def _yardstick(site: Site, run: Callable[..., Any], readers: int, *more: int) -> Sent:
    _vacuum(site)
    provider = site.provider.start()
    before_s = cpu_s(site.provider.pid)
    took_s, sender_s, database_s = within(site, run, site.database, provider, readers, *more)
    provider_s = cpu_s(site.provider.pid) - before_s
    calls = _each_once(site, readers)
    return Sent(readers, calls, took_s, CpuTime(sender_s, database_s, provider_s))


def _vacuum(site: Site) -> None:
    """Remove dead rows of earlier runs, so that no autovacuum runs during the send."""
    with site.connect() as connection:
        connection.execute("VACUUM (ANALYZE) delivery, batch, attempt")


def _at_the_first_claim(site: Site, issue: str, worker: subprocess.Popen[str]) -> CpuTime:
    """Wait for the first claim; return the CPU time so far."""
    edition = site.one("SELECT id FROM edition WHERE issue_id = %s", issue)
    with site.connect() as connection:
        while not connection.execute(_IS_CLAIMED, [edition]).fetchone():
            if worker.poll() is not None:
                raise NotTheSameError("The worker ended before it claimed anything.")
            time.sleep(0.01)
    return _cpu(site, cpu_s(worker.pid))


def _cpu(site: Site, sender_s: float) -> CpuTime:
    with site.connect() as connection:
        server = database_server(connection)
    return CpuTime(sender_s, cpu_s(server), cpu_s(site.provider.pid))


def _ended_children_s() -> float:
    """Return the CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _each_once(site: Site, readers: int) -> int:
    """Return the provider's calls; raise an error unless each reader got one copy."""
    counts = site.provider.counts()
    if counts.messages != readers or counts.readers != readers:
        raise NotTheSameError(
            f"The provider got {counts.messages:,} messages to {counts.readers:,} different "
            f"readers. Expected: one to each of {readers:,}."
        )
    return counts.calls
