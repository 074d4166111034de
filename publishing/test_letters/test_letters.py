"""Send the letter in a form as one marked test, on the same path as an issue."""

import uuid
from datetime import datetime, timedelta
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse

from delivery.humanise import clock, counted
from delivery.interface import (
    ReasonCode,
    enqueue_test,
    next_number,
    reason_sentence,
)
from delivery.mail.test_letter import TEST_ISSUE
from delivery.models import Delivery, Edition
from delivery.models.delivery import Outcome
from delivery.monitoring.worker_heartbeat import active_workers
from delivery.reader_fields import FIELD_NAMES
from publishing.content.compose_content import edition_columns
from publishing.content.edition_content import Content
from publishing.permissions import TAKE_READERS_AWAY, may
from subscribers.models import Subscriber


class TooManyTestsError(Exception):
    """The author has used up the test letters of an hour."""


def send_test(author: uuid.UUID, content: Content, to: str) -> int:
    """Enqueue `content` as a test; return its number. Raises `TooManyTestsError`."""
    with transaction.atomic():
        _check_limit(author)
        edition = Edition.objects.create(
            issue_id=TEST_ISSUE,
            version=next_number(),
            kind=Edition.Kind.TEST,
            author_id=author,
            archive_url=settings.SITE_URL + reverse("archive:index"),
            **edition_columns(content),
        )
        address, *fields = _reader_of(to, author)
        enqueue_test(edition, address, fields)
        return edition.version


def _check_limit(author: uuid.UUID) -> None:
    # The lock keeps two concurrent posts from both finding room for one.
    get_user_model().objects.select_for_update(no_key=True).get(pk=author)
    within_the_hour = cast("Any", Now()) - timedelta(hours=1)
    sent = Edition.objects.filter(
        issue_id=TEST_ISSUE, author_id=author, published_at__gt=within_the_hour
    )
    if sent.count() >= settings.TESTS_PER_HOUR:
        letters = counted(settings.TESTS_PER_HOUR, "test letter")
        raise TooManyTestsError(
            f"You have sent {letters} within the hour, which is as many as go (TESTS_PER_HOUR); "
            "wait a while and send it again."
        )


def _reader_of(address: str, author: uuid.UUID) -> tuple[str, ...]:
    """Return address and fields of the reader with this address, if the author may see readers."""
    without_reader = (address, *[""] * len(FIELD_NAMES))
    if not any(may(author, permission) for permission in TAKE_READERS_AWAY):
        return without_reader
    readers = Subscriber.objects.filter(email_key=address.lower())
    return readers.values_list("email", *FIELD_NAMES).first() or without_reader


def last_test_address(author: AbstractBaseUser | AnonymousUser) -> str:
    """Return the address of the author's last test letter, or their own."""
    own: str = getattr(author, "email", "")
    last = Edition.objects.filter(issue_id=TEST_ISSUE, author_id=author.pk)
    version = last.order_by("-version").values_list("version", flat=True).first()
    if version is None:
        return own
    copies = Delivery.objects.filter(issue_id=TEST_ISSUE, version=version)
    return copies.values_list("address", flat=True).first() or own


def is_settled(letter: Delivery) -> bool:
    """Whether nothing more is awaited."""
    return letter.outcome not in {Outcome.WAITING, Outcome.UNKNOWN}


def tone_of(letter: Delivery) -> str:
    """The tone of the note about it."""
    if letter.outcome == Outcome.SENT:
        return "doubt" if letter.bounced_at or letter.complained_at else "sent"
    return "fault" if is_settled(letter) else "held"


_GAVE_UP = frozenset({ReasonCode.TRIES_USED_UP, ReasonCode.PARKED})


def letter_sentence(letter: Delivery, zone: Any) -> str:
    """Return the state of a test letter as a sentence, with times in this zone."""

    def at(moment: datetime | None) -> str:
        return clock(moment, zone) if moment else ""

    match letter.outcome:
        case Outcome.SENT:
            accepted = f"Postmark accepted it at {at(letter.sent_at)}"
            if letter.complained_at:
                return f"{accepted}; it was called spam at {at(letter.complained_at)}."
            if letter.bounced_at:
                return f"{accepted}; it came back at {at(letter.bounced_at)}."
            if letter.delivered_at:
                return f"{accepted}; the receiving server took it at {at(letter.delivered_at)}."
            return f"{accepted}."
        case Outcome.SUPPRESSED | Outcome.WITHDRAWN:
            return f"Not sent: {reason_sentence(letter.reason)}"
        case Outcome.FAILED:
            gave_up = letter.reason is not None and letter.reason.code in _GAVE_UP
            what = "Not sent" if gave_up else "Postmark refused it"
            return f"{what}: {reason_sentence(letter.reason)}"
        case Outcome.UNKNOWN:
            return "It left and no answer came; Postmark is being asked whether it has it."
    return _why_it_waits(letter, at(letter.batch.due_at))


def _why_it_waits(letter: Delivery, due_at: str) -> str:
    batch, edition = letter.batch, letter.batch.edition
    if edition.control != "running":
        return f"Held back: {reason_sentence(edition.control_reason) or 'it is paused.'}"
    if batch.state in {"claimed", "sending"}:
        return "It is being handed to Postmark."
    if batch.reason:
        return f"Put off: {reason_sentence(batch.reason)} It is tried again at {due_at}."
    if not active_workers().exists():
        return "Waiting for a worker; none was heard from in the last minute."
    return "Waiting for a worker."
