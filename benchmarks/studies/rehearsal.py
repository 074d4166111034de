"""How long does a rehearsal take, against the real send?

One thread rehearses a 2 kB letter to all readers. The real send is one `deliver` with its defaults,
to a provider that takes 50 ms for each call and to one that answers at once. Then a real send runs
while a rehearsal does, and its rate is compared with that of a send alone.
"""

import threading
from typing import Any

from benchmarks.frame import Measured, Options, RowResult, Target, in_turns, ratio, run_alone
from benchmarks.letter import LETTER
from benchmarks.sending import worker_rate
from benchmarks.site.site import Site, a_site
from benchmarks.site.within_site import within

CALL_MS = 50
REHEARSAL, SLOW, AT_ONCE, BESIDE = (
    "rehearsal",
    "send, 50 ms a call",
    "send, answered at once",
    "send beside a rehearsal, 50 ms a call",
)


def measure(options: Options) -> RowResult:
    """Measure rates of a rehearsal and of sends, in turns."""
    readers = options.size(200_000, 2_000)
    rehearsals: list[dict[str, Any]] = []
    with a_site() as site:
        site.readers(readers)

        def rehearse() -> float:
            found = within(site, "benchmarks.programs.rehearse_once", stdin=LETTER)
            if found["messages"] != readers:
                raise AssertionError(f"{found['messages']} of {readers} messages were checked")
            rehearsals.append(found)
            return float(readers / found["took_s"])

        def beside() -> float:
            other = threading.Thread(target=_rehearse_quietly, args=[site])
            other.start()
            rate = worker_rate(site, readers, delay_ms=CALL_MS)
            other.join()
            return rate

        rehearsal, slow, at_once, both = in_turns(
            options,
            {
                REHEARSAL: rehearse,
                SLOW: lambda: worker_rate(site, readers, delay_ms=CALL_MS),
                AT_ONCE: lambda: worker_rate(site, readers),
                BESIDE: beside,
            },
            "messages/s",
        )
    cpu = Measured(
        "CPU of a rehearsal",
        "µs a message",
        tuple(one["cpu_s"] / readers * 1e6 for one in rehearsals[-options.rounds :]),
    )
    memory = Measured(
        "additional memory", "MB", tuple(one["mb"] for one in rehearsals[-options.rounds :])
    )
    return RowResult(
        f"a rehearsal for {readers:,} readers",
        (
            Target("at least the rate of a send", ratio("to 50 ms", rehearsal, slow), 1.0, False),
            Target("at most 50 MB more memory", memory, 50.0, at_most=True),
            Target("a send beside it", ratio("to a send alone", both, slow), 0.9, False),
        ),
        (rehearsal, slow, at_once, both, cpu, ratio("to at once", rehearsal, at_once)),
    )


def _rehearse_quietly(site: Site) -> None:
    within(site, "benchmarks.programs.rehearse_once", stdin=LETTER)


if __name__ == "__main__":
    run_alone(measure)
