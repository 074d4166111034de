"""Run the drill of the named alerts: `python -m tests.drill [ALERT …]`.

`make proofs PROOFS=drill` runs all. Each drill causes the fault, waits until a real Prometheus
reports that the alert fires, runs the runbook's lines, and waits for the alert's end.
"""

import signal
import sys
import time
from collections.abc import Sequence

from tests.drill.alert_drills import DRILLS
from tests.drill.monitored_stack import ALERTS, FACTOR, stage
from tests.faults.servers.postgres_server import FORGETFUL
from tests.proofs.environment import clean_environment, ground, set_up
from tests.proofs.proof import Finding, Wish, say

QUICK = ("HomingDown", "HomingProviderEventsPending")


def run(wish: Wish, names: Sequence[str] = ()) -> Finding:
    """Run the drill of each alert; continue after a failed one."""
    wanted = names or (QUICK if wish.quick else ALERTS)
    finding = Finding(f"alerts fired by their fault, with every time divided by {FACTOR}")
    finding.expect(
        set(DRILLS) == set(ALERTS), f"without a counterpart: {set(ALERTS) ^ set(DRILLS)}"
    )
    slowest_s = 0.0
    good = 0
    with ground(FORGETFUL) as server, stage(server) as it:
        for name in wanted:
            say(f"{name}: {DRILLS[name].__doc__}")
            drill = DRILLS[name](it)
            began = time.monotonic()
            try:
                next(drill)
                it.until(lambda name=name: name in it.firing(), f"{name} fires")
                fired_after_s = time.monotonic() - began
                slowest_s = max(slowest_s, fired_after_s)
                it.type(name, **next(drill))
                over_after_s = it.until(
                    lambda name=name: name not in it.firing(), f"{name} has ended"
                )
                next(drill, None)
                good += 1
                say(f"  fired after {fired_after_s:.0f} s, ended after {over_after_s:.0f} s")
            except Exception as trouble:  # noqa: BLE001 -- the others continue
                finding.short.append(f"{name}: {type(trouble).__name__}: {trouble}")
                it.sandbox.sandbox.faults.clear()
                drill.close()
    finding.figures += [
        f"{good} of {len(wanted)} fired, and the runbook ended them",
        f"the slowest fired after {slowest_s:.0f} s",
    ]
    return finding


if __name__ == "__main__":
    # Processes are also ended if the drill is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    clean_environment()
    set_up()
    found = run(Wish(seed=0), sys.argv[1:])
    print("; ".join(found.figures), *found.short, sep="\n")
    sys.exit(0 if found.passed else 1)
