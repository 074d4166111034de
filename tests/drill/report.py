"""What a drill found, as docs/proof/drill.md."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tests.drill.runbook import ROOT, sections
from tests.drill.stage import FACTOR, SETTINGS, Typed

PAGE = ROOT / "docs" / "proof" / "drill.md"


@dataclass
class Outcome:
    """How the drill of one alert went."""

    alert: str
    fault: str
    fired_after_s: float | None = None
    over_after_s: float | None = None
    typed: list[Typed] = field(default_factory=list)
    trouble: str = ""

    @property
    def is_good(self) -> bool:
        """It fired, and it ended."""
        return self.over_after_s is not None and not self.trouble

    @property
    def words(self) -> str:
        """In one line."""
        if self.is_good:
            return f"fired after {self.fired_after_s:.0f} s, over after {self.over_after_s:.0f} s"
        fired = (
            "" if self.fired_after_s is None else f"fired after {self.fired_after_s:.0f} s, but "
        )
        return fired + self.trouble


_HEAD = f"""# The drill

`make drill` makes every alert of `deploy/prometheus/alerts.yml` fire once by the fault it is about:
a real Prometheus scrapes a real site (gunicorn, `deploy/gunicorn.conf.py`) with real workers, the
sandbox and a PostgreSQL cluster of their own. The rules are loaded as they are, but with every time
in them (`for`, ranges, and ages that are compared with) divided by {FACTOR}. When the alert fires,
the lines that [the runbook](../runbook.md) gives for it are taken from that page and typed; it
is good when the alert is over afterwards. What no line of ours mends (a server that is stopped, a
provider that refuses) is mended by the drill first.

Site and workers are started with the defaults, but for what follows. Pauses between tries and
look-ups are a {FACTOR}th too; a call's deadline and the lease are longer than that, for a machine
that is busy. The list is of twenty readers, so batches are of two copies, and a surge begins with
two bounces.

{{settings}}

An exit code that is not 0 is no fault where a line looks at what is wrong: `./homing health ready`
says so by 1. The page is written by a run of all of them: `make drill ALERTS=HomingSurge` runs one
row and writes nothing.
"""


def write(outcomes: Sequence[Outcome], at: datetime, took_s: float) -> None:
    """Write the page of a whole run."""
    PAGE.write_text(page_of(outcomes, at, took_s))


def page_of(outcomes: Sequence[Outcome], at: datetime, took_s: float) -> str:
    """The page: the outcomes of a whole run, in the runbook's order."""
    rows = {outcome.alert: _row(outcome) for outcome in outcomes}
    bad = [outcome.alert for outcome in outcomes if not outcome.is_good]
    good = len(outcomes) - len(bad)
    lacks = f" Not shown: {', '.join(bad)}." if bad else ""
    return (
        "\n".join(
            [
                _HEAD.format(settings=", ".join(f"`{k}={v}`" for k, v in SETTINGS.items()) + "."),
                f"{good} of {len(outcomes)} were good.{lacks}",
                "",
                f"{at:%Y-%m-%d}, {took_s / 60:.0f} minutes, {os.cpu_count()} cores.",
                "",
                "| Alert | The fault | Fired | Typed | Over |",
                "|---|---|---|---|---|",
                *(f"| {alert} |{rows[alert]}|" for alert in sections()),
            ]
        )
        + "\n"
    )


def _row(outcome: Outcome) -> str:
    typed = "<br>".join(
        f"`{one.line.replace('|', chr(92) + '|')}` → {one.ended}" for one in outcome.typed
    )
    fired = "no" if outcome.fired_after_s is None else f"after {outcome.fired_after_s:.0f} s"
    over = (
        f"after {outcome.over_after_s:.0f} s"
        if outcome.is_good and outcome.over_after_s is not None
        else f"**no**: {' '.join(outcome.trouble.split())[:300]}"
    )
    return f" {' '.join(outcome.fault.split())} | {fired} | {typed} | {over} "
