"""Run the long proofs and print their results: `python -m tests.proofs [NAME …]`.

Each runs in its own process with a time limit. Proofs that measure time or use every core run
alone; then the others share the cores. Exit code 1 if a proof failed.
"""

import argparse
import contextlib
import dataclasses
import importlib
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.installed_programs import find_program
from tests.postgres_cluster import ROOT
from tests.proofs import write_guarantees
from tests.proofs.environment import clean_environment, set_up
from tests.proofs.proof import Finding, Run, Wish

FOUND = "FOUND "
WHOLE = "1/1"
LOCK = threading.Lock()
# The time to clean up for a proof that has exceeded its limit.
LAST_CHANCE_S = 60


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof: `module:function`, its time limit, and the programs it needs."""

    place: str
    at_most_min: int
    beside_others: bool = False
    has_parts: bool = False
    programs: tuple[str, ...] = ()


PROOFS = {
    "storm": Proof("tests.proofs.chaos:storm", 15),
    "chaos": Proof("tests.proofs.chaos:chaos", 10),
    "stack": Proof("tests.proofs.full_stack:run", 15, programs=("pgbouncer", "nginx")),
    "recovery": Proof("tests.proofs.run_programs:recovery", 10),
    "stops": Proof("tests.proofs.stop_workers:run", 15),
    "fairness": Proof("tests.proofs.fairness:run", 10),
    "snapshot": Proof("tests.proofs.run_programs:snapshot", 10),
    "benchmarks": Proof("tests.proofs.run_programs:benchmarks", 10),
    # These two use every core.
    "guards": Proof("tests.proofs.run_programs:guards", 60, has_parts=True),
    "pairs": Proof("tests.proofs.run_programs:pairs", 15, has_parts=True),
    "drill": Proof("tests.drill.__main__:run", 25, beside_others=True, programs=("prometheus",)),
    "fuzz": Proof("tests.proofs.run_programs:fuzz", 30, beside_others=True, has_parts=True),
    "properties": Proof("tests.proofs.run_programs:properties", 15, beside_others=True),
    "histories": Proof(
        "tests.proofs.run_programs:histories", 20, beside_others=True, has_parts=True
    ),
    "model": Proof("tests.small_model.__main__:run", 15, beside_others=True),
}


def main() -> int:
    """Run the named proofs, or all of them."""
    options = _options()
    chosen = options.parse_args()
    if unknown := [name for name in chosen.names if name not in PROOFS]:
        options.error(f"there is no proof {unknown[0]!r}; expected one of {', '.join(PROOFS)}")
    # Exit through `finally` on SIGTERM, so that the child processes are ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if chosen.child:
        return _child(PROOFS[chosen.names[0]], chosen)
    seed = secrets.randbelow(1_000_000) if chosen.seed is None else chosen.seed
    names = chosen.names or _drawn(chosen.share, seed)
    for name in names:
        if lacking := [one for one in PROOFS[name].programs if find_program(one) is None]:
            options.error(
                f"{name} needs {' and '.join(lacking)}. Run: apt-get install {' '.join(lacking)}"
            )
    clean_environment()
    at = write_guarantees.Occasion.now(seed)
    is_whole = not (chosen.names or chosen.quick or chosen.readers or chosen.share != WHOLE)
    writes = is_whole and at.tree_is_clean if chosen.write is None else chosen.write
    print(f"Proofs of {at}.", flush=True)
    if is_whole and not at.tree_is_clean and chosen.write is None:
        print("The tree has changes, so no result is written: commit, or add --write.", flush=True)
    began = time.monotonic()
    lines: list[str] = []
    fallen_short: list[str] = []
    begun: list[subprocess.Popen[str]] = []

    def carry_out(name: str) -> None:
        began = time.monotonic()
        finding = _found(name, chosen, seed, begun)
        seconds = time.monotonic() - began
        with LOCK:
            lines.append(_described(name, finding, seconds))
            print(lines[-1], flush=True)
            if not finding.passed:
                fallen_short.append(name)
            if writes:
                write_guarantees.write(name, finding, seconds, at)

    alone = [name for name in names if not PROOFS[name].beside_others]
    with ThreadPoolExecutor(os.cpu_count()) as hands:
        try:
            for name in alone:
                carry_out(name)
            list(hands.map(carry_out, [name for name in names if name not in alone]))
        except BaseException:
            hands.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            for process in begun:
                _end(process)
    print("\n" + "\n".join(lines))
    fell_short = f"; failed: {', '.join(fallen_short)}" if fallen_short else ""
    print(f"{len(lines)} proofs, seed {seed}, {time.monotonic() - began:.0f} s{fell_short}")
    return 1 if fallen_short else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs", description="The long proofs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROOFS))
    parser.add_argument("--seed", type=int, help="of all random choices (default: a new one)")
    parser.add_argument("--readers", type=int, help="readers of the large lists")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see whether they run")
    parser.add_argument(
        "--share",
        type=_share,
        default=WHOLE,
        metavar="K/N",
        help="the K-th of N parts of all proofs, drawn by the seed",
    )
    parser.add_argument(
        "--write",
        action=argparse.BooleanOptionalAction,
        help="write the results to docs/guarantees.md (default: if all run on a clean tree)",
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser


def _share(text: str) -> str:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid share; expected K/N, such as 2/10"
        )
    return text


def _drawn(share: str, seed: int) -> list[str]:
    """Return the proofs of a share: those with parts, and some of the others."""
    number, of = map(int, share.split("/"))
    whole = [name for name, proof in PROOFS.items() if not proof.has_parts]
    mine = random.Random(seed).sample(whole, len(whole))[number - 1 :: of]
    return [name for name, proof in PROOFS.items() if proof.has_parts or name in mine]


def _found(
    name: str, chosen: argparse.Namespace, seed: int, begun: list[subprocess.Popen[str]]
) -> Finding:
    """Run one proof in its own process, and print its output."""
    command = [sys.executable, "-m", "tests.proofs", name, "--child", f"--seed={seed}"]
    command += [f"--share={chosen.share}", *(["--quick"] if chosen.quick else [])]
    command += [f"--readers={chosen.readers}"] if chosen.readers else []
    at_most_min = PROOFS[name].at_most_min
    finding = None
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        begun.append(process)
        bound = threading.Timer(60 * at_most_min, _end, [process])
        bound.daemon = True  # A run that is stopped does not wait for it.
        bound.start()
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(FOUND):
                finding = Finding(**json.loads(line.removeprefix(FOUND)))
            else:
                print(f"{name}: {line}", end="", flush=True)
        bound.cancel()
    if finding is not None:
        return finding
    return Finding(
        "It ended without a result",
        short=[f"exit code {process.returncode}; its limit is {at_most_min} minutes"],
    )


def _end(process: subprocess.Popen[str]) -> None:
    """End a proof and its child processes, unless it has ended."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LAST_CHANCE_S)


def _child(proof: Proof, chosen: argparse.Namespace) -> int:
    """Run one proof in this process, and print its result as the last line."""
    module, _, function = proof.place.partition(":")
    wish = Wish(chosen.seed, chosen.readers, chosen.quick, chosen.share)
    try:
        set_up()
        run: Run = getattr(importlib.import_module(module), function)
        finding = run(wish)
    except Exception as error:  # noqa: BLE001 -- it is shown and counted, and the others run
        traceback.print_exc()
        finding = Finding("It ended with an error", short=[f"{type(error).__name__}: {error}"])
    print(FOUND + json.dumps(dataclasses.asdict(finding)), flush=True)
    return 0


def _described(name: str, finding: Finding, seconds: float) -> str:
    """Return the line of one proof, and a line for each failure."""
    word = "passed" if finding.passed else "FAILED"
    line = f"{name}: {word}. {finding.what}: {'; '.join(finding.figures)} ({seconds:.0f} s)."
    return "\n".join([line, *(f"  - {what}" for what in finding.short)])


if __name__ == "__main__":
    sys.exit(main())
