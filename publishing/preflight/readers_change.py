"""Describe how the number of confirmed readers changed since the last issue."""

from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from delivery.humanise import digits
from publishing.editions.edition_status import since_when
from publishing.editions.versions import mailed_issues
from subscribers.consent.consent_log import count_acts_since


def describe_change_to(now: int) -> str:
    """Describe the change in the number of readers since the last issue, if any."""
    last = mailed_issues().values_list("confirmed_then", "published_at").first()
    if last is None or last[0] is None:
        return ""
    before, at = last
    return readers_change(before, now, count_acts_since(at), date=since_when(at))


def readers_change(before: int, now: int, acts: Mapping[str, int], *, date: str) -> str:
    """Describe the change since the last issue, which was mailed on `date`.

    The result is, for example, “315 more confirmed readers than at the last issue on 2 July 2026
    (joined: 402, unsubscribed: 87)”.

    If the numbers in brackets do not add up to the change, the brackets are left out.
    """
    change = now - before
    if change > 0:
        text = ngettext(
            "{n} more confirmed reader than at the last issue on {date}",
            "{n} more confirmed readers than at the last issue on {date}",
            change,
        )
    elif change < 0:
        text = ngettext(
            "{n} fewer confirmed reader than at the last issue on {date}",
            "{n} fewer confirmed readers than at the last issue on {date}",
            -change,
        )
    else:
        text = _("as many confirmed readers as at the last issue on {date}")
    sentence = text.format(n=digits(abs(change)), date=date)
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
