"""Estimate how long sending takes, and say how the audience changed. Pure."""

from dataclasses import dataclass

from delivery.humanise import duration

# Smaller samples do not tell the pace of a large edition.
_MIN_SECONDS = 5.0
_MIN_COPIES = 200


@dataclass(frozen=True, slots=True)
class SendingSample:
    """How many copies of an earlier edition were sent, and in how many seconds."""

    copies: int
    seconds: float


def estimate_duration(readers: int, earlier: list[SendingSample]) -> str:
    """“about 19 minutes”; empty without a sample that is large enough."""
    samples = [one for one in earlier if one.copies >= _MIN_COPIES and one.seconds >= _MIN_SECONDS]
    if not samples or not readers:
        return ""
    pace = sum(one.copies for one in samples) / sum(one.seconds for one in samples)
    seconds = readers / pace
    if seconds < 45:
        return "less than a minute"
    return f"about {duration(seconds) if seconds >= 90 else '1 minute'}"


@dataclass(frozen=True, slots=True)
class ConsentChanges:
    """The audience of the last issue, and the readers who joined and left since."""

    audience: int
    joined: int
    left: int
    bounced: int
    complained: int


def audience_change(now: int, since: ConsentChanges | None) -> str:
    """“315 more than the last issue: 402 joined, 61 left”; the reasons only if they add up."""
    if since is None:
        return ""
    change = now - since.audience
    if change:
        sentence = f"{abs(change):,} {'more' if change > 0 else 'fewer'} than the last issue"
    else:
        sentence = "as many as the last issue"
    if since.joined - since.left - since.bounced - since.complained != change:
        return sentence
    names = ("joined", "left", "bounced", "complained")
    reasons = [f"{number:,} {name}" for name in names if (number := getattr(since, name))]
    return f"{sentence}: {', '.join(reasons)}" if reasons else sentence
