"""
`python -m tests.guards`: takes the guards out, on a database server of its own.

Ends by itself; the last line sums up. Exit code 1 if a guard could be taken out unnoticed.
"""

from __future__ import annotations

import argparse
import queue
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from newsletter_site import embedded_postgres
from tests.guards.catalogue import GUARDS
from tests.guards.guard import Guard
from tests.guards.verdict import Run, as_reported
from tests.guards.workbench import Workbench
from tests.own_cluster import OwnCluster

Piece = TypeVar("Piece")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Share:
    """One of `of` parts of the guards, drawn by a seed; all parts together are all of them."""

    number: int
    of: int

    @classmethod
    def read(cls, text: str) -> Share:
        """`2/3` is the second of three. Raises `ValueError`."""
        number, of = (int(part) for part in text.split("/"))
        if not 1 <= number <= of:
            raise ValueError(text)
        return cls(number, of)

    def drawn_from(self, guards: Sequence[Guard], seed: int) -> list[Guard]:
        """This part, in the order of the catalogue."""
        drawn = random.Random(seed).sample(range(len(guards)), len(guards))
        return [guards[place] for place in sorted(drawn[self.number - 1 :: self.of])]


def main(arguments: Sequence[str] | None = None) -> int:
    """Choose guards, take each out, and say which of them nobody would miss."""
    chosen = _options().parse_args(arguments)
    named = [guard for guard in GUARDS if _is_named(guard, chosen.words)]
    guards = chosen.share.drawn_from(named, chosen.seed)
    print(
        f"{len(guards)} of {len(GUARDS)} guards, share {chosen.share.number}/{chosen.share.of}, "
        f"seed {chosen.seed}",
        flush=True,
    )
    if chosen.list:
        for guard in guards:
            print(guard.promise)
        return 0
    if not guards:
        print("No guard is called that; --list names them.")
        return 2
    # Stopped from outside it still puts everything away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    cluster = OwnCluster()
    try:
        cluster.start()
        with tempfile.TemporaryDirectory(prefix="homing-guards-") as folder:
            url = embedded_postgres.database_url(cluster.data_dir, "guards")
            benches = [Workbench(number, Path(folder), url) for number in range(chosen.jobs)]
            try:
                unnoticed = _unnoticed(guards, benches)
            finally:
                for bench in benches:
                    bench.leave()
    finally:
        cluster.end()
    spent = time.monotonic() - began
    for guard, why in unnoticed:
        print(f"UNNOTICED {guard.promise}: {why}")
    noticed = len(guards) - len(unnoticed)
    print(f"{noticed} of {len(guards)} guards were noticed when they were gone, {spent:.0f} s")
    return 1 if unnoticed else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.guards", description=__doc__)
    parser.add_argument("words", nargs="*", help="only guards whose promise or file has one")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--share", type=Share.read, default=Share(1, 1), metavar="K/N")
    parser.add_argument("--seed", type=int, default=0, help="of the share that is drawn (0)")
    parser.add_argument("--list", action="store_true", help="name them and do nothing")
    return parser


def _is_named(guard: Guard, words: Sequence[str]) -> bool:
    known = " ".join([guard.promise, *(change.file for change in guard.changes)])
    return not words or any(word in known for word in words)


def _unnoticed(guards: Sequence[Guard], benches: Sequence[Workbench]) -> list[tuple[Guard, str]]:
    """Which guards could be taken out, each with the reason why that counts as unnoticed."""
    tests = sorted({test for guard in guards for test in guard.tests})
    # A bench without tests is left out: pytest takes no names for all there are.
    shares = [share for n in range(len(benches)) if (share := tests[n :: len(benches)])]
    as_built = _each(benches, shares, lambda bench, share: bench.run_as_built(share))
    broken = [run.broken for run in as_built if run.broken]
    if broken:
        return [(guard, f"its tests do not run as built: {broken[0]}") for guard in guards]
    # What fails anyway says nothing about a guard.
    failing = {name for run in as_built for name in run.failed}
    print(
        f"{len(tests)} tests with every guard in its place: {len(failing)} failed, "
        f"{max(run.seconds for run in as_built):.0f} s",
        *sorted(failing),
        sep="\n",
        flush=True,
    )

    def try_one(bench: Workbench, guard: Guard) -> tuple[Guard, str]:
        fails = [test for test in guard.tests if as_reported(test) in failing]
        run = Run(broken=f"fails as built: {fails[0]}") if fails else bench.run_without(guard)
        why = _why_unnoticed(run)
        print(
            f"{'UNNOTICED' if why else 'noticed  '} {run.seconds:5.1f} s  {guard.promise}"
            f"{f'  ({why})' if why else ''}",
            flush=True,
        )
        return guard, why

    return [(guard, why) for guard, why in _each(benches, guards, try_one) if why]


def _why_unnoticed(run: Run) -> str:
    if run.broken:
        return run.broken
    return "" if run.failed else "its tests pass without it"


def _each(
    benches: Sequence[Workbench], work: Iterable[Piece], do: Callable[[Workbench, Piece], Result]
) -> list[Result]:
    """`do` every piece of work at one of the benches, each bench one at a time; the results."""
    waiting: queue.SimpleQueue[Piece] = queue.SimpleQueue()
    for piece in work:
        waiting.put(piece)
    results: list[Result] = []
    errors: list[Exception] = []

    def labour(bench: Workbench) -> None:
        while not errors:
            try:
                piece = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                results.append(do(bench, piece))
            except Exception as error:  # noqa: BLE001 -- raised again below
                errors.append(error)

    threads = [threading.Thread(target=labour, args=(bench,), daemon=True) for bench in benches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


if __name__ == "__main__":
    raise SystemExit(main())
