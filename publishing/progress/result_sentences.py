"""Show the results of an issue next to the results of earlier issues."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from delivery.humanise import digits
from delivery.interface import capabilities, provider_name
from delivery.reports.load_edition_results import EditionResults

# After a day nearly all reports have arrived, so the issue can be compared with earlier issues.
COMPARED_AFTER = timedelta(days=1)
_LABELS = {
    "delivered": gettext_lazy("Delivered"),
    "bounced": gettext_lazy("Bounced"),
    "complained": gettext_lazy("Marked as spam"),
    "unsubscribed": gettext_lazy("Unsubscribed"),
}
# Show two decimals for complaints, because a share of 0.1 % is already high.
_DECIMALS = {"complained": 2}


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One result: its number, its share of the sent copies, and a comparison in words."""

    name: str
    label: str
    number: int
    share: str
    comparison: str


def result_rows(results: Sequence[EditionResults], now: datetime) -> list[ResultRow]:
    """Return a row for each result of the first edition in `results`.

    The other editions belong to earlier issues. The list is empty if nothing was sent and nothing
    was reported. A report is shown even if no copy is recorded as sent, because the provider's
    report can arrive before its answer to the call.
    """
    if not any(getattr(one, name) for one in results[:1] for name in ("sent", *_LABELS)):
        return []
    shown, *others = results
    is_early = now - shown.published_at < COMPARED_AFTER
    earlier = [one for one in others if one.sent]
    return [_row(name, shown, earlier, is_early=is_early) for name in _LABELS]


def _row(
    name: str, shown: EditionResults, earlier: Sequence[EditionResults], *, is_early: bool
) -> ResultRow:
    number, places = getattr(shown, name), _DECIMALS.get(name, 1)
    label, share = str(_LABELS[name]), _share(name, shown)
    if name == "delivered":
        if not number:
            nothing = (
                _("no report: {provider} reports deliveries only by webhook")
                if capabilities().path
                else _("no report: {provider} does not report deliveries")
            ).format(provider=provider_name())
            return ResultRow(name, label, 0, "", nothing)
        # Leave out earlier issues that were sent before a webhook was set up, as they have no
        # reports.
        earlier = [one for one in earlier if one.delivered]
    others = [_share(name, one) for one in earlier]
    words = _compared(share, others, places, is_early=is_early) if others else ""
    return ResultRow(name, label, number, _percent(share, places), words)


def _share(name: str, results: EditionResults) -> float:
    percent: float = 100 * getattr(results, name) / max(1, results.sent)
    return round(percent, _DECIMALS.get(name, 1))


def _percent(share: float, places: int) -> str:
    return _("{number} %").format(number=number_format(share, places))


def _compared(share: float, others: Sequence[float], places: int, *, is_early: bool) -> str:
    least, most, count = min(others), max(others), len(others)
    if is_early:
        text = ngettext(
            "so far; the issue before: {range}", "so far; the last {n} issues: {range}", count
        )
    elif share < least:
        text = ngettext(
            "less than the issue before ({range})", "less than the last {n} issues ({range})", count
        )
    elif share > most:
        text = ngettext(
            "more than the issue before ({range})", "more than the last {n} issues ({range})", count
        )
    else:
        text = ngettext(
            "like the issue before ({range})", "like the last {n} issues ({range})", count
        )
    return text.format(n=digits(count), range=_range(least, most, places))


def _range(least: float, most: float, places: int) -> str:
    if least == most:
        return _percent(least, places)
    return _("{least} to {most} %").format(
        least=number_format(least, places), most=number_format(most, places)
    )
