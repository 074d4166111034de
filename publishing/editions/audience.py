"""Select the audience of an edition, and describe it in words.

An audience is everyone, nobody, the readers who were sent an earlier version, or the readers who
were not sent one. Tags can limit the audience further.
"""

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Lower
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.interface import batch_size, enqueue
from delivery.models import Delivery, Edition, Evidence
from delivery.models.delivery import Outcome
from delivery.reports.edition_sentences import audience_words
from subscribers.confirmed_readers import confirmed
from subscribers.fields.find_tags import UnknownTagError, read_tag_ids
from subscribers.models import Subscriber, Tag
from subscribers.reader_totals import counts_by_state

EVERYONE, REACHED = Edition.GoesTo.EVERYONE, Edition.GoesTo.REACHED
UNREACHED, NOBODY = Edition.GoesTo.UNREACHED, Edition.GoesTo.NOBODY
TAG_FIELDS = ("with_tags", "without_tags")
DELETED_TAG = gettext_lazy("A tag of the audience was deleted. Choose the tags again.")


@dataclass(frozen=True, slots=True)
class TagChoice:
    """The tags that limit an audience: pairs of id and name."""

    with_tags: tuple[tuple[int, str], ...] = ()  # each reader has at least one of these tags
    without_tags: tuple[tuple[int, str], ...] = ()  # no reader has any of these tags

    @classmethod
    def of(cls, edition: Edition) -> "TagChoice":
        """Return the tags with which an edition was published."""
        return cls(
            tuple((tag, name) for tag, name in edition.with_tags),
            tuple((tag, name) for tag, name in edition.without_tags),
        )

    def columns(self) -> dict[str, list[list[object]]]:
        """Return the columns of an edition that store this choice."""
        return {
            "with_tags": [[tag, name] for tag, name in self.with_tags],
            "without_tags": [[tag, name] for tag, name in self.without_tags],
        }

    def is_same_as(self, other: "TagChoice") -> bool:
        """Return whether both choices have the same tags, even if a tag was renamed."""
        return (set(self.with_ids), set(self.without_ids)) == (
            set(other.with_ids),
            set(other.without_ids),
        )

    @property
    def has_deleted(self) -> bool:
        """Whether a tag of the choice was deleted; the name of such a tag is empty."""
        return not all(name for _tag, name in (*self.with_tags, *self.without_tags))

    @property
    def with_ids(self) -> list[int]:
        return [tag for tag, _name in self.with_tags]

    @property
    def without_ids(self) -> list[int]:
        return [tag for tag, _name in self.without_tags]


EVERY_READER = TagChoice()


def select_audience(
    issue: uuid.UUID,
    version: int,
    goes_to: str,
    *,
    fields: Sequence[str] = (),
    tags: TagChoice = EVERY_READER,
) -> QuerySet[Subscriber, tuple[Any, ...]]:
    """Return the readers of a version as a lazy query of rows (id, email, *fields).

    If `fields` names an author's own fields, the last column has the values of these fields.
    """
    readers = confirmed(fields, with_tags=tags.with_ids, without_tags=tags.without_ids)
    if goes_to == EVERYONE:
        return readers
    if goes_to == NOBODY:
        return readers.none()
    theirs = {"issue_id": issue, "version__lt": version, "recipient_id": OuterRef("id")}
    deliveries = Delivery.objects.filter(**theirs)
    if goes_to == REACHED:
        return readers.filter(Exists(deliveries.filter(outcome=Outcome.SENT)))
    may_have_left = (
        Q(outcome__in=[Outcome.SENT, Outcome.UNKNOWN])
        | Q(sent_at__isnull=False)
        | Q(provider_message_id__isnull=False)
    )
    return readers.filter(
        ~Exists(deliveries.filter(may_have_left)), ~Exists(Evidence.objects.filter(**theirs))
    )


def enqueue_audience(edition: Edition) -> None:
    """Enqueue the deliveries of an edition that begins now."""
    if edition.goes_to != NOBODY:
        # Count the confirmed readers now, at the edition's start, because `enqueue` takes long.
        edition.confirmed_readers = counts_by_state()[Subscriber.State.CONFIRMED]
        edition.save(update_fields=["confirmed_readers"])
        audience = select_audience(
            edition.issue_id,
            edition.version,
            edition.goes_to,
            fields=edition.merge_fields,
            tags=TagChoice.of(edition),
        )
        enqueue(edition, audience, batch_size=batch_size())


def join_ids(ids: Iterable[int]) -> str:
    """Join ids with commas into one text."""
    return ",".join(map(str, ids))


def read_ids(text: str) -> tuple[int, ...]:
    """Return the sorted ids from a text such as “3,7”."""
    return tuple(sorted(read_tag_ids(text.split(","))))


def tags_by_name() -> list[Tag]:
    """Return all tags in the order of their names."""
    return list(Tag.objects.order_by(Lower("name")))


def choice_of(with_tags: Collection[int], without_tags: Collection[int]) -> TagChoice:
    """Return the choice of these tags with their names; deleted tags have no name."""
    ids = {*with_tags, *without_tags}
    names = dict(Tag.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}
    return TagChoice(
        *(tuple((tag, names.get(tag, "")) for tag in tags) for tags in (with_tags, without_tags))
    )


def choice_words(goes_to: str, tags: TagChoice, *, is_scheduled: bool = False) -> str:
    """Return words for an audience and its tags, for use within a sentence."""
    names = (
        [name for _tag, name in chosen if name] for chosen in (tags.with_tags, tags.without_tags)
    )
    return audience_words(goes_to, *names, is_scheduled=is_scheduled)


def edition_audience(edition: Edition) -> str:
    """Return words for an edition's audience, for use within a sentence."""
    is_scheduled = edition.control == Edition.Control.SCHEDULED
    return choice_words(edition.goes_to, TagChoice.of(edition), is_scheduled=is_scheduled)


def unknown_tag_sentence(error: UnknownTagError) -> str:
    """Say that there is no tag with this name, and which tag has a similar name."""
    sentence = _("There is no tag “{name}”.").format(name=error.name[:60])
    hint = _("Did you mean “{meant}”?") if error.meant else _("Add it under Settings first.")
    return f"{sentence} {hint.format(meant=error.meant)}"
