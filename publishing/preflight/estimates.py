"""Estimate how long sending takes, and describe how the audience changed. Pure."""

from collections.abc import Mapping

from django.utils.translation import gettext as _

from delivery.humanise import digits, duration

# Smaller samples do not show the pace of a large edition.
_MIN_SECONDS = 5.0
_MIN_COPIES = 200


def estimate_duration(readers: int, earlier: list[tuple[int, float]]) -> str:
    """
    Return a duration such as “about 19 minutes”.

    `earlier` has the copies and seconds of earlier editions. Empty if none was large enough.
    """
    samples = [one for one in earlier if one[0] >= _MIN_COPIES and one[1] >= _MIN_SECONDS]
    if not samples or not readers:
        return ""
    copies, times = zip(*samples, strict=True)
    seconds = readers * sum(times) / sum(copies)
    if seconds < 45:
        return _("less than a minute")
    if seconds < 90:
        return _("about 1 minute")
    return _("about {duration}").format(duration=duration(seconds))


def audience_change(before: int, now: int, acts: Mapping[str, int]) -> str:
    """
    Describe the change since the last issue.

    Example: “315 more than the last issue (joined: 402, unsubscribed: 87)”.

    The reasons are left out unless they add up to the change.
    """
    change = now - before
    if change > 0:
        sentence = _("{n} more than the last issue").format(n=digits(change))
    elif change < 0:
        sentence = _("{n} fewer than the last issue").format(n=digits(-change))
    else:
        sentence = _("as many as the last issue")
    joined = acts.get("confirmed", 0) + acts.get("imported", 0)
    left, bounced, complained = (acts.get(name, 0) for name in ("left", "bounced", "complained"))
    if joined - left - bounced - complained != change:
        return sentence
    reasons = [
        text.format(n=digits(number))
        for text, number in (
            (_("joined: {n}"), joined),
            (_("unsubscribed: {n}"), left),
            (_("bounced: {n}"), bounced),
            (_("marked as spam: {n}"), complained),
        )
        if number
    ]
    return f"{sentence} ({', '.join(reasons)})" if reasons else sentence
