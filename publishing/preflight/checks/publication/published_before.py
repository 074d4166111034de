"""Find issues of the last days with the same content or title."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.utils.translation import gettext_lazy as _

from delivery.models import Edition
from publishing.content.edition_content import plain_title, write_fallbacks
from publishing.preflight.check_context import CheckContext
from publishing.preflight.draft_to_check import DraftToCheck
from publishing.preflight.finding import Finding, FindingText, FixIn, Params, Texts, advice, passed

_WITHIN = timedelta(days=7)
# By whether the content is the same, and whether the other issue is scheduled.
_DUPLICATE = {
    (True, True): _("Another issue with the same content is scheduled ({at})"),
    (True, False): _("Another issue with the same content was published ({at})"),
    (False, True): _("Another issue with the same title is scheduled ({at})"),
    (False, False): _("Another issue with the same title was published ({at})"),
}

_DUPLICATE_DETAIL = _("If you publish this issue too, readers get both.")


def _describe_duplicate(params: Params) -> tuple[str, str]:
    kind = bool(params["same_words"]), bool(params["is_scheduled"])
    return str(_DUPLICATE[kind]).format(**params), str(_DUPLICATE_DETAIL)


TEXTS: Texts = {
    "duplicate": _describe_duplicate,
    "no_duplicate": FindingText(
        _("No other issue had this content or title in the last 7 days."),
    ),
}


def load_duplicates(checked: DraftToCheck, now: datetime) -> list[dict[str, Any]]:
    """Return other issues with this letter or title, including scheduled ones."""
    content = write_fallbacks(checked.content, checked.own_fields)
    # A cancelled issue does not count.
    lately = Edition.objects.filter(
        kind=Edition.Kind.NEWSLETTER, published_at__gt=now - _WITHIN
    ).exclude(control=Edition.Control.CANCELLED)
    is_same = Q(html_content=content.html, text_content=content.text)
    editions = (
        lately.annotate(has_letter=ExpressionWrapper(is_same, BooleanField()))
        .order_by("-published_at")
        .exclude(issue=checked.draft.issue_id)
    )
    return [
        {
            "issue": str(one.issue_id),
            "same_words": one.has_letter,
            "is_scheduled": one.control == Edition.Control.SCHEDULED,
            "at": one.published_at,
        }
        for one in editions.only("issue", "title", "published_at", "control")
        if one.has_letter or plain_title(one).casefold() == content.plain_title.casefold()
    ]


def check(context: CheckContext) -> Iterator[Finding]:
    """Find another issue with the same content or title."""
    for other in context.recent_duplicates:
        yield advice("duplicate", FixIn.PROGRESS, **other)
    if not context.recent_duplicates:
        yield passed("no_duplicate")
