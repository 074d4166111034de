"""Helpers that find issues of authors and set the states of an edition's copies."""

from django.db.models import F, QuerySet
from django.db.models.functions import Now

from delivery.mail import transactional_mail_texts
from delivery.mail.mark_test_letter import TEST_ISSUE
from delivery.models import Batch, Delivery, Edition
from publishing.models import Issue


def written() -> QuerySet[Issue]:
    """Return the issues that authors wrote, without the built-in issues."""
    return Issue.objects.exclude(
        pk__in=[*transactional_mail_texts.ISSUE_BY_KIND.values(), TEST_ISSUE]
    )


def sent(edition: Edition, *names: str) -> None:
    """Mark the copies of these readers as sent; without names, mark all queued copies."""
    for copy in _waiting(edition, names):
        Delivery.objects.filter(pk=copy.pk).update(
            outcome="sent",
            sent_at=Now(),
            evidence="reply",
            provider_message_id=f"{edition.version}-{copy.recipient_id}",
        )
        _counted(copy, "sent")


def in_doubt(edition: Edition, *names: str) -> None:
    """Mark the copies of these readers as unconfirmed."""
    for copy in _waiting(edition, names):
        Delivery.objects.filter(pk=copy.pk).update(outcome="unknown")
        _counted(copy, "unknown", state="unknown", unknown_since=Now())


def cancelled(edition: Edition) -> None:
    """Cancel the edition, so that nothing more is sent."""
    for copy in _waiting(edition, ()):
        Delivery.objects.filter(pk=copy.pk).update(outcome="withdrawn")
        _counted(copy, "withdrawn")
    Edition.objects.filter(pk=edition.pk).update(control="cancelled", control_at=Now())


def hold_is_over(edition: Edition) -> None:
    """End the hold of the edition."""
    Edition.objects.filter(pk=edition.pk).update(held_until=F("published_at"))


def _waiting(edition: Edition, names: tuple[str, ...]) -> list[Delivery]:
    copies = Delivery.objects.filter(
        issue=edition.issue_id, version=edition.version, outcome="waiting"
    )
    return list(copies.filter(name__in=names) if names else copies)


def _counted(copy: Delivery, outcome: str, **facts: object) -> None:
    batch = Batch.objects.filter(pk=copy.batch_id)
    batch.update(**{"waiting": F("waiting") - 1, outcome: F(outcome) + 1, **facts})
    batch.filter(waiting=0, unknown=0).update(state="done")
