"""
`python -m tests.soak [NAME …]`: run the proofs, one after the other, and say what each found.

Exit code 1 if anything fell short of what is promised.
"""

from __future__ import annotations

import argparse
import secrets
import signal
import sys
import time
import traceback
from datetime import UTC, datetime

from tests.soak import fairness, guarantees, longer_runs, recovery, snapshot, stack, stops, storm
from tests.soak.finding import Finding, Proof, Wish
from tests.soak.ground import clean_environment

PROOFS: dict[str, Proof] = {
    "storm": storm.run,
    "stack": stack.run,
    "recovery": recovery.run,
    "stops": stops.run,
    "fairness": fairness.run,
    "snapshot": snapshot.run,
    "pairs": longer_runs.pairs,
    "histories": longer_runs.histories,
    "model": longer_runs.model,
    "guards": longer_runs.guards,
}


def main() -> int:
    """Run what was asked for, all of it if nothing was named."""
    options = argparse.ArgumentParser(prog="python -m tests.soak", description="The long proofs.")
    options.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROOFS))
    options.add_argument("--seed", type=int, help="the seed of every die (default: a new one)")
    options.add_argument("--readers", type=int, help="readers of the large list")
    options.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    options.add_argument(
        "--write", action="store_true", help="put the results into docs/guarantees.md"
    )
    chosen = options.parse_args()
    unknown = [name for name in chosen.names if name not in PROOFS]
    if unknown:
        options.error(f"there is no proof {unknown[0]!r}; expected one of {', '.join(PROOFS)}")
    if chosen.write and chosen.quick:
        options.error("--quick shows nothing that could be written; leave out one of the two")
    if chosen.write and guarantees.why_not():
        options.error(guarantees.why_not())
    seed = secrets.randbelow(1_000_000) if chosen.seed is None else chosen.seed
    wish = Wish(seed=seed, readers=chosen.readers, quick=chosen.quick)
    # Whoever ends it early finds no server and no worker left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    clean_environment()
    began_at = datetime.now(UTC)
    print(f"Seed {seed}, {guarantees.machine()}, commit {guarantees.commit()}.", flush=True)
    lines: list[str] = []
    found: dict[str, Finding] = {}
    for name in chosen.names or PROOFS:
        print(f"\n{name}", flush=True)
        began = time.monotonic()
        found[name] = finding = carried_out(PROOFS[name], wish)
        lines.append(described(name, finding, time.monotonic() - began))
        print(lines[-1], flush=True)
        if chosen.write:
            guarantees.write(name, finding, seed=seed, at=began_at)
    print("\n" + "\n".join(lines), flush=True)
    return 0 if all(finding.passed for finding in found.values()) else 1


def carried_out(proof: Proof, wish: Wish) -> Finding:
    """What a proof found. One that breaks has not shown anything, and the others still run."""
    try:
        return proof(wish)
    except Exception as error:  # noqa: BLE001 -- whatever it was, it is shown and counted
        traceback.print_exc()
        return Finding("It broke off", [], [f"{type(error).__name__}: {error}"])


def described(name: str, finding: Finding, took_s: float) -> str:
    """The line of one proof, and a line for whatever fell short."""
    word = "passed" if finding.passed else "FELL SHORT"
    line = f"{name}: {word}. {finding.what}: {'; '.join(finding.figures)} ({took_s:.0f} s)."
    return "\n".join([line, *(f"  - {what}" for what in finding.short)])


if __name__ == "__main__":
    sys.exit(main())
