"""Run the long proofs: `python -m tests.long_runs [NAME …] [--seed N]`.

Each proof is a separate program with a time limit. The exit code is 1 if a proof failed.
"""

import argparse
import os
import secrets
import subprocess
import sys
import time

from tests.postgres_cluster import ROOT

# Each proof with its limit in minutes, its program and its environment. `SEED` is replaced by the
# seed.
PROOFS: dict[str, tuple[int, str, dict[str, str]]] = {
    "storm": (15, "tests.long_runs.chaos storm --seed SEED", {}),
    "chaos": (10, "tests.long_runs.chaos chaos --seed SEED", {}),
    "stops": (
        15,
        "pytest -q tests/faults/test_stopping_workers.py -k random",
        {"HOMING_SIGTERMS": "1000", "HOMING_SIGTERMS_SEED": "SEED"},
    ),
    "benchmarks": (10, "benchmarks --quick", {}),
    "guards": (60, "tests.guards", {}),
    "pairs": (30, "tests.crash_points --pairs --at-most-s 600 --seed SEED", {}),
    "fuzz": (
        30,
        "pytest -q tests/newsletter_site/api/test_api_fuzzing.py",
        {"FUZZ_EXAMPLES": "30", "FUZZ_SEED": "SEED"},
    ),
    "properties": (
        15,
        "pytest -q --quick -m hypothesis --hypothesis-profile fuzz --hypothesis-seed SEED",
        {},
    ),
    "histories": (
        30,
        "pytest -q tests/histories --hypothesis-seed SEED",
        {"HOMING_HISTORIES": "200"},
    ),
    "model": (30, "pytest -q tests/small_model", {"HOMING_MODEL": "whole"}),
}


def main() -> int:
    """Run the named proofs, or all of them."""
    options = argparse.ArgumentParser(prog="python -m tests.long_runs", description=__doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROOFS))
    options.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    chosen = options.parse_args()
    if unknown := [name for name in chosen.names if name not in PROOFS]:
        options.error(f"there is no proof {unknown[0]!r}; expected one of {', '.join(PROOFS)}")
    print(f"The seed is {chosen.seed}.", flush=True)
    results = {name: _passes(name, str(chosen.seed)) for name in chosen.names or PROOFS}
    print(*(f"{name}: {result}" for name, result in results.items()), sep="\n")
    return 0 if all(result.startswith("passed") for result in results.values()) else 1


def _passes(name: str, seed: str) -> str:
    """Run one proof, and return its result with its seconds."""
    minutes, program, more = PROOFS[name]
    print(f"== {name}: {program}", flush=True)
    began = time.monotonic()
    # Start a separate process group, so that the children of the proof end with the proof.
    with subprocess.Popen(
        [sys.executable, "-m", *program.replace("SEED", seed).split()],
        cwd=ROOT,
        env=os.environ | {key: value.replace("SEED", seed) for key, value in more.items()},
        process_group=0,
    ) as process:
        try:
            code = process.wait(60 * minutes)
        except BaseException as reason:
            os.killpg(process.pid, 15)
            if not isinstance(reason, subprocess.TimeoutExpired):
                raise
            return f"FAILED, it took more than {minutes} minutes"
    return f"{'FAILED' if code else 'passed'} in {time.monotonic() - began:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
