"""
`python -m tests.drill [ALERT …]`: every alert made to fire by the fault it is about.

For each: the fault is caused, a real Prometheus is waited for until it says that the alert fires,
what the runbook says is typed, and the end of the alert is waited for. What came of it is printed;
only a run of all of them writes docs/proof/drill.md, so that the page is of one run. Exit code 1
if anything fell short. Ends by itself.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from datetime import UTC, datetime

from tests.soak.ground import clean_environment


def main() -> int:
    """Run what was named, or all of it."""
    clean_environment()
    # So that what was started is ended, also where the drill itself is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    data_dir = os.environ["HOMING_DATA_DIR"] = tempfile.mkdtemp(prefix="homing-drill-data-")
    # Every process has one of its own named to it, and this one asks none that settings name.
    os.environ["DATABASE_URL"] = "postgres://127.0.0.1:9/none"
    import django

    django.setup()
    from tests.drill.faults import DRILLS
    from tests.drill.report import Outcome, write
    from tests.drill.stage import stage

    wanted = sys.argv[1:] or list(DRILLS)
    if unknown := sorted(set(wanted) - set(DRILLS)):
        print(f"There is no drill of {', '.join(unknown)}; there are {', '.join(DRILLS)}.")
        shutil.rmtree(data_dir, ignore_errors=True)
        return 2
    started = time.monotonic()
    outcomes: list[Outcome] = []
    with stage() as it:
        for name in wanted:
            print(f"{name} …", end=" ", flush=True)
            it.typed = []
            outcome = Outcome(name, DRILLS[name].__doc__ or "")
            outcomes.append(outcome)
            drill = DRILLS[name](it)
            began = time.monotonic()
            try:
                next(drill)
                it.until(lambda name=name: name in it.firing(), f"{name} fires")
                outcome.fired_after_s = time.monotonic() - began
                values = next(drill)
                it.type(name, **values)
                outcome.over_after_s = it.until(
                    lambda name=name: name not in it.firing(), f"{name} is over"
                )
                next(drill, None)
            except Exception as trouble:  # noqa: BLE001 -- the others go on
                outcome.trouble = f"{type(trouble).__name__}: {trouble}"
                it.sandbox.sandbox.faults.clear()
                drill.close()
            outcome.typed = list(it.typed)
            print(outcome.words, flush=True)
            for typed in outcome.typed:
                print(f"    {typed.line} → {typed.ended}", flush=True)
    if wanted == list(DRILLS):
        write(outcomes, datetime.now(UTC), time.monotonic() - started)
    shutil.rmtree(data_dir, ignore_errors=True)
    good = sum(outcome.is_good for outcome in outcomes)
    print(f"{good} of {len(outcomes)} alerts fired by their fault and ended by the runbook.")
    return 0 if good == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
