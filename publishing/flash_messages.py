"""The messages after a publication, each with a link to what it is about."""

import uuid

from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.http import HttpRequest
from django.urls import reverse

from delivery.models import Edition
from delivery.reports.edition_words import ARCHIVE_ONLY, AUDIENCE_WORDS
from publishing.editions.audience import REACHED, UNREACHED
from publishing.editions.listing import archive_sentence
from publishing.editions.status import load_status
from publishing.scheduling.local_time import scheduled_time_of

ACCEPTED = "The newsletter issue has been accepted - emails will go out shortly."
TO_NOBODY = "This issue goes to nobody: there is no confirmed reader yet."
NONE_LEFT = "This version goes to nobody: whoever was sent an earlier one is no longer confirmed."
ALL_REACHED = "This version goes to nobody: every confirmed reader was reached by an earlier one."
# What a message is about is in its tags, so that a replay leads to the same page as the first.
# `until` is when its words are out of date: copies have `left`, or all is `at_rest`.
UNTIL_LEFT, UNTIL_AT_REST = "until:left", "until:at_rest"


def tag_of(edition: Edition) -> str:
    """The tag of a message that is about this edition's issue."""
    return f"issue:{edition.issue_id}"


def tag_of_test(number: int, draft: uuid.UUID | None = None) -> str:
    """The tag of a message that is about this test letter, of that draft."""
    return f"test:{number}{f' draft:{draft}' if draft else ''}"


def page_of_test(number: int, draft: uuid.UUID | str | None = None) -> str:
    """The page of a test letter, which leads back to that draft."""
    address = reverse("desk:test_letter", args=[number])
    return f"{address}?draft={draft}" if draft else address


def to_nobody(edition: Edition) -> str:
    """The sentence about an edition without an audience."""
    nobody = {REACHED.value: NONE_LEFT, UNREACHED.value: ALL_REACHED}.get(
        edition.goes_to, TO_NOBODY
    )
    return f"{nobody} {archive_sentence(unlisted=edition.issue.unlisted)}"


def in_the_archive(edition: Edition) -> str:
    """The sentence about an edition that is not mailed."""
    sentence = archive_sentence(unlisted=edition.issue.unlisted)
    return f"The newsletter issue has been accepted. {ARCHIVE_ONLY} {sentence}"


def there_already(edition: Edition) -> str:
    """The sentence for a second publication of the same words as the same version."""
    moment = scheduled_time_of(edition)
    done, when = ("scheduled", f"for {moment.words}, ") if moment else ("published", "")
    taken_back = load_status(edition.pk).taken_back
    return (
        f"Version {edition.version} was {done} before, with these same words, {when}to "
        f"{AUDIENCE_WORDS[edition.goes_to]}{f', and {taken_back} since' if taken_back else ''}. "
        "Nothing was sent now and nothing was changed."
    )


_LOOKS = {
    messages.SUCCESS: ("sent", "sent"),
    messages.WARNING: ("attention", "doubt"),
    messages.ERROR: ("attention", "fault"),
}


def notes_of(request: HttpRequest) -> list[dict[str, str]]:
    """The messages that wait for this author. They are shown once."""
    return [_shown(message) for message in messages.get_messages(request)]


def _shown(message: Message) -> dict[str, str]:
    tags = dict(tag.partition(":")[::2] for tag in (message.extra_tags or "").split())
    url, link = "", ""
    if "issue" in tags:
        url, link = reverse("desk:progress", args=[tags["issue"]]), "issue"
    elif "test" in tags:
        url, link = page_of_test(int(tags["test"]), tags.get("draft")), "test"
    glyph, tone = _LOOKS.get(message.level, ("done", ""))
    text, until = str(message.message), tags.get("until", "")
    return {"glyph": glyph, "tone": tone, "text": text, "url": url, "link": link, "until": until}
