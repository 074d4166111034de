"""How does the worker's rate change with readers, processes, size, calls?

Four tables: 10,000 to 5,000,000 readers; one to eight processes; letters of 2, 20 and 100 kB; calls
of 0 to 1,000 ms. Everything runs on this one machine. The duration of a claim and of a settlement
must not grow with the list: then a list of any length can be sent. After each run the provider must
have received every reader's copy once.

    .venv/bin/python -m benchmarks.studies.growth [readers] [workers] [bodies] [calls] [--quick]

The longest list of 5,000,000 takes some ten minutes, and 6 GB of disk for its database.
"""

import argparse
import statistics
import sys
from collections.abc import Callable

from benchmarks.frame import (
    Measure,
    Measured,
    Options,
    RowResult,
    Target,
    add_options,
    carried_out,
    percent,
    ratio,
    say,
    shown,
)
from benchmarks.letter import letter
from benchmarks.phases import Phases
from benchmarks.programs.sign_in import sessions_of
from benchmarks.sending import worker_rate
from benchmarks.site.site import Site, a_site
from benchmarks.site.within_site import within

BATCH, CALLS = 200, 4
BATCHES = {"DELIVERY_BATCH_SIZE": str(BATCH)}
ONE_PROCESS = BATCHES | {"DELIVERY_PROCESSES": "1", "DELIVERY_CONCURRENCY": str(CALLS)}
# The newest issue: copies settled in the first and in the last tenth of its duration.
_TENTHS = """
    WITH call AS (
        SELECT finished_at AS at, accepted FROM attempt JOIN edition ON edition.id = edition_id
        WHERE edition_id = (SELECT max(id) FROM edition) AND finished_at IS NOT NULL
    ), span AS (SELECT min(at) AS began, (max(at) - min(at)) / 10 AS tenth FROM call)
    SELECT sum(accepted) FILTER (WHERE at > began + 9 * tenth)::float8
           / sum(accepted) FILTER (WHERE at <= began + tenth) * 100
    FROM call, span
"""


# The newest issue: from the edition's row until all its copies exist.
_FILLING_S = """
    SELECT extract(epoch FROM recorded.at - published_at)::float8
    FROM edition, LATERAL (
        SELECT max(action_time) FROM django_admin_log WHERE object_id = issue_id::text
    ) AS recorded (at)
    ORDER BY edition.id DESC LIMIT 1
"""
_BYTES_A_COPY = """
    SELECT pg_total_relation_size('delivery')::float8 / (SELECT sum(audience) FROM edition)
"""
_BYTES_A_READER = """
    SELECT pg_total_relation_size('subscriber')::float8 / (SELECT count(*) FROM subscriber)
"""
_NEWEST = "SELECT issue_id FROM edition ORDER BY id DESC LIMIT 1"
READINGS = 20


def readers(options: Options) -> RowResult:
    """Measure lists of 10,000 to 5,000,000 readers."""
    sizes = [1_000, 2_000] if options.quick else [10_000, 100_000, 1_000_000, 5_000_000]
    rates, claims, settles, ends, fillings, readings, copies, entries = (
        [[] for _ in sizes] for _ in range(8)
    )
    for _ in range(options.rounds):
        with a_site() as site:
            (session,) = sessions_of(site, 1)
            for place, size in enumerate(sizes):
                site.readers(size)
                phases = Phases(size)
                with phases.counted(site):
                    rate = worker_rate(site, size, **BATCHES)
                    rates[place].append(_print_rate(f"{size:,} readers", rate))
                took_s = phases.runs[0].took_s
                claims[place].append(took_s["claim"] / (size / BATCH) * 1000)
                settles[place].append(took_s["settle"] / (size / BATCH) * 1000)
                ends[place].append(float(site.one(_TENTHS)))
                fillings[place].append(float(site.one(_FILLING_S)))
                readings[place].append(_reading_ms(site, session))
                copies[place].append(float(site.one(_BYTES_A_COPY)))
                entries[place].append(float(site.one(_BYTES_A_READER)))
    rate = _figures(sizes, "{:,} readers", "copies/s", rates)
    claim = _figures(sizes, "a claim at {:,}", "ms", claims)
    settle = _figures(sizes, "a settlement at {:,}", "ms", settles)
    last = _figures(
        sizes, "rate in the last tenth of the time, as a share of the first, at {:,}", "%", ends
    )
    return RowResult(
        "more readers",
        (
            Target(
                "a claim on the longest list: at most 1.5 × one on the second shortest",
                ratio("claim", claim[-1], claim[1]),
                1.5,
                True,
            ),
            Target(
                "a settlement on the longest list: at most 1.5 × one on the second shortest",
                ratio("settle", settle[-1], settle[1]),
                1.5,
                True,
            ),
            Target(
                "the longest send: at least 80 % as fast in its last tenth as in its first",
                last[-1],
                80,
                False,
            ),
        ),
        (
            *rate,
            *claim,
            *settle,
            *last,
            *_figures(sizes, "filling the queue for {:,}", "s", fillings),
            *_figures(sizes, "a reading of the progress page at {:,}", "ms", readings),
            *_figures(sizes, "a sent copy on disk, with indexes, at {:,}", "B", copies),
            *_figures(sizes, "a reader on disk, with indexes, at {:,}", "B", entries),
        ),
        (
            "One worker; batches of 200, a provider that answers at once, 2 kB.",
            "Readings in the view, without a send.",
        ),
    )


