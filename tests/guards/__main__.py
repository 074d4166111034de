"""Take out guards, one at a time, and check that a test fails without each.

The last line of the output is a summary. The exit code is 1 if the tests did not notice a missing
guard.
"""

import argparse
import queue
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from newsletter_site import embedded_postgres
from tests.guards.all_guards import GUARDS
from tests.guards.anchors import LostError, Tree, without
from tests.guards.notation import Guard
from tests.guards.selection import NamedTests, changed_since
from tests.guards.tree_copy import Workbench
from tests.guards.verdict import Run, without_case
from tests.postgres_cluster import ROOT, KeptCluster

Piece = TypeVar("Piece")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Guard:
    """A guard that is ready to be taken out: its tests, and the files without it.

    If the guard could not be prepared, `fault` is the reason.
    """

    promise: str
    sql: str
    files: dict[str, str]
    tests: tuple[str, ...]
    fault: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Take out the chosen guards, and report those that no test notices."""
    chosen = _options().parse_args(arguments)
    tree, tests = Tree.at(ROOT), NamedTests(ROOT)
    guards: Sequence[Guard] = [guard for guard in GUARDS if _is_named(guard, chosen.words)]
    if chosen.changed_since:
        guards = changed_since(chosen.changed_since, guards, tree, tests, ROOT)
    if chosen.at_most and len(guards) > chosen.at_most:
        print(f"{len(guards)} guards match; {chosen.at_most} of them are drawn by the seed.")
        drawn = random.Random(chosen.seed).sample(range(len(guards)), chosen.at_most)
        guards = [guards[place] for place in sorted(drawn)]
    print(f"{len(guards)} of {len(GUARDS)} guards, seed {chosen.seed}", flush=True)
    if chosen.list:
        for guard in guards:
            print(guard.promise)
        return 0
    if not guards:
        print(
            "No guard is in the changed files, so there is nothing to take out."
            if chosen.changed_since
            else "No promise or function has one of these words; --list alone prints all promises."
        )
        return 0 if chosen.changed_since else 2
    ready = [_made_ready(guard, tree, tests) for guard in guards]
    # On SIGTERM, exit through the `finally` blocks, which remove copies and end processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    cluster = KeptCluster()
    cluster.start()
    try:
        with tempfile.TemporaryDirectory(prefix="homing-guards-") as folder:
            url = embedded_postgres.database_url(cluster.data_dir, "postgres")
            benches: list[Workbench] = []
            try:
                for number in range(min(chosen.jobs, len(guards))):
                    benches.append(Workbench(number, Path(folder), url))
                unnoticed = _unnoticed(ready, benches)
            finally:
                for bench in benches:
                    bench.leave()
    finally:
        cluster.end()
    spent = time.monotonic() - began
    for one, why in unnoticed:
        print(f"UNNOTICED {one.promise}: {why}")
    noticed = len(guards) - len(unnoticed)
    print(f"{noticed} of {len(guards)} missing guards were noticed by a test, {spent:.0f} s")
    return 1 if unnoticed else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.guards", description=__doc__)
    parser.add_argument("words", nargs="*", help="only guards whose promise or function has one")
    parser.add_argument("--changed-since", metavar="REV", help="only guards in files changed since")
    parser.add_argument("--jobs", type=int, default=2, help="guards at the same time (default: 2)")
    parser.add_argument("--at-most", type=int, metavar="N", help="at most N, drawn by the seed")
    parser.add_argument(
        "--seed", type=int, default=_seed(), help="for --at-most (default: the commit)"
    )
    parser.add_argument("--list", action="store_true", help="print the promises and stop")
    return parser


def _seed() -> int:
    """Return a seed that depends on the commit alone."""
    command = ["git", "-c", "safe.directory=*", "rev-parse", "HEAD"]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True).stdout
    return int(output[:7] or "0", 16)


def _is_named(guard: Guard, words: Sequence[str]) -> bool:
    known = " ".join([guard.promise, guard.sql, *(change.where for change in guard.changes)])
    return not words or any(word in known for word in words)


def _made_ready(guard: Guard, tree: Tree, tests: NamedTests) -> _Guard:
    """Find the code and the tests of an entry."""
    try:
        found = [tree.find(change) for change in guard.changes]
        nodes = tuple(tests.node(test) for test in guard.tests)
        files, sql = without(found), guard.sql
        # The changed SQL functions replace the functions of the test database.
        for name in [name for name in files if name.endswith(".sql")]:
            sql += files.pop(name)
        return _Guard(guard.promise, sql, files, nodes)
    except (LostError, SyntaxError) as error:
        return _Guard(guard.promise, guard.sql, {}, (), fault=str(error))


def _unnoticed(guards: Sequence[_Guard], benches: Sequence[Workbench]) -> list[tuple[_Guard, str]]:
    """Take out each guard; return the guards that no test noticed, with the reasons."""
    tests = sorted({test for guard in guards for test in guard.tests})
    # Skip a workbench without tests: without names, pytest would run all tests.
    shares = [share for n in range(len(benches)) if (share := tests[n :: len(benches)])]
    as_built = _each(benches, shares, lambda bench, share: bench.run_as_built(share))
    broken = [run.broken for run in as_built if run.broken and not run.unfit]
    if broken:
        return [(guard, f"its tests fail in the unchanged code: {broken[0]}") for guard in guards]
    # A test that always fails cannot notice a missing guard.
    failing = {name for run in as_built for name in run.unfit}
    print(
        f"{len(tests)} tests in the unchanged code: {len(failing)} failed, "
        f"{max(run.seconds for run in as_built):.0f} s",
        *(f"fails in the unchanged code: {name}" for name in sorted(failing)),
        sep="\n",
        flush=True,
    )

    def try_one(bench: Workbench, guard: _Guard) -> tuple[_Guard, str]:
        fails = failing.intersection(map(without_case, guard.tests))
        if guard.fault or fails:
            run = Run(broken=guard.fault or f"{min(fails)} fails without any change")
        else:
            run = bench.run_without(guard.files, guard.sql, guard.tests)
        why = run.broken or ("" if run.failed else "its tests pass without it")
        print(
            f"{'UNNOTICED' if why else 'noticed  '} {run.seconds:5.1f} s  {guard.promise}"
            f"{f'  ({why})' if why else ''}",
            flush=True,
        )
        return guard, why

    return [(guard, why) for guard, why in _each(benches, guards, try_one) if why]


def _each(
    benches: Sequence[Workbench], work: Iterable[Piece], do: Callable[[Workbench, Piece], Result]
) -> list[Result]:
    """Do all the work, one piece at a time on each workbench; return the results."""
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
