"""Check that a test of exactly this content was sent."""

from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext as _

from delivery.models import Delivery, Edition
from publishing.content.edition_content import Content
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FixIn, advice, passed


def load_sent_test(content: Content) -> tuple[str, datetime] | None:
    """Return recipient and time of the newest accepted test with exactly this content."""
    tests = Edition.objects.filter(kind=Edition.Kind.TEST, content_hash=content.sha256)
    for number, issue in tests.order_by("-pk").values_list("version", "issue_id")[:5]:
        sent = Delivery.objects.filter(issue=issue, version=number, sent_at__isnull=False).first()
        if sent and sent.sent_at:
            return sent.address, sent.sent_at
    return None


def check(context: CheckContext) -> Iterator[Finding]:
    """Find a version of which no test letter was sent."""
    if not context.is_mailed:
        return
    if context.test:
        address, at = context.test
        sent = _("A test was sent to {address} ({at}).")
        yield passed(sent, address=address, at=context.clock(at))
    else:
        yield advice(
            _("You haven't sent a test of this version"),
            _("A test shows you the letter in a real mailbox."),
            FixIn.TEST,
        )
