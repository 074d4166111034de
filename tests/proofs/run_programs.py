"""Proofs that run another program, whose last line gives the figures."""

import os
import re
import subprocess
import sys

from tests.postgres_cluster import ROOT
from tests.proofs.proof import Finding, Wish, say

PAIRS_FOR_S = 600
HISTORIES, STEPS = 200, 60
FUZZ_EXAMPLES = 30
LAST_WORDS = 30


def pairs(wish: Wish) -> Finding:
    """Kill at every crash point, then at pairs of points, until time runs out."""
    return _run(
        "every crash point, and pairs of worlds in a seeded order, each killed with SIGKILL",
        *("tests.crash_points", "--pairs", "--seed", str(wish.seed)),
        *("--at-most-s", str(wish.part_of(PAIRS_FOR_S))),
        *(("--scenario", "close", "--at-most-s", "40") if wish.quick else ()),
    )


def histories(wish: Wish) -> Finding:
    """Play random histories against the model of the provider."""
    count = 2 if wish.quick else wish.part_of(HISTORIES)
    return _run(
        f"{count} random histories of up to {STEPS} steps",
        *("tests.histories", "--histories", str(count), "--steps", str(STEPS)),
        *("--seed", str(wish.seed)),
        last=" copies, ",
    )


def guards(wish: Wish) -> Finding:
    """Remove every guard once; a test must fail without it."""
    share = "1/200" if wish.quick else wish.share
    return _run(
        "every guard of the protocol, taken out of a copy of the tree one at a time",
        *("tests.guards", "--share", share, "--seed", str(wish.seed)),
    )


def fuzz(wish: Wish) -> Finding:
    """Send the API valid and invalid requests drawn from its document."""
    examples = 1 if wish.quick else wish.part_of(FUZZ_EXAMPLES)
    return _run(
        f"{examples} examples for each call of the API's document",
        *("pytest", "-q", "-p", "no:cacheprovider"),
        "tests/newsletter_site/api/test_api_fuzzing.py",
        FUZZ_EXAMPLES=str(examples),
        FUZZ_SEED=str(wish.seed),
    )


def properties(wish: Wish) -> Finding:
    """Run every property test with more examples, and random ones."""
    profile = "tests" if wish.quick else "fuzz"
    return _run(
        f"every property, with the Hypothesis profile {profile!r} (tests/conftest.py)",
        *("pytest", "-q", "-p", "no:cacheprovider", "--quick", "-m", "hypothesis"),
        *("--hypothesis-profile", profile, "--hypothesis-seed", str(wish.seed)),
    )


def benchmarks(wish: Wish) -> Finding:
    """Run every row of the benchmarks at a tiny size."""
    return _run("every row of the benchmarks at a tiny size", "benchmarks", "--quick")


def recovery(wish: Wish) -> Finding:
    """Measure how soon other workers continue the work of a killed one."""
    return _run(
        "a worker killed with batches claimed, and one with calls in flight",
        *("benchmarks", "recovery", *(["--quick"] if wish.quick else [])),
    )


def snapshot(wish: Wish) -> Finding:
    """Measure how much an open snapshot slows sending."""
    return _run(
        "sending with and without a snapshot held open, in turns",
        *("benchmarks", "snapshot", *(["--quick"] if wish.quick else ["--rounds", "2"])),
    )


def _run(what: str, module: str, *options: str, last: str = "", **environment: str) -> Finding:
    """Run a program and print its output; the last line with `last` has the figures."""
    finding = Finding(what)
    lines: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-m", module, *options],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as program:
        try:
            assert program.stdout is not None
            for line in program.stdout:
                if line.strip():
                    lines.append(line.rstrip())
                    say(lines[-1])
        except BaseException:
            program.terminate()
            raise
    finding.figures += _figures([line for line in lines if last in line])
    finding.expect(program.returncode == 0, "\n".join(lines[-LAST_WORDS:]))
    return finding


def _figures(lines: list[str]) -> list[str]:
    """Return the last line, or the rows of a table of the benchmarks."""
    rows = [re.split(r"  +", line.strip()) for line in lines]
    judged = [f"{row[0]}: {row[1]}" for row in rows if row[-1] in ("yes", "no")]
    tiny = [row for row in rows if len(row) == 3 and row[-1] == "–"]
    counted = [f"{len(tiny)} figures measured"] if tiny else []
    return judged or counted or [line.rstrip(".") for line in lines[-1:]]
