"""Send the letter in a form as one test mail, with the code that sends issues."""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from delivery.humanise import clock_and_day, digits
from delivery.interface import (
    ReasonCode,
    enqueue_test,
    next_number,
    provider_name,
    reason_sentence,
)
from delivery.mail.mark_test_letter import TEST_ISSUE
from delivery.models import Delivery, Edition
from delivery.models.delivery import Outcome
from delivery.monitoring.worker_heartbeat import active_workers
from publishing.content.compose_content import edition_columns
from publishing.content.edition_content import Content
from publishing.desk_permissions import TAKE_READERS_AWAY, may
from subscribers.models import Subscriber

LONGEST_POLL_S = 15.0


class TooManyTestsError(Exception):
    """The author has reached the hourly limit for test letters."""


def send_test(author: uuid.UUID, content: Content, to: str, *, sender: str = "") -> int:
    """Enqueue `content` as a test letter; return the letter's number.

    Raises `TooManyTestsError`. `sender` is another sender to try instead of the newsletter's.
    """
    with transaction.atomic():
        _check_limit(author)
        edition = Edition.objects.create(
            issue_id=TEST_ISSUE,
            version=next_number(),
            kind=Edition.Kind.TEST,
            author_id=author,
            sender=sender,
            archive_url=settings.SITE_URL + reverse("archive:index"),
            **edition_columns(content),
        )
        enqueue_test(edition, *_reader_of(to, author, edition.merge_fields))
        return edition.version


def _check_limit(author: uuid.UUID) -> None:
    # Without the lock, two concurrent posts could exceed the limit.
    get_user_model().objects.select_for_update(no_key=True).get(pk=author)
    within_the_hour = cast("Any", Now()) - timedelta(hours=1)
    sent = Edition.objects.filter(
        issue_id=TEST_ISSUE, author_id=author, published_at__gt=within_the_hour
    )
    if sent.count() >= settings.TESTS_PER_HOUR:
        limit = settings.TESTS_PER_HOUR
        sentence = ngettext(
            "You have sent {n} test letter within an hour, which is the limit (TESTS_PER_HOUR). "
            "Wait and send it again.",
            "You have sent {n} test letters within an hour, which is the limit (TESTS_PER_HOUR). "
            "Wait and send it again.",
            limit,
        )
        raise TooManyTestsError(sentence.format(n=digits(limit)))


def _reader_of(
    address: str, author: uuid.UUID, fields: Sequence[str]
) -> tuple[str, str, Sequence[str]]:
    """Return a recipient with the address.

    If the author may see readers, the recipient has the values of the reader with this address.
    """
    without_reader = (address, "", [""] * len(fields))
    if not any(may(author, permission) for permission in TAKE_READERS_AWAY):
        return without_reader
    reader = Subscriber.objects.filter(email_key=address.lower()).first()
    if reader is None:
        return without_reader
    return reader.email, reader.name, [reader.fields.get(key, "") for key in fields]


def last_test_address(author: AbstractBaseUser | AnonymousUser) -> str:
    """Return where the author's last test letter went, or the author's own address."""
    own: str = getattr(author, "email", "")
    last = Edition.objects.filter(issue_id=TEST_ISSUE, author_id=author.pk)
    version = last.order_by("-version").values_list("version", flat=True).first()
    if version is None:
        return own
    deliveries = Delivery.objects.filter(issue_id=TEST_ISSUE, version=version)
    return deliveries.values_list("address", flat=True).first() or own


def is_settled(letter: Delivery) -> bool:
    """Return whether the test letter's outcome is final."""
    return letter.outcome not in {Outcome.WAITING, Outcome.UNKNOWN}


def next_poll_s(letter: Delivery, now: datetime) -> float:
    """Return seconds until an open page polls again: a fifth of the letter's age."""
    age_s = (now - letter.batch.edition.published_at).total_seconds()
    return round(min(LONGEST_POLL_S, max(1.0, age_s / 5)), 1)


def tone_of(letter: Delivery) -> str:
    """Return the tone of the note about a test letter."""
    if letter.outcome == Outcome.SENT:
        return "doubt" if letter.bounced_at or letter.complained_at else "sent"
    return "fault" if is_settled(letter) else "held"


_GAVE_UP = frozenset({ReasonCode.TRIES_USED_UP, ReasonCode.PARKED})


def letter_sentence(letter: Delivery, now: datetime, zone: tzinfo) -> str:
    """Return the state of a test letter as a sentence, with times in this zone."""

    def at(moment: datetime | None) -> str:
        return clock_and_day(moment, now, zone) if moment else ""

    match letter.outcome:
        case Outcome.SENT:
            accepted = _("{provider} accepted it at {time}.").format(
                time=at(letter.sent_at), provider=provider_name()
            )
            if letter.complained_at:
                then = _("It was marked as spam at {time}.").format(time=at(letter.complained_at))
            elif letter.bounced_at:
                then = _("It bounced at {time}.").format(time=at(letter.bounced_at))
            elif letter.delivered_at:
                then = _("The receiving server accepted it at {time}.").format(
                    time=at(letter.delivered_at)
                )
            else:
                return accepted
            return f"{accepted} {then}"
        case Outcome.SUPPRESSED | Outcome.WITHDRAWN:
            return _("Not sent: {reason}").format(reason=reason_sentence(letter.reason))
        case Outcome.FAILED if letter.reason and letter.reason.code == ReasonCode.CANNOT_BE_ASKED:
            return _(
                "It is unconfirmed: no answer came, and {provider} cannot be asked whether it was "
                "sent."
            ).format(provider=provider_name())
        case Outcome.FAILED:
            gave_up = letter.reason is not None and letter.reason.code in _GAVE_UP
            sentence = _("Not sent: {reason}") if gave_up else _("{provider} refused it: {reason}")
            return sentence.format(reason=reason_sentence(letter.reason), provider=provider_name())
        case Outcome.UNKNOWN:
            return _(
                "It is unconfirmed: no answer came. Homing asks {provider} whether it was sent."
            ).format(provider=provider_name())
    return _why_it_waits(letter, at(letter.batch.due_at))


def _why_it_waits(letter: Delivery, due_at: str) -> str:
    batch, edition = letter.batch, letter.batch.edition
    if edition.control != "running":
        reason = reason_sentence(edition.control_reason)
        return _("Paused: {reason}").format(reason=reason) if reason else _("It is paused.")
    if batch.state in {"claimed", "sending"}:
        return _("It is being sent.")
    if batch.reason:
        return _("Postponed: {reason} The next try is at {time}.").format(
            reason=reason_sentence(batch.reason), time=due_at
        )
    if not active_workers().exists():
        return _("It waits for a worker. No worker is running.")
    return _("It waits for a worker.")
