"""Find issues of the last days with this draft's content or title."""

import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.models import Edition
from delivery.reader_fields import ReaderField
from publishing.content.edition_content import Content, plain_title, write_fallbacks
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FixIn, advice, passed

_WITHIN = timedelta(days=7)
# The keys say whether the content is the same, and whether the other issue is scheduled.
_DUPLICATE = {
    (True, True): gettext_lazy("Another issue with the same content is scheduled ({at})"),
    (True, False): gettext_lazy("Another issue with the same content was published ({at})"),
    (False, True): gettext_lazy("Another issue with the same title is scheduled ({at})"),
    (False, False): gettext_lazy("Another issue with the same title was published ({at})"),
}


def load_duplicates(
    issue: uuid.UUID | None, content: Content, own: Sequence[ReaderField], now: datetime
) -> list[dict[str, Any]]:
    """Return other recent or scheduled issues with this letter or this title."""
    content = write_fallbacks(content, own)
    # Leave out cancelled issues.
    editions = (
        Edition.objects.filter(kind=Edition.Kind.NEWSLETTER, published_at__gt=now - _WITHIN)
        .exclude(control=Edition.Control.CANCELLED)
        .exclude(issue=issue)
        .annotate(has_letter=Q(html_content=content.html, text_content=content.text))
        .order_by("-published_at")
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
    """Find another issue with this draft's content or title."""
    for other in context.recent_duplicates:
        yield advice(
            _DUPLICATE[other["same_words"], other["is_scheduled"]],
            _("If you publish this issue too, readers get both."),
            FixIn.PROGRESS,
            issue=other["issue"],
            at=context.clock(other["at"]),
        )
    if not context.recent_duplicates:
        yield passed(_("No other issue had this content or title in the last 7 days."))
    if context.is_welcome_letter:
        yield advice(
            _("This draft has the title of your welcome letter"),
            _(
                "New readers already get this letter as the welcome letter. If you publish the "
                "draft, all readers get it."
            ),
        )
