"""Send the mails of the outbox; repeat only mails that the provider never got."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from smtplib import SMTPResponseException

from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models.functions import Now

from shop.models import Mail

LEASE = timedelta(minutes=5)  # longer than any call to the provider takes


def send_by_smtp(mail: Mail) -> None:
    """Send a mail.

    A header contains the attempt's id, by which the provider can find the mail.
    """
    to, headers = [mail.order.user.email], {"X-Attempt": str(mail.attempt)}
    EmailMessage("Your order", mail.order.item, to=to, headers=headers).send()


def send_next_mail(send: Callable[[Mail], None] = send_by_smtp) -> bool:
    """Send one mail; False if no mail waits. Concurrent calls are safe."""
    with transaction.atomic(durable=True):
        waiting = Mail.objects.filter(state="waiting").order_by("pk")
        mail = waiting.select_for_update(skip_locked=True).first()
        if mail is None:
            return False
        mail.state, mail.attempt, mail.started_at = "started", uuid.uuid4(), Now()
        mail.save()
    # The attempt is committed before the first byte of the mail leaves, and no transaction is open
    # during the call.
    try:
        send(mail)
        state = "sent"
    except SMTPResponseException:  # the provider answered that it refuses the mail
        state = "refused"
    except Exception:  # noqa: BLE001 -- without an answer, only the provider knows
        state = "unknown"
    Mail.objects.filter(attempt=mail.attempt, state="started").update(state=state)
    return True


def find_lost_attempts() -> int:
    """Mark the open attempts of dead workers as unknown.

    Return the number of these attempts.
    """
    expired = Mail.objects.filter(state="started", started_at__lt=Now() - LEASE)
    return expired.update(state="unknown")


def settle(attempt: uuid.UUID, *, provider_has_it: bool) -> None:
    """Settle an unknown attempt: the mail counts as sent, or is queued again."""
    state = "sent" if provider_has_it else "waiting"
    Mail.objects.filter(attempt=attempt, state="unknown").update(state=state)
