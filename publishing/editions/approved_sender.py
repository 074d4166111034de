"""Check that editions start with the sender that a second person approved."""

from django.db.models.functions import Now

from delivery.interface import (
    Reason,
    ReasonCode,
    edition_control,
    join_transaction,
    short_transaction,
)
from delivery.models import Edition, Newsletter


def sender_lines(newsletter: Newsletter) -> str:
    """Return the sender, reply address and name that an approval covers, as lines."""
    return "\n".join((newsletter.sender, newsletter.reply_to, newsletter.name))


def is_outdated(edition: int) -> bool:
    """Return whether an edition needs approval, but was approved with another sender."""
    newsletter = Newsletter.objects.get_current()
    approved = Edition.objects.values_list("approved_sender", flat=True).get(pk=edition)
    return newsletter.second_person and bool(approved) and approved != sender_lines(newsletter)


def pause_held() -> None:
    """Pause the held editions that were approved with another sender.

    Call this in the transaction that changed the sender. Publishing locks the newsletter's row
    before it reads the sender, so every held edition is found here.
    """
    held = Edition.objects.filter(control=Edition.Control.RUNNING, held_until__gt=Now())
    locked = held.exclude(approved_sender="").select_for_update(no_key=True).order_by("pk")
    outdated = [pk for pk in locked.values_list("pk", flat=True) if is_outdated(pk)]
    with join_transaction(), short_transaction() as cursor:
        for edition in outdated:
            edition_control.pause_automatically(
                cursor, edition, Reason.of(ReasonCode.APPROVAL_OUTDATED)
            )
