"""What a drill found, as docs/proof/drill.md."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tests.drill.runbook import ROOT, sections
from tests.drill.stage import FACTOR, Typed

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

An exit code that is not 0 is no fault where a line looks at what is wrong: `./homing health ready`
says so by 1.
"""


def write(outcomes: Sequence[Outcome], at: datetime) -> None:
    """Put it on the page; what is there of alerts that were not among these stays."""
    rows = dict(_ROW.findall(PAGE.read_text())) if PAGE.exists() else {}
    rows |= {outcome.alert: _row(outcome, at) for outcome in outcomes}
    in_order = [rows[alert] for alert in sections() if alert in rows]
    missing = ", ".join(alert for alert in sections() if "**no**" in rows.get(alert, "**no**"))
    good = sum("**no**" not in row for row in in_order)
    PAGE.write_text(
        "\n".join(
            [
                _HEAD,
                f"{good} of {len(sections())} were good. Not shown yet: {missing or 'none'}.",
                "",
                "| Alert | The fault | Fired | Typed | Over | When |",
                "|---|---|---|---|---|---|",
                *(f"| {alert} |{rows[alert]}|" for alert in sections() if alert in rows),
            ]
        )
        + "\n"
    )


_ROW = re.compile(r"^\| (Homing\w+) \|(.*)\|$", re.MULTILINE)


def _row(outcome: Outcome, at: datetime) -> str:
    typed = "<br>".join(
        f"`{one.line.replace('|', chr(92) + '|')}` → {one.ended}" for one in outcome.typed
    )
    fired = "no" if outcome.fired_after_s is None else f"after {outcome.fired_after_s:.0f} s"
    over = (
        f"after {outcome.over_after_s:.0f} s"
        if outcome.is_good and outcome.over_after_s is not None
        else f"**no**: {' '.join(outcome.trouble.split())[:300]}"
    )
    when = f"{at:%Y-%m-%d}, {os.cpu_count()} cores"
    return f" {' '.join(outcome.fault.split())} | {fired} | {typed} | {over} | {when} "
