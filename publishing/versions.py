"""
The versions of an issue: which exists, which is next, whether it corrects, whom it can go to.

A version is a correction only where an earlier one reached someone. Where that one was called back
or cancelled before anybody got it, the next version is all that anybody ever sees.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, QuerySet

from delivery.books import Books
from delivery.models import Batch, Delivery, Edition
from delivery.models.delivery import Outcome
from delivery.queue.books import all_books
from delivery.queue.dropping import dropped_versions
from publishing.dropped_words import since_when
from publishing.scheduling import moment_stored
from publishing.status import BODIES
from publishing.words_for_numbers import counted_copies
from subscribers.audience import confirmed

if TYPE_CHECKING:
    from subscribers.models import Subscriber

EVERYONE, REACHED = Edition.GoesTo.EVERYONE, Edition.GoesTo.REACHED


class VersionRefusedError(Exception):
    """The version is neither there nor the next one, or cannot go to those it is meant for."""


def versions_of(issue: uuid.UUID) -> QuerySet[Edition]:
    """What was published of an issue, the newest first, without the long parts."""
    return (
        Edition.objects.filter(issue_id=issue, kind=Edition.Kind.NEWSLETTER)
        .order_by("-version")
        .defer(*BODIES)
    )


def corrects() -> Exists:
    """Of a query of editions: whether an earlier version of the same issue reached someone."""
    return Exists(
        Batch.objects.filter(
            edition__issue=OuterRef("issue"), edition__version__lt=OuterRef("version"), sent__gt=0
        )
    )


def audience_of(
    issue: uuid.UUID, version: int, goes_to: str
) -> QuerySet[Subscriber, tuple[int, str, str]]:
    """
    Whom a version goes to, as rows of exactly (id, email, name), unevaluated.

    Everyone confirmed now; or of these, whoever was sent an earlier version: a semi-join on the
    ledger, whose key begins with issue and recipient. It costs less than the insertion after it.
    """
    if goes_to == EVERYONE:
        return confirmed()
    return confirmed().filter(
        Exists(
            Delivery.objects.filter(
                issue_id=issue,
                version__lt=version,
                recipient_id=OuterRef("id"),
                outcome=Outcome.SENT,
            )
        )
    )


def why_not(issue: uuid.UUID | None, version: int | None, goes_to: str) -> str:
    """
    Why this version cannot be published, in one sentence; empty if it is there or is the next.

    Without an issue it is the first version of a new one.
    """
    if issue is None:
        if version in (None, 1) and goes_to == EVERYONE:
            return ""
        return "A new issue begins with version 1, to everyone; name the issue of any other."
    # The newest is read before the one that is asked for. So one that is published in between is
    # found to be there, and is not refused for being no longer the next.
    newest = versions_of(issue).first()
    if newest is None:
        if Edition.objects.filter(issue_id=issue).exists():
            return f"Issue {issue} is confirmation mail, which nobody publishes."
        return f"There is no issue {issue}."
    if version is not None and versions_of(issue).filter(version=version).exists():
        return ""
    if version != newest.version + 1:
        return (
            f"{'No version is named' if version is None else f'There is no version {version}'}"
            f" of “{newest.title}”: {_there_is(newest.version)}, "
            f"so the next is version {newest.version + 1}."
        )
    if newest.control == Edition.Control.SCHEDULED:
        moment = moment_stored(newest)
        return (
            f"Version {newest.version} of “{newest.title}” waits for its time, "
            f"{moment.words if moment else 'later'}; call it back before you publish another."
        )
    if goes_to == REACHED and not reached_someone(issue):
        return (
            f"No copy of “{newest.title}” went out yet, so nobody was sent an earlier version; "
            "publish it to everyone."
        )
    return why_not_reached(issue, version) if goes_to == REACHED else ""


def why_not_reached(issue: uuid.UUID, version: int) -> str:
    """
    Why it is not known who was sent a version before this one; empty if it is known.

    In a transaction it stays so until that ends. To write to some of them and leave out the others
    in silence is what nobody wants of a correction.
    """
    dropped = dropped_versions(issue, version)
    if not dropped:
        return ""
    number, at = dropped[0]
    return (
        f"Who was sent version {number} is not kept any more: its copies were dropped on "
        f"{since_when(at)}. Publish it to everyone."
    )


def reached_someone(issue: uuid.UUID) -> bool:
    """Whether any version there is reached anybody; then the next one corrects."""
    return Batch.objects.filter(edition__issue=issue, sent__gt=0).exists()


def still_going(issue: uuid.UUID, version: int, goes_to: str) -> list[str]:
    """
    A sentence for each earlier version that is not over, and what that means for this one.

    Publishing while one is still being sent is allowed: whoever notices a wrong date wants the
    right one out, not another lock. It is said, so that nobody is surprised.
    """
    return [
        sentence
        for books in _books_before(issue, version)
        if books.control not in {"cancelled", "closed"}
        for sentence in _what_is_left(books, goes_to)
    ]


@dataclass(frozen=True, slots=True)
class Place:
    """
    Which version of which issue a form is for, and what its author has to know.

    `published` is that version itself where it is there already. `everyone` and `reached` are
    how many readers each choice goes to now, `went_out` how many copies of earlier versions did.
    `unknown_reached` says why it is not known who was sent an earlier version, where it is not;
    then `reached` says nothing.
    """

    newest: Edition
    version: int
    published: Edition | None
    earlier_versions: int
    went_out: int
    everyone: int
    reached: int
    going: list[str]
    unknown_reached: str

    @property
    def is_correction(self) -> bool:
        """Whether an earlier version reached someone."""
        return self.went_out > 0


def place_of(issue: uuid.UUID, version: int | None = None) -> Place | None:
    """The place of a version, the next one unless named; None where there is no such issue."""
    newest = versions_of(issue).first()
    if newest is None:
        return None
    version = newest.version + 1 if version is None else version
    before = _books_before(issue, version)
    went_out = sum(books.sent for books in before)
    unknown_reached = why_not_reached(issue, version)
    return Place(
        newest=newest,
        version=version,
        published=versions_of(issue).filter(version=version).select_related("author").first(),
        earlier_versions=len(before),
        went_out=went_out,
        everyone=confirmed().count(),
        reached=0
        if unknown_reached or not went_out
        else audience_of(issue, version, REACHED).count(),
        going=still_going(issue, version, EVERYONE),
        unknown_reached=unknown_reached,
    )


def _books_before(issue: uuid.UUID, version: int) -> list[Books]:
    earlier = versions_of(issue).filter(version__lt=version)
    return all_books(among=list(earlier.values_list("pk", flat=True)))


def _what_is_left(books: Books, goes_to: str) -> list[str]:
    sentences = []
    if books.waiting:
        one = books.waiting == 1
        then = "and then this one" if goes_to == EVERYONE else "and are not sent this one"
        if one:
            then = then.replace("are", "is")
        sentences.append(
            f"Version {books.version} is still being sent: "
            f"{counted_copies(books.waiting)} {'waits' if one else 'wait'}. "
            f"{'Its reader gets' if one else 'Their readers get'} version {books.version} {then}; "
            f"cancel version {books.version} if nobody else should get it."
        )
    if books.unknown:
        one = books.unknown == 1
        then = (
            f"{'its reader' if one else 'their readers'} may have got it"
            if goes_to == EVERYONE
            else f"{'its reader is' if one else 'their readers are'} not sent this one"
        )
        sentences.append(
            f"{counted_copies(books.unknown)} of version {books.version} "
            f"{'is' if one else 'are'} in doubt: {then}."
        )
    return sentences


def _there_is(newest: int) -> str:
    return "version 1 is there" if newest == 1 else f"versions 1 to {newest} are there"
