"""
Test letters: the letter as it stands in a form, as one marked mail to any address.

It goes the way of the real one: the same content, the same mail, an edition, a batch, a call, an
answer on record. What it shows is what the readers' mails will do.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse

from delivery.humanise import clock
from delivery.interface import (
    ReasonCode,
    TestLetter,
    enqueue_test,
    load_test_letter,
    next_number,
    reason_sentence,
)
from delivery.mail.test_letter import TEST_ISSUE, mark_subject
from delivery.models import Delivery, Edition, Newsletter
from delivery.models.delivery import Outcome
from delivery.reader_fields import FIELD_NAMES
from publishing.content.compose_content import edition_columns
from publishing.content.edition_content import Content
from publishing.permissions import TAKE_READERS_AWAY, may
from subscribers.models import Subscriber


class TooManyTestsError(Exception):
    """The author has sent as many test letters as an hour may have; one sentence says so."""


@dataclass(frozen=True, slots=True)
class SentTest:
    """A test letter and how it stands, in one sentence; `is_settled` if nothing more is awaited."""

    number: int
    subject: str
    to: str
    asked_at: datetime
    outcome: str
    sentence: str
    is_settled: bool
    came_back: bool

    @property
    def tone(self) -> str:
        """How a page shows it."""
        if self.outcome == Outcome.SENT:
            return "doubt" if self.came_back else "sent"
        if not self.is_settled:
            return "held"
        return "fault"

    @property
    def glyph(self) -> str:
        """The sign that stands beside the sentence."""
        if self.outcome == Outcome.SENT:
            return "attention" if self.came_back else "sent"
        return "failed" if self.is_settled else "held"


def send_test(author: uuid.UUID, content: Content, to: str) -> int:
    """
    Have `content` sent to the address `to`, marked as a test; the number of the test letter.

    Merge fields are filled for the reader with that address, if there is one and the author may
    see readers. Raises `TooManyTestsError`.
    """
    with transaction.atomic():
        _keep_to_the_limit(author)
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


def _keep_to_the_limit(author: uuid.UUID) -> None:
    # Their row is held, so that two at once do not both find room for one.
    get_user_model().objects.select_for_update(no_key=True).get(pk=author)
    within_the_hour = cast("Any", Now()) - timedelta(hours=1)
    sent = Edition.objects.filter(
        issue_id=TEST_ISSUE, author_id=author, published_at__gt=within_the_hour
    )
    if sent.count() >= settings.TESTS_PER_HOUR:
        letters = (
            "1 test letter"
            if settings.TESTS_PER_HOUR == 1
            else (f"{settings.TESTS_PER_HOUR:,} test letters")
        )
        raise TooManyTestsError(
            f"You have sent {letters} within the hour, which is as many as go (TESTS_PER_HOUR); "
            "wait a while and send it again."
        )


def _reader_of(address: str, author: uuid.UUID) -> tuple[str, ...]:
    """
    Address and fields as a reader's copy has them; without a reader the fields are empty.

    An author who may not see readers does not learn that there is one with this address.
    """
    without_reader = (address, *[""] * len(FIELD_NAMES))
    if not any(may(author, permission) for permission in TAKE_READERS_AWAY):
        return without_reader
    readers = Subscriber.objects.filter(email_key=address.lower())
    return readers.values_list("email", *FIELD_NAMES).first() or without_reader


def last_test_address(author: AbstractBaseUser | AnonymousUser) -> str:
    """The address of the author's last test letter while that is kept, or their own."""
    own: str = getattr(author, "email", "")
    last = Edition.objects.filter(issue_id=TEST_ISSUE, author_id=author.pk)
    version = last.order_by("-version").values_list("version", flat=True).first()
    if version is None:
        return own
    copies = Delivery.objects.filter(issue_id=TEST_ISSUE, version=version)
    return copies.values_list("address", flat=True).first() or own


def load_sent_test(number: int) -> SentTest | None:
    """The test letter of this number and how it stands; None if there is none."""
    letter = load_test_letter(number)
    if letter is None:
        return None
    zone = Newsletter.objects.the_one().zone
    return SentTest(
        number=number,
        subject=mark_subject(Content(letter.title, "", "").plain_title),
        to=letter.address,
        asked_at=letter.asked_at,
        outcome=letter.outcome,
        sentence=letter_sentence(letter, zone),
        is_settled=letter.outcome not in {Outcome.WAITING, Outcome.UNKNOWN},
        came_back=bool(letter.bounced_at or letter.complained_at),
    )


_GAVE_UP = frozenset({ReasonCode.TRIES_USED_UP, ReasonCode.PARKED})


def letter_sentence(letter: TestLetter, zone: Any) -> str:
    """How a test letter stands, in one sentence; its times are of this zone."""

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
    return _why_it_waits(letter, at(letter.due_at))


def _why_it_waits(letter: TestLetter, due_at: str) -> str:
    if letter.control != "running":
        return f"Held back: {reason_sentence(letter.control_reason) or 'it is paused.'}"
    if letter.batch_state in {"claimed", "sending"}:
        return "It is being handed to Postmark."
    if letter.batch_reason:
        return f"Put off: {reason_sentence(letter.batch_reason)} It is tried again at {due_at}."
    if not letter.worker_is_there:
        return "Waiting for a worker; none was heard from in the last minute."
    return "Waiting for a worker."