def _reading_ms(site: Site, session: str) -> float:
    """Return the median time of a reading of the newest issue, in the view."""
    path = f"/admin/newsletters/{site.one(_NEWEST)}/progress.json?version=1"
    reading_times = within(site, "benchmarks.programs.read_progress", session, path, str(READINGS))
    return float(statistics.median(in_view for in_view, *_ in reading_times["own"]))


def workers(options: Options) -> RowResult:
    """Measure one to eight worker processes for one issue, on the same two cores."""
    size = options.size(200_000, 2_000)
    numbers = [1, 2] if options.quick else [1, 2, 4, 8]
    rate = _on_one_site(
        options, size, [(_so_many(number), _with_workers(number)) for number in numbers]
    )
    return RowResult(
        "more processes",
        (
            Target(
                "2 processes on two cores at least 1.5 × as fast as one",
                ratio("processes", rate[1], rate[0]),
                1.5,
                False,
            ),
        ),
        rate,
        (
            f"{size:,} readers, a provider that answers at once. Worker, PostgreSQL and provider",
            "share the cores of one machine, so this says nothing about more machines.",
        ),
    )


def bodies(options: Options) -> RowResult:
    """Measure letters of 2, 20 and 100 kB."""
    size = options.size(40_000, 1_000)
    lengths = (2_000, 20_000, 100_000)
    rate = _on_one_site(
        options, size, [(f"{length // 1000} kB", _with_letter(length)) for length in lengths]
    )
    carried = tuple(
        Measured(f"{each.name}, as letters", "MB/s", tuple(run * length / 1e6 for run in each.runs))
        for each, length in zip(rate, lengths, strict=True)
    )
    return RowResult(
        "longer letters",
        (
            Target(
                "letters of 100 kB: as many bytes a second as letters of 2 kB",
                percent("bytes", carried[-1], carried[0]),
                100,
                False,
            ),
        ),
        (*rate, *carried),
        (f"{size:,} readers; batches of 200, or fewer if they exceed about 20 MB.",),
    )


def calls(options: Options) -> RowResult:
    """Measure calls of 0, 50, 200 and 1,000 ms, four in flight."""
    times_ms = (0, 50, 200, 1_000)
    size = options.size(40_000, 1_600)
    rate = _on_one_site(
        options, size, [(f"{time_ms:,} ms", _with_delay(time_ms)) for time_ms in times_ms]
    )
    shares = tuple(
        percent(
            f"{each.name}: share of the ceiling",
            each,
            Measured("ceiling", "copies/s", (CALLS * BATCH * 1000 / time_ms,) * len(each.runs)),
        )
        for each, time_ms in zip(rate[1:], times_ms[1:], strict=True)
    )
    return RowResult(
        "slower calls",
        (Target("at 1,000 ms at least 90 % of the ceiling", shares[-1], 90, False),),
        (*rate, *shares),
        (f"{size:,} readers; one process, {CALLS} calls of {BATCH} in flight.",),
    )


MEASURES: dict[str, Measure] = {
    "readers": readers,
    "workers": workers,
    "bodies": bodies,
    "calls": calls,
}

# --- Runs -------------------------------------------------------------------------------------

Send = Callable[[Site, int], float]


def _so_many(workers: int) -> str:
    return f"{workers} processes" if workers > 1 else "1 process"


def _with_workers(number: int) -> Send:
    return lambda site, size: worker_rate(site, size, **BATCHES, DELIVERY_PROCESSES=str(number))


def _with_letter(length: int) -> Send:
    return lambda site, size: worker_rate(site, size, html=letter(length), **BATCHES)


def _with_delay(time_ms: int) -> Send:
    return lambda site, size: worker_rate(site, size, delay_ms=time_ms, **ONE_PROCESS)


def _on_one_site(
    options: Options, size: int, sends: list[tuple[str, Send]]
) -> tuple[Measured, ...]:
    """Measure the rate of each in all rounds, after one uncounted run."""
    rates: dict[str, list[float]] = {name: [] for name, _ in sends}
    with a_site() as site:
        site.readers(size)
        if not options.quick:
            _print_rate("warm-up", worker_rate(site, size, **BATCHES))
        for _ in range(options.rounds):
            for name, send in sends:
                rates[name].append(_print_rate(name, send(site, size)))
    return tuple(Measured(name, "copies/s", tuple(runs)) for name, runs in rates.items())


def _print_rate(name: str, rate: float) -> float:
    say(f"  {name}: {shown(rate, 'copies/s')}")
    return rate


def _figures(
    sizes: list[int], name: str, unit: str, runs: list[list[float]]
) -> tuple[Measured, ...]:
    return tuple(
        Measured(name.format(size), unit, tuple(each))
        for size, each in zip(sizes, runs, strict=True)
    )


def main() -> None:
    """Run the named measurements, or all four."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.growth",
        description=(__doc__ or "").strip().partition("\n\n")[0],
    )
    options.add_argument("series", nargs="*", metavar="SERIES", help=", ".join(MEASURES))
    add_options(options)
    options.set_defaults(rounds=1)
    chosen = options.parse_args()
    for name in chosen.series:
        if name not in MEASURES:
            options.error(f"there is no {name!r}; expected one of {', '.join(MEASURES)}")
    names = chosen.series or list(MEASURES)
    sys.exit(carried_out({name: MEASURES[name] for name in names}, chosen))


if __name__ == "__main__":
    main()
