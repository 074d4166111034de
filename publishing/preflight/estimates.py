"""Describe how the audience changed. Pure."""

from collections.abc import Mapping

from django.utils.translation import gettext as _

from delivery.humanise import digits


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
