"""
Are there known holes in the packages of production? Asks pip-audit, and judges what it says.

A known hole fails the run. Where the advisories could not be asked, which says nothing about this
commit, a banner says so and the run goes on. pip-audit tells the two apart badly: it ends with 1
for both, and with 0 where it found no advisories for any package at all.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum

COMMAND = (
    *(sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip"),
    *("--requirement", "requirements/production.txt"),
    *("--format", "json", "--progress-spinner", "off"),
)
# What stands in the last line where nobody answered, or answered that they will not.
NOBODY_ANSWERED = (
    "requests.exceptions.",
    "urllib3.exceptions.",
    "ConnectionError",
    "ServiceError",
    "Could not connect",
    "not redirecting properly",
    "network, firewall, or certificate",
)
MOST_S = 600


class Said(Enum):
    """What came of asking."""

    CLEAN = "every package was judged, and none has a known hole"
    HOLES = "known holes"
    NOT_ASKED = "the advisories could not be asked"
    BROKEN = "the audit itself does not work"


@dataclass(frozen=True)
class Verdict:
    """What came of it, and the lines that say so."""

    said: Said
    lines: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether the run goes on."""
        return self.said in {Said.CLEAN, Said.NOT_ASKED}


def verdict(exit_code: int, output: str, errors: str) -> Verdict:
    """Judge what pip-audit printed. Pure."""
    try:
        packages = json.loads(output)["dependencies"]
        holes = [
            f"{one['name']} {one['version']}: {hole['id']}, mended in "
            f"{', '.join(hole['fix_versions']) or 'no version yet'}"
            for one in packages
            for hole in one.get("vulns", ())
        ]
        unjudged = [one["name"] for one in packages if "skip_reason" in one]
    except (ValueError, KeyError, TypeError):
        return _without_a_report(errors)
    if holes:
        return Verdict(Said.HOLES, tuple(holes))
    if unjudged or not packages:
        some = f"{len(unjudged)} of {len(packages)} packages were not judged: "
        return Verdict(Said.NOT_ASKED, (some + ", ".join(unjudged),))
    if exit_code:
        return Verdict(Said.BROKEN, (f"no hole was told, and the exit code was {exit_code}",))
    return Verdict(Said.CLEAN)


def _without_a_report(errors: str) -> Verdict:
    last = [line for line in errors.splitlines() if line.strip()][-1:]
    known = any(sign in line for line in last for sign in NOBODY_ANSWERED)
    return Verdict(Said.NOT_ASKED if known else Said.BROKEN, tuple(last))


def banner(found: Verdict) -> str:
    """How the verdict stands in the output."""
    rule = "!" * 78
    if found.said is Said.CLEAN:
        return f"Audit: {found.said.value}."
    what = {
        Said.HOLES: "Raise these packages (make lock), or take them out:",
        Said.NOT_ASKED: "NOT AUDITED. Nothing is known about holes in these packages. Ask again:",
        Said.BROKEN: "Look at the audit before this commit is trusted:",
    }[found.said]
    return "\n".join([rule, f"Audit: {found.said.value}.", what, *found.lines, rule])


def main() -> int:
    """0 where the run goes on."""
    try:
        asked = subprocess.run(COMMAND, capture_output=True, text=True, timeout=MOST_S)
        found = verdict(asked.returncode, asked.stdout, asked.stderr)
    except subprocess.TimeoutExpired:
        found = Verdict(Said.NOT_ASKED, (f"no answer within {MOST_S} s",))
    print(banner(found), flush=True)
    return 0 if found.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
