"""How long sending will take, and how the audience changed since the last issue. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from delivery.humanise import counted

# What was over before this says nothing of the pace of many.
_SHORTEST_S = 5.0
_FEWEST = 200


@dataclass(frozen=True, slots=True)
class SendingSample:
    """How many copies of an earlier edition went out, and in how many seconds."""

    copies: int
    seconds: float


def estimate_duration(readers: int, earlier: list[SendingSample]) -> str:
    """“about 19 minutes”; empty where nothing was measured that would tell."""
    telling = [went for went in earlier if went.copies >= _FEWEST and went.seconds >= _SHORTEST_S]
    if not telling or not readers:
        return ""
    pace = sum(went.copies for went in telling) / sum(went.seconds for went in telling)
    seconds = readers / pace
    for size, unit in ((3600.0, "hour"), (60.0, "minute")):
        if seconds >= 1.5 * size or (size == 60.0 and seconds >= 45):
            number = max(1, round(seconds / size))
            return f"about {counted(number, unit)}"
    return "less than a minute"


@dataclass(frozen=True, slots=True)
class ConsentChanges:
    """How many the last issue went to, and what the ledger of consent says since."""

    audience: int
    joined: int
    left: int
    bounced: int
    complained: int


def audience_change(now: int, since: ConsentChanges | None) -> str:
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
