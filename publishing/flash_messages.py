"""Write the messages after a publication, with links to the issue or test letter."""

import uuid

from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.models import Edition
from delivery.reports.edition_sentences import ARCHIVE_ONLY
from delivery.rules.edition_state import EditionState
from publishing.editions.archive_visibility import archive_sentence
from publishing.editions.audience import REACHED, UNREACHED, edition_audience
from publishing.editions.edition_status import load_status
from publishing.scheduling.local_time import scheduled_for

ACCEPTED = gettext_lazy("The newsletter issue has been accepted - emails will go out shortly.")
TO_NOBODY = gettext_lazy("This issue goes to nobody: there are no confirmed readers yet.")
NONE_LEFT = gettext_lazy(
    "This version goes to nobody: no reader of an earlier version is still confirmed."
)
ALL_REACHED = gettext_lazy(
    "This version goes to nobody: every confirmed reader was already sent an earlier one."
)
NO_TAG_MATCHES = gettext_lazy("This issue goes to nobody: no confirmed reader matches the tags.")
NONE_OF_BOTH = gettext_lazy(
    "This version goes to nobody: no confirmed reader meets both conditions, the tags and the "
    "choice under “Who gets it”."
)
# A message's tags name its issue or test letter, so a repeated post leads to the same page as the
# first post. The tag `until` says when the message is outdated. The part after `until:` has names
# from `EditionProgress.past`, separated by commas.
UNTIL_LEFT, UNTIL_AT_REST, UNTIL_STARTED = "until:left", "until:at_rest", "until:started"
UNTIL_SETTLED, UNTIL_CONFIRMED = "until:settled", "until:confirmed"
UNTIL_RESUMED, UNTIL_OTHERS_SETTLED = "until:resumed", "until:others_settled"


def tag_of(edition: Edition) -> str:
    """Return the tag that links a message to the issue of this edition."""
    return f"issue:{edition.issue_id}"


def tag_of_test(number: int, draft: uuid.UUID | None = None) -> str:
    """Return the tag that links a message to a test letter, and to its draft if given."""
    return f"test:{number}{f' draft:{draft}' if draft else ''}"


def page_of_test(number: int, draft: uuid.UUID | str | None = None) -> str:
    """Return the URL of a test letter's page, which links back to the draft."""
    address = reverse("desk:test_letter", args=[number])
    return f"{address}?draft={draft}" if draft else address


def to_nobody(edition: Edition) -> str:
    """Return the message about an edition whose audience has no readers."""
    by_version = {REACHED.value: NONE_LEFT, UNREACHED.value: ALL_REACHED}.get(edition.goes_to)
    reason = by_version or TO_NOBODY
    if edition.with_tags or edition.without_tags:
        reason = NONE_OF_BOTH if by_version else NO_TAG_MATCHES
    return f"{reason} {archive_sentence(edition.issue.visibility)}"


def in_the_archive(edition: Edition) -> str:
    """Return the message about an edition that is not mailed."""
    sentence = archive_sentence(edition.issue.visibility)
    return " ".join((_("The newsletter issue has been accepted."), str(ARCHIVE_ONLY), sentence))


def there_already(edition: Edition) -> str:
    """Return the message after an author published a version again, unchanged."""
    moment, status = scheduled_for(edition), load_status(edition.pk)
    text = _("Version {version} was already published with this content, to {whom}.")
    if moment:
        text = _(
            "Version {version} was already scheduled with this content for {moment}, to {whom}."
        )
    whom = edition_audience(edition)
    sentences = [text.format(version=edition.version, moment=moment, whom=whom)]
    if status.counts.is_called_back:
        sentences.append(_("It has been called back since then."))
    elif status.state is EditionState.CANCELLED:
        sentences.append(_("It has been cancelled since then."))
    return " ".join([*sentences, _("Nothing was sent now and nothing was changed.")])


_LOOKS = {
    messages.SUCCESS: ("sent", "sent"),
    messages.WARNING: ("attention", "doubt"),
    messages.ERROR: ("attention", "fault"),
}


def notes_of(request: HttpRequest) -> list[dict[str, str]]:
    """Return the messages that this author has not seen yet; each is returned once."""
    return [_shown(message) for message in messages.get_messages(request)]


def _shown(message: Message) -> dict[str, str]:
    tags = dict(tag.partition(":")[::2] for tag in (message.extra_tags or "").split())
    url, link = "", ""
    if "issue" in tags:
        url, link = reverse("desk:progress", args=[tags["issue"]]), "issue"
    elif "test" in tags:
        url, link = page_of_test(int(tags["test"]), tags.get("draft")), "test"
    glyph, tone = _LOOKS.get(message.level, ("done", ""))
    text, until = str(message.message), tags.get("until", "").replace(",", " ")
    return {"glyph": glyph, "tone": tone, "text": text, "url": url, "link": link, "until": until}
