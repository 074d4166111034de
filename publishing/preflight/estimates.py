"""Estimate how long sending takes, and say how the audience changed. Pure."""

from collections.abc import Mapping

from delivery.humanise import duration

# Smaller samples do not tell the pace of a large edition.
_MIN_SECONDS = 5.0
_MIN_COPIES = 200


def estimate_duration(readers: int, earlier: list[tuple[int, float]]) -> str:
    """“about 19 minutes”; empty unless an `earlier` edition had enough copies and seconds."""
    samples = [one for one in earlier if one[0] >= _MIN_COPIES and one[1] >= _MIN_SECONDS]
    if not samples or not readers:
        return ""
    copies, times = zip(*samples, strict=True)
    seconds = readers * sum(times) / sum(copies)
    if seconds < 45:
        return "less than a minute"
    return f"about {duration(seconds) if seconds >= 90 else '1 minute'}"


def audience_change(before: int, now: int, acts: Mapping[str, int]) -> str:
    """“315 more than the last issue: 402 joined, 61 left”; the reasons only if they add up."""
    change = now - before
    if change:
        sentence = f"{abs(change):,} {'more' if change > 0 else 'fewer'} than the last issue"
    else:
        sentence = "as many as the last issue"
    joined = acts.get("confirmed", 0) + acts.get("imported", 0)
    gone = {name: acts.get(name, 0) for name in ("left", "bounced", "complained")}
    if joined - sum(gone.values()) != change:
        return sentence
    counts = {"joined": joined, **gone}.items()
    reasons = ", ".join(f"{number:,} {name}" for name, number in counts if number)
    return f"{sentence}: {reasons}" if reasons else sentence
