"""
One issue sent to everybody by a worker, or by one of the yardsticks, and what the provider saw.

Whoever is timed is a process of its own and is timed while it sends, without the start of its
Python: the worker by the database's record of its first and its last attempt, before which lie only
its first claims and what it rendered of them, of all its batches as many as it has threads. After
each run the provider must have been given every reader's copy, and nobody's twice: what loses
copies is fast.
"""

from contextlib import ExitStack

from benchmarks.letter import LETTER
from benchmarks.site.site import Site
from benchmarks.site.within_site import within

# From the moment at which the first call is on record until the last one is settled.
_TOOK_S = """
    SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8
    FROM attempt JOIN edition ON edition.id = edition_id WHERE issue_id = %s
"""
_SENT = """
    SELECT sum(sent) FROM batch JOIN edition ON edition.id = edition_id WHERE issue_id = %s
"""


class NotTheSameError(Exception):
    """What was sent is not what was to be sent, so its time says nothing."""


def worker_rate(
    site: Site,
    readers: int,
    *,
    workers: int = 1,
    delay_ms: float = 0.0,
    html: str = LETTER,
    **settings: str,
) -> float:
    """Copies per second of so many workers under these settings, otherwise with their defaults."""
    _rested(site)
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
    """Copies per second of the loop without a framework."""
    return _yardstick(site, "benchmarks.yardsticks.bare_loop", readers, batch)


def one_by_one_rate(site: Site, readers: int) -> float:
    """Copies per second of the naive worker."""
    return _yardstick(site, "benchmarks.yardsticks.one_by_one", readers)


def _yardstick(site: Site, module: str, readers: int, *more: int) -> float:
    _rested(site)
    provider = site.provider.start(keep=True)
    words = [site.database, provider, *(str(number) for number in (readers, *more))]
    took_s = within(site, module, *words)
    _each_once(site, readers)
    return readers / float(took_s)


def _rested(site: Site) -> None:
    """None inherits the dead rows of those who ran before, nor a vacuum on their account."""
    with site.connect() as connection:
        connection.execute("VACUUM (ANALYZE) delivery, batch, attempt")


def _each_once(site: Site, readers: int) -> None:
    counts = site.provider.counts()
    if counts.messages != readers or counts.readers != readers:
        raise NotTheSameError(
            f"The provider was given {counts.messages:,} messages to {counts.readers:,} different "
            f"readers, and there are {readers:,}; twice: {site.provider.twice()}"
        )
