"""Send one issue to everyone and verify what the provider received.

The worker or a yardstick runs as a separate process. Its time excludes the start of Python: for the
worker it runs from the first to the last attempt in the database. The time before that is spent on
the first claims and their rendering, one batch per thread. After each run the provider must have
received every reader's copy exactly once, because a sender that loses copies would look fast.
"""

from contextlib import ExitStack

from benchmarks.letter import LETTER
from benchmarks.site.site import Site
from benchmarks.site.within_site import within

# From the first recorded call to the last settlement.
_TOOK_S = """
    SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8
    FROM attempt JOIN edition ON edition.id = edition_id WHERE issue_id = %s
"""
_SENT = """
    SELECT sum(sent) FROM batch JOIN edition ON edition.id = edition_id WHERE issue_id = %s
"""


class NotTheSameError(Exception):
    """The provider received other copies than expected, so the time is invalid."""


def worker_rate(
    site: Site,
    readers: int,
    *,
    workers: int = 1,
    delay_ms: float = 0.0,
    html: str = LETTER,
    **settings: str,
) -> float:
    """Return copies per second of `workers` workers, otherwise with defaults."""
    _vacuum(site)
    issue = site.publish(html, **settings)
    site.provider.start(delay_ms=delay_ms, keep=True)
    with ExitStack() as started:
        running = [
            started.enter_context(site.running("deliver", "--until-empty", **settings))
            for _ in range(workers)
        ]
        for worker in running:
            if worker.wait():
                raise NotTheSameError(f"A worker ended with exit code {worker.returncode}.")
    sent = int(site.one(_SENT, issue))
    if sent != readers:
        raise NotTheSameError(f"{sent:,} of {readers:,} copies are sent.")
    _each_once(site, readers)
    return readers / float(site.one(_TOOK_S, issue))


def bare_loop_rate(site: Site, readers: int, *, batch: int) -> float:
    """Return copies per second of the loop without a framework."""
    return _yardstick(site, "benchmarks.yardsticks.bare_loop", readers, batch)


def one_by_one_rate(site: Site, readers: int) -> float:
    """Return copies per second of the naive worker."""
    return _yardstick(site, "benchmarks.yardsticks.one_by_one", readers)


def _yardstick(site: Site, module: str, readers: int, *more: int) -> float:
    _vacuum(site)
    provider = site.provider.start(keep=True)
    words = [site.database, provider, *(str(number) for number in (readers, *more))]
    took_s = within(site, module, *words)
    _each_once(site, readers)
    return readers / float(took_s)


def _vacuum(site: Site) -> None:
    """Remove dead rows of earlier runs, and with them the need for an autovacuum."""
    with site.connect() as connection:
        connection.execute("VACUUM (ANALYZE) delivery, batch, attempt")


def _each_once(site: Site, readers: int) -> None:
    counts = site.provider.counts()
    if counts.messages != readers or counts.readers != readers:
        raise NotTheSameError(
            f"The provider got {counts.messages:,} messages to {counts.readers:,} different "
            f"readers. Expected: one to each of {readers:,}. Got twice: {site.provider.twice()}"
        )
