"""How the number of readers changed since the last issue, in words. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Since:
    """How many the last issue went to, and what the ledger of consent says since."""

    audience: int
    joined: int
    left: int
    bounced: int
    complained: int


def change_of_readers(now: int, since: Since | None) -> str:
    """
    “315 more than the last issue: 402 joined, 61 left, 26 bounced”; empty for the first issue.

    The reasons are given only where they add up: an import that was taken back, or an address that
    may be mailed again, is no reason that the ledger counts.
    """
    if since is None:
        return ""
    change = now - since.audience
    if change:
        said = f"{abs(change):,} {'more' if change > 0 else 'fewer'} than the last issue"
    else:
        said = "as many as the last issue"
    if since.joined - since.left - since.bounced - since.complained != change:
        return said
    reasons = [
        f"{number:,} {word}"
        for number, word in (
            (since.joined, "joined"),
            (since.left, "left"),
            (since.bounced, "bounced"),
            (since.complained, "complained"),
        )
        if number
    ]
    return f"{said}: {', '.join(reasons)}" if reasons else said
