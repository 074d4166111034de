"""Send the mails of the outbox; repeat only those the provider never had."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from smtplib import SMTPResponseException

from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models.functions import Now

from shop.models import Mail

LEASE = timedelta(minutes=5)  # longer than any call


def send_by_smtp(mail: Mail) -> None:
    """Send a mail. The attempt's id in the header finds it at the provider."""
    to, headers = [mail.order.user.email], {"X-Attempt": str(mail.attempt)}
    EmailMessage("Your order", mail.order.item, to=to, headers=headers).send()


def send_next_mail(send: Callable[[Mail], None] = send_by_smtp) -> bool:
    """Send one mail. Return False if none is waiting. Many workers may call this."""
    with transaction.atomic(durable=True):
        waiting = Mail.objects.filter(state="waiting").order_by("pk")
        mail = waiting.select_for_update(skip_locked=True).first()
        if mail is None:
            return False
        mail.state, mail.attempt, mail.started_at = "started", uuid.uuid4(), Now()
        mail.save()
    # The attempt is committed before its first byte leaves, and no transaction is open now.
    try:
        send(mail)
        state = "sent"
    except SMTPResponseException:  # an answer: the provider does not have the mail
        state = "refused"
    except Exception:  # noqa: BLE001 -- without an answer, only the provider knows
        state = "unknown"
    Mail.objects.filter(attempt=mail.attempt, state="started").update(state=state)
    return True


def find_lost_attempts() -> int:
    """Mark the attempts of workers that died as unknown. Return how many."""
    expired = Mail.objects.filter(state="started", started_at__lt=Now() - LEASE)
    return expired.update(state="unknown")


def settle(attempt: uuid.UUID, *, provider_has_it: bool) -> None:
    """Store what the provider said about an unknown attempt. Send again only then."""
    state = "sent" if provider_has_it else "waiting"
    Mail.objects.filter(attempt=attempt, state="unknown").update(state=state)
