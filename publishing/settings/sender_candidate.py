"""Try a sender with a test letter, then make this sender the newsletter's sender.

The candidate is stored only in the test letter, so the sender and its test always match.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from email.utils import parseaddr
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.db.models import Exists, Q
from django.utils.html import format_html
from django.utils.translation import gettext as _

from delivery.interface import load_test_letter, provider_name
from delivery.mail.mark_test_letter import TEST_ISSUE, TEST_RECIPIENT
from delivery.models import Delivery, Edition, Newsletter
from delivery.models.delivery import Outcome
from publishing.content.edition_content import Content
from publishing.editions.approved_sender import pause_held
from publishing.test_letters.send_test_letter import is_settled, send_test
from subscribers.record_activity import record_activity


class CandidateState(StrEnum):
    """What the provider answered to a test letter from the candidate."""

    WAITING = "waiting"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    NOT_SENT = "not sent"  # The recipient may not be mailed, so the sender is still untested.
    IN_USE = "in use"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sender that an author tries with a test letter."""

    name: str
    address: str
    mailbox: str
    letter: Delivery
    newsletter: Newsletter

    @property
    def state(self) -> CandidateState:
        """What the provider answered, and whether the candidate is the sender now."""
        if self.letter.outcome == Outcome.SENT:
            in_use = (self.newsletter.sender_name, self.newsletter.sender_address)
            is_used = (self.name, self.address) == in_use
            return CandidateState.IN_USE if is_used else CandidateState.ACCEPTED
        if self.letter.outcome == Outcome.FAILED:
            return CandidateState.REFUSED
        return CandidateState.NOT_SENT if is_settled(self.letter) else CandidateState.WAITING


def mailbox_of(name: str, address: str) -> str:
    """Return name and address in the format of `Newsletter.sender`."""
    return Newsletter(sender_name=name, sender_address=address).sender


def send_from(name: str, address: str, to: str, author: uuid.UUID) -> int:
    """Send a test letter from this sender; return the letter's number.

    Raises `TooManyTestsError`.
    """
    mailbox = mailbox_of(name, address)
    # Replace braces, because they would become merge fields.
    shown = mailbox.replace("{", "(").replace("}", ")")
    sentence = _("{provider} accepted this letter from {sender}.").format(
        sender=shown, provider=provider_name()
    )
    then = _("To send your letters from it, open Settings, Sender, and press “Use this sender”.")
    content = Content(
        title=_("A test of your sender"),
        html=format_html("<p>{}</p>\n<p>{}</p>", sentence, then),
        text=f"{sentence}\n\n{then}\n",
    )
    return send_test(author, content, to, sender=mailbox)


def load_candidate() -> Candidate | None:
    """Load the sender that was tried last; None if there is none."""
    tried = _tried().order_by("-version").first()
    letter = tried and load_test_letter(tried.version)
    if not tried or not letter:
        return None
    name, address = parseaddr(tried.sender)
    return Candidate(name, address, tried.sender, letter, Newsletter.objects.get_current())


@transaction.atomic
def use_candidate(number: int, by: uuid.UUID) -> bool:
    """Make the candidate the sender if the provider accepted its test letter `number`.

    Change nothing and return False if the letter was not accepted, another sender was tried later,
    or the candidate is already the sender.
    """
    tried = _tried().filter(version=number).first()
    if tried is None:
        return False
    name, address = parseaddr(tried.sender)
    accepted = Delivery.objects.filter(
        issue_id=TEST_ISSUE,
        recipient_id=TEST_RECIPIENT,
        version=number,
        outcome=Outcome.SENT,
    )
    changed = (
        Newsletter.objects.filter(Exists(accepted), ~Exists(_tried().filter(version__gt=number)))
        .exclude(Q(sender_name=name, sender_address=address))
        .update(sender_name=name, sender_address=address)
    )
    if changed:
        pause_held()
        newsletter = Newsletter.objects.get_current()
        record_activity("change_sender", by, newsletter, sender=newsletter.sender)
    return bool(changed)


def _tried() -> Any:
    return Edition.objects.filter(issue_id=TEST_ISSUE).exclude(sender="")
