"""The proofs that live elsewhere, at their full length: crash points, histories, model, guards."""

from __future__ import annotations

import subprocess
import sys

from tests.own_cluster import ROOT
from tests.small_model import findings
from tests.soak.finding import Finding, Wish, number, say

PAIRS_AT_MOST_S = 3000
PAIRS_QUICK_AT_MOST_S = 60
HISTORIES = 200
HISTORIES_QUICK = 2
STEPS = 60
GUARDS_QUICK = "1/100"
LONGEST_S = 4 * 3600
LAST_WORDS = 30


def pairs(wish: Wish) -> Finding:
    """Kill at every crash point and again in its recovery, one pair for each two worlds."""
    at_most_s = PAIRS_QUICK_AT_MOST_S if wish.quick else PAIRS_AT_MOST_S
    return _run(
        "every crash point and every pair of worlds, each killed with SIGKILL",
        "tests.crash_points",
        *("--pairs", "--seed", str(wish.seed), "--at-most-s", str(at_most_s)),
    )


def histories(wish: Wish) -> Finding:
    """Random histories against the model of the provider."""
    count = HISTORIES_QUICK if wish.quick else HISTORIES
    return _run(
        f"{count} random histories of up to {STEPS} steps",
        "tests.histories",
        *("--histories", str(count), "--steps", str(STEPS), "--seed", str(wish.seed)),
    )


def guards(wish: Wish) -> Finding:
    """Every guard taken out once; a test has to fail without it."""
    share = GUARDS_QUICK if wish.quick else "1/1"
    return _run(
        "every guard of the protocol, taken out of a copy of the tree one at a time",
        "tests.guards",
        *("--share", share, "--seed", str(wish.seed)),
    )


def model(wish: Wish) -> Finding:
    """Every state of the small model, and every variant of it that has to break."""
    worlds = findings.WORLDS if wish.quick else findings.WORLDS | findings.LARGER_WORLDS
    finding = Finding(f"every state of the small model, in {len(worlds)} worlds")
    states = 0
    for name, variant in worlds.items():
        found = findings.found_in(variant)
        states += found.states
        say(f"{name}: {number(found.states)} states")
        finding.expect(not found.broken, f"{name}: {found.broken}")
    for name, variant in findings.BROKEN.items():
        finding.expect(bool(findings.found_in(variant).broken), f"{name} breaks nothing")
    finding.figures += [
        f"{number(states)} states, every promise kept",
        f"{len(findings.BROKEN)} broken variants caught",
    ]
    return finding


def _run(what: str, module: str, *options: str) -> Finding:
    """Run a program of the tests; its last line is its figures."""
    finding = Finding(what)
    try:
        done = subprocess.run(
            [sys.executable, "-m", module, *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        finding.expect(False, f"it had not ended after {LONGEST_S} s")
        return finding
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    finding.figures += [line.rstrip(".") for line in lines[-1:]]
    finding.expect(done.returncode == 0, "\n".join(lines[-LAST_WORDS:]))
    return finding
