"""How long sending will take, told from how long it took. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from publishing.humanise import counted

# What was over before this says nothing of the pace of many.
_SHORTEST_S = 5.0
_FEWEST = 200


@dataclass(frozen=True, slots=True)
class Went:
    """How many copies of an earlier edition went out, and in how many seconds."""

    copies: int
    seconds: float


def takes(readers: int, earlier: list[Went]) -> str:
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
