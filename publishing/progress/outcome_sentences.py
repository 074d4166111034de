"""Texts about one reader's copy: its time, the evidence, and the reason."""

from collections.abc import Callable
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.humanise import counted
from delivery.interface import provider_name, reason_sentence
from delivery.models import Delivery

_EVIDENCE = {
    "reply": gettext_lazy("accepted, message {id}"),
    "lookup": gettext_lazy("accepted, message {id} (found by a look-up)"),
    "webhook": gettext_lazy("accepted, message {id} (reported by a webhook)"),
    "operator": gettext_lazy("accepted, message {id} (confirmed by an operator)"),
}


def address_of(delivery: Delivery) -> str:
    """Return the address of a copy, or “an erased reader” if the reader was erased."""
    return delivery.address or _("an erased reader")


def when_of(delivery: Delivery, now: datetime) -> datetime | None:
    """Return when the copy got its outcome; None if no time is stored."""
    if delivery.outcome == "unknown":
        since = delivery.batch.unknown_since
        # If the worker was killed, `since` is the deadline of its call, which may be in the future.
        return since if since and since <= now else None
    return delivery.sent_at


def why_of(
    delivery: Delivery, clock: Callable[[datetime], str], *, held_until: datetime | None = None
) -> str:
    """Say how the provider accepted a copy, or why it has not accepted the copy.

    If the copy's edition is held, `held_until` is the end of the hold.
    """
    match delivery.outcome:
        case "sent":
            return "; ".join([_accepted(delivery), *_later_events(delivery, clock)])
        case "unknown" if not delivery.reason:
            return _looked_up(delivery, clock)
        case "waiting" if not delivery.reason:
            return reason_sentence(delivery.batch.reason) or _waits(delivery, clock, held_until)
        case "withdrawn" if not delivery.reason:
            return _("stopped or unsubscribed before sending")
        case _:
            reason = reason_sentence(delivery.reason)
            if delivery.missed:
                reason = " ".join((reason, _("You can send this copy again.")))
            return reason


def _waits(
    delivery: Delivery, clock: Callable[[datetime], str], held_until: datetime | None
) -> str:
    if delivery.batch.state == "paused":
        return _("paused")
    if held_until is not None:
        return _("held until {time}").format(time=clock(held_until))
    return _("being sent") if delivery.batch.state == "sending" else _("queued")


def _accepted(delivery: Delivery) -> str:
    text = _EVIDENCE.get(delivery.evidence or "", _EVIDENCE["reply"])
    return str(text).format(id=delivery.provider_message_id)


def _later_events(delivery: Delivery, clock: Callable[[datetime], str]) -> list[str]:
    events = (
        (_("delivered {time}"), delivery.delivered_at),
        (_("bounced {time}"), delivery.bounced_at),
        (_("marked as spam {time}"), delivery.complained_at),
    )
    return [text.format(time=clock(at)) for text, at in events if at]


def _looked_up(delivery: Delivery, clock: Callable[[datetime], str]) -> str:
    batch = delivery.batch
    sentences = [_("No answer came back.")]
    if batch.state == "parked":
        sentences.append(
            _(
                "{provider} could not say whether it accepted this copy. An author must decide "
                "about it."
            ).format(provider=provider_name())
        )
        return " ".join(sentences)
    if batch.lookups:
        sentences.append(counted("Looked up {n} time.", "Looked up {n} times.", batch.lookups))
    if batch.state == "unknown":
        text = _("The next look-up is at {time}.")
        sentences.append(text.format(time=clock(batch.due_at)))
    else:
        sentences.append(_("It is being looked up now."))
    return " ".join(sentences)
