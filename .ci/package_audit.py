"""Audit the production packages with pip-audit, and judge its result.

A known vulnerability fails the run. If pip-audit cannot reach the advisories, the run shows a
banner and continues, because this is not a fault of the commit. pip-audit's exit code is 1 in both
cases, so its output decides. pip-audit exits with 0 even if it could not judge a package.
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
# If the last line of the errors contains one of these texts, the server of the advisories could not
# be reached or refused the request.
UNREACHABLE_SIGNS = (
    "requests.exceptions.",
    "urllib3.exceptions.",
    "ConnectionError",
    "ServiceError",
    "Could not connect",
    "not redirecting properly",
    "network, firewall, or certificate",
)
MOST_S = 600


class Result(Enum):
    """The result of an audit."""

    CLEAN = "no package has a known vulnerability"
    VULNERABLE = "known vulnerabilities"
    UNREACHABLE = "the advisories could not be reached"
    BROKEN = "the audit does not work"


@dataclass(frozen=True)
class Verdict:
    """The result of an audit, with details for the output."""

    result: Result
    lines: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Return whether the run may continue."""
        return self.result in {Result.CLEAN, Result.UNREACHABLE}


def verdict(exit_code: int, output: str, errors: str) -> Verdict:
    """Judge an audit by pip-audit's exit code and output."""
    try:
        packages = json.loads(output)["dependencies"]
        holes = [
            f"{one['name']} {one['version']}: {hole['id']}, fixed in "
            f"{', '.join(hole['fix_versions']) or 'no version yet'}"
            for one in packages
            for hole in one.get("vulns", ())
        ]
        unjudged = [one["name"] for one in packages if "skip_reason" in one]
    except (ValueError, KeyError, TypeError):
        return _without_a_report(errors)
    if holes:
        return Verdict(Result.VULNERABLE, tuple(holes))
    if unjudged or not packages:
        some = f"{len(unjudged)} of {len(packages)} packages were not judged: "
        return Verdict(Result.UNREACHABLE, (some + ", ".join(unjudged),))
    if exit_code:
        return Verdict(
            Result.BROKEN, (f"no vulnerability was reported, but the exit code was {exit_code}",)
        )
    return Verdict(Result.CLEAN)


def _without_a_report(errors: str) -> Verdict:
    last = [line for line in errors.splitlines() if line.strip()][-1:]
    known = any(sign in line for line in last for sign in UNREACHABLE_SIGNS)
    return Verdict(Result.UNREACHABLE if known else Result.BROKEN, tuple(last))


def banner(found: Verdict) -> str:
    """Return the verdict as text."""
    rule = "!" * 78
    if found.result is Result.CLEAN:
        return f"Audit: {found.result.value}."
    what = {
        Result.VULNERABLE: "Upgrade these packages (make lock) or remove them:",
        Result.UNREACHABLE: "NOT AUDITED. Run the audit again later:",
        Result.BROKEN: "Fix the audit before you trust this commit:",
    }[found.result]
    return "\n".join([rule, f"Audit: {found.result.value}.", what, *found.lines, rule])


def main() -> int:
    """Audit the packages. Return 0 if CI may continue."""
    try:
        asked = subprocess.run(COMMAND, capture_output=True, text=True, timeout=MOST_S)
        found = verdict(asked.returncode, asked.stdout, asked.stderr)
    except subprocess.TimeoutExpired:
        found = Verdict(Result.UNREACHABLE, (f"no answer within {MOST_S} s",))
    print(banner(found), flush=True)
    return 0 if found.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
