"""What the desk says after a publication, and the way from there to its progress."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.http import HttpRequest
from django.urls import reverse

from delivery.models import Edition
from delivery.rules.edition_counts import ARCHIVE_ONLY, AUDIENCE_WORDS
from publishing.editions.listing import archive_sentence
from publishing.editions.status import load_status
from publishing.editions.versions import REACHED, UNREACHED
from publishing.scheduling.local_time import scheduled_moment

ACCEPTED = "The newsletter issue has been accepted - emails will go out shortly."
TO_NOBODY = "This issue goes to nobody: there is no confirmed reader yet."
NONE_LEFT = "This version goes to nobody: whoever was sent an earlier one is no longer confirmed."
ALL_REACHED = "This version goes to nobody: every confirmed reader was reached by an earlier one."
# A message remembers its issue in a tag, so that a replay leads to the same page as the first.
_TAG = "issue-"
_TEST_TAG = "test-letter-"


@dataclass(frozen=True, slots=True)
class Note:
    """One message as the desk shows it: glyph, tone, text, and a link with its words, if any."""

    glyph: str
    tone: str
    text: str
    leads_to: str
    words: str

    @property
    def passes_when(self) -> str:
        """When its words are out of date: copies have `left`, all is `at_rest`, or never."""
        return {COPIES_LEAVE: "left", ACCEPTED: "at_rest"}.get(self.text, "")


def tag_of(edition: Edition) -> str:
    """The tag of a message that is about this edition's issue."""
    return f"{_TAG}{edition.issue_id.hex}"


def tag_of_test(number: int, draft: uuid.UUID | None = None) -> str:
    """The tag of a message that is about this test letter, of that draft."""
    return f"{_TEST_TAG}{number}{f'-{draft.hex}' if draft else ''}"


def page_of_test(number: int, draft: uuid.UUID | None = None) -> str:
    """Where it is told how a test letter stands; from there it goes back to that draft."""
    address = reverse("desk:test_letter", args=[number])
    return f"{address}?draft={draft}" if draft else address


def to_nobody(edition: Edition) -> str:
    """What is said of an edition without an audience."""
    nobody = {REACHED.value: NONE_LEFT, UNREACHED.value: ALL_REACHED}.get(
        edition.goes_to, TO_NOBODY
    )
    return f"{nobody} {archive_sentence(unlisted=edition.issue.unlisted)}"


def in_the_archive(edition: Edition) -> str:
    """The sentence about an edition that is not mailed."""
    stands = archive_sentence(unlisted=edition.issue.unlisted)
    return f"The newsletter issue has been accepted. {ARCHIVE_ONLY} {stands}"


def there_already(edition: Edition) -> str:
    """What is said to whoever publishes the same words as the same version again."""
    moment = scheduled_moment(edition)
    done, when = ("scheduled", f"for {moment.words}, ") if moment else ("published", "")
    taken_back = load_status(edition.pk).taken_back
    return (
        f"Version {edition.version} was {done} before, with these same words, {when}to "
        f"{AUDIENCE_WORDS[edition.goes_to]}{f', and {taken_back} since' if taken_back else ''}. "
        "Nothing was sent now and nothing was changed."
    )


def notes_of(request: HttpRequest) -> list[Note]:
    """The messages that wait for this author. They are shown once."""
    return [_note(message) for message in messages.get_messages(request)]


def _note(message: Message) -> Note:
    glyph, tone = {
        messages.SUCCESS: ("sent", "sent"),
        messages.WARNING: ("attention", "doubt"),
        messages.ERROR: ("attention", "fault"),
    }.get(message.level, ("done", ""))
    leads_to = words = ""
    for tag in (message.extra_tags or "").split():
        if tag.startswith(_TAG):
            leads_to = reverse("desk:progress", args=[uuid.UUID(tag.removeprefix(_TAG))])
            words = "See it go out" if message.message == ACCEPTED else "See the issue"
        elif tag.startswith(_TEST_TAG):
            number, _, draft = tag.removeprefix(_TEST_TAG).partition("-")
            leads_to = page_of_test(int(number), uuid.UUID(draft) if draft else None)
            words = "See how it stands"
    return Note(glyph, tone, str(message.message), leads_to, words)


COPIES_LEAVE = "The hold has ended; the first copies leave now."
