"""Find an issue's versions: which exist, which is next, and which are refused."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When
from django.db.models.functions import Coalesce, Now
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from delivery.humanise import counted, digits
from delivery.interface import load_unreconciled_versions
from delivery.models import Batch, Edition
from delivery.reports.load_edition_counts import load_all_counts
from delivery.retention.drop_deliveries import load_dropped_versions
from delivery.rules.edition_counts import EditionCounts
from publishing.editions.audience import (
    EVERY_READER,
    EVERYONE,
    NOBODY,
    REACHED,
    UNREACHED,
    TagChoice,
    choice_words,
    select_audience,
)
from publishing.editions.edition_status import LARGE_COLUMNS, since_when
from publishing.scheduling.local_time import scheduled_for
from subscribers.confirmed_readers import confirmed

# Larger audiences are not counted: counting them takes too long for a page that many authors watch.
MOST_COUNTED = 100_000


class VersionRefusedError(Exception):
    """The version does not exist and is not the next, or its audience is invalid."""


def versions_of(issue: uuid.UUID) -> QuerySet[Edition]:
    """Return the editions of an issue, newest first, without the large columns."""
    editions = Edition.objects.filter(issue_id=issue, kind=Edition.Kind.NEWSLETTER)
    return editions.order_by("-version").defer(*LARGE_COLUMNS)


def started_editions() -> QuerySet[Edition]:
    """Return the newsletter editions that started, also older versions of an issue.

    Editions that were cancelled before the first copy was sent are left out.
    """
    reached = Batch.objects.filter(edition=OuterRef("pk"), sent__gt=0)
    return Edition.objects.filter(
        ~Q(control=Edition.Control.CANCELLED) | Exists(reached),
        ~Q(control=Edition.Control.SCHEDULED),
        kind=Edition.Kind.NEWSLETTER,
    )


def public_editions() -> QuerySet[Edition]:
    """Return the public editions: editions that started and are no longer held."""
    return started_editions().filter(held_until__lte=Now())


def mailed_editions() -> QuerySet[Edition]:
    """Return the started editions that go to readers and not only to the archive."""
    return started_editions().exclude(goes_to=Edition.GoesTo.NOBODY)


def mailed_issues() -> QuerySet[Any]:
    """Return the first mailed version of each issue, newest first.

    In each row, `confirmed_then` is the number of confirmed readers when the issue was sent.
    Readers who did not get the issue count too. The value is None if the number was not recorded.
    """
    mailed = mailed_editions()
    earlier = mailed.filter(issue=OuterRef("issue"), version__lt=OuterRef("version"))
    # Editions of earlier releases have no `confirmed_readers`. If an edition of an earlier release
    # went to everyone, use the size of its audience.
    is_everyone = Q(goes_to=Edition.GoesTo.EVERYONE, with_tags=[], without_tags=[])
    counted = Coalesce(F("confirmed_readers"), Case(When(is_everyone, then=F("audience"))))
    return (
        mailed.filter(~Exists(earlier))
        .annotate(confirmed_then=counted)
        .order_by("-published_at", "-pk")
    )


def is_correction() -> Exists:
    """Return the condition that an earlier version of the issue reached someone."""
    return Exists(
        Batch.objects.filter(
            edition__issue=OuterRef("issue"), edition__version__lt=OuterRef("version"), sent__gt=0
        )
    )


def default_goes_to(issue: uuid.UUID | None) -> str:
    """Return the default audience of the next version, or of a new issue."""
    newest = versions_of(issue).select_related("issue").first() if issue else None
    if newest is not None and newest.issue.moved_from and newest.goes_to == NOBODY:
        # An issue that was moved in was never mailed from here, so by default its correction is not
        # mailed.
        return NOBODY.value
    if newest is None or newest.control != Edition.Control.CANCELLED:
        return EVERYONE.value
    (counts,) = load_all_counts([newest.pk])
    return EVERYONE.value if counts.is_called_back else UNREACHED.value


def version_refusal(issue: uuid.UUID | None, version: int | None, goes_to: str | None) -> str:
    """Return why this version must not be published; empty if it may be published.

    The next version and each existing version may be published. If the version already exists,
    nothing is sent again.
    """
    goes_to = goes_to or default_goes_to(issue)
    if issue is None:
        if version in (None, 1) and goes_to in (EVERYONE, NOBODY):
            return ""
        return _(
            "A new issue starts with version 1 and goes to everyone or to nobody. For any other "
            "version, name its issue."
        )
    # Read the newest version first, and the named version afterwards. In the other order, the
    # named version would be refused if it was published between the two queries.
    newest = versions_of(issue).first()
    if newest is None:
        if Edition.objects.filter(issue_id=issue).exists():
            return _("Issue {issue} is transactional mail. It cannot be published.").format(
                issue=issue
            )
        return _("There is no issue {issue}.").format(issue=issue)
    if version is not None and versions_of(issue).filter(version=version).exists():
        return ""
    if version != newest.version + 1:
        if version is None:
            text = _("Name the version of “{title}”. The next one is version {next}.")
        else:
            text = _(
                "Version {version} of “{title}” does not exist and is not the next one. The next "
                "one is version {next}."
            )
        return text.format(version=version, title=newest.title, next=newest.version + 1)
    if newest.control == Edition.Control.SCHEDULED:
        return _(
            "Version {version} of “{title}” is scheduled for {time}. Call it back before you "
            "publish another."
        ).format(version=newest.version, title=newest.title, time=scheduled_for(newest))
    if goes_to not in (REACHED, UNREACHED):
        return ""
    refusal = reached_refusal(issue, version)
    if refusal:
        return refusal
    has_reached = Batch.objects.filter(edition__issue=issue, sent__gt=0).exists()
    if goes_to == REACHED and not has_reached:
        return _(
            "No copy of “{title}” has been sent yet, so no reader has an earlier version. Publish "
            "it to everyone."
        ).format(title=newest.title)
    return unreached_refusal(issue, version) if goes_to == UNREACHED else ""


def tags_of_issue(issue: uuid.UUID) -> TagChoice:
    """Return the tags of the issue's newest version; a correction keeps these tags."""
    newest = versions_of(issue).first()
    return TagChoice.of(newest) if newest else EVERY_READER


def unreached_refusal(issue: uuid.UUID, version: int) -> str:
    """Return why earlier versions may still reach readers; empty if they cannot.

    A database trigger enforces the same rule.
    """
    for counts in _counts_before(issue, version):
        if counts.control in {"cancelled", "closed"} and counts.waiting:
            return counted(
                "{n} copy of version {version} is still being sent. Wait until it is settled, then "
                "publish to those who were not sent an earlier version.",
                "{n} copies of version {version} are still being sent. Wait until they are "
                "settled, then publish to those who were not sent an earlier version.",
                counts.waiting,
                version=counts.version,
            )
        is_over = not (counts.waiting or counts.unknown or counts.missed)
        if counts.control not in {"cancelled", "closed"} and not is_over:
            return _(
                "Copies of version {version} may still be sent. Cancel or close that version "
                "before you publish to those who were not sent an earlier version."
            ).format(version=counts.version)
    return ""


def reached_refusal(issue: uuid.UUID, version: int) -> str:
    """Return why readers of earlier versions are unknown; empty if all are known.

    The result stays valid until the transaction ends.
    """
    unreconciled = load_unreconciled_versions(issue, version)
    if unreconciled:
        return _(
            "Run `./homing reconcile {issue}` first: the database was restored, so the readers of "
            "version {version} are not known."
        ).format(issue=issue, version=unreconciled[0])
    dropped = load_dropped_versions(issue, version)
    if not dropped:
        return ""
    number, at = dropped[0]
    return _(
        "The copies of version {version} were deleted on {date}, so its readers are not known. "
        "Publish to everyone."
    ).format(version=number, date=since_when(at))


def may_send_to_remaining(newest: Edition, counts: EditionCounts) -> bool:
    """Return whether the newest version can be sent to the readers who did not get it.

    The result is True only if the version was cancelled half-way and has no open copies. If the
    draft of the next version has another audience, the result is False. If the result is True, the
    next version goes to the readers who were not sent this version.
    """
    is_halfway = counts.control == "cancelled" and counts.sent > 0 and not counts.waiting
    if not is_halfway or default_goes_to(newest.issue_id) != UNREACHED:
        return False
    draft = newest.issue.drafts.filter(edition=None).order_by("-saved_at", "-pk").first()
    if draft is not None and draft.goes_to != UNREACHED:
        return False
    following = newest.issue_id, newest.version + 1
    return not (reached_refusal(*following) or unreached_refusal(*following))


def count_remaining(newest: Edition) -> int | None:
    """Count the readers who were not sent this version; None for a large audience."""
    if newest.audience > MOST_COUNTED:
        return None
    tags = TagChoice.of(newest)
    return select_audience(newest.issue_id, newest.version + 1, UNREACHED, tags=tags).count()


def overlap_warnings(issue: uuid.UUID, version: int, goes_to: str) -> list[str]:
    """Return warnings about earlier versions that are still being sent."""
    return [
        sentence
        for counts in _counts_before(issue, version)
        if counts.control not in {"cancelled", "closed"}
        for sentence in _what_is_left(counts, goes_to)
    ]


@dataclass(frozen=True, slots=True)
class VersionPlan:
    """The next version of an issue, and how many readers each choice has now."""

    newest: Edition
    version: int
    went_out: int  # copies of earlier versions that were sent
    everyone: int
    reached: int
    unreached: int
    going: list[str]  # warnings about earlier versions that are still being sent
    unknown_reached: str  # why `reached` and `unreached` are 0; empty if both are known

    @property
    def is_correction(self) -> bool:
        """Whether an earlier version reached someone."""
        return self.went_out > 0

    def readers_of(self, goes_to: str) -> int:
        """Return how many readers this choice of audience has now."""
        otherwise = {REACHED.value: self.reached, UNREACHED.value: self.unreached, NOBODY.value: 0}
        return otherwise.get(goes_to, self.everyone)


def plan_version(issue: uuid.UUID, tags: TagChoice = EVERY_READER) -> VersionPlan | None:
    """Return the plan of the issue's next version; None for an unknown issue."""
    newest = versions_of(issue).first()
    if newest is None:
        return None
    version = newest.version + 1
    unknown_reached = reached_refusal(issue, version)

    def count(goes_to: str) -> int:
        if unknown_reached and goes_to != EVERYONE:
            return 0
        return select_audience(issue, version, goes_to, tags=tags).count()

    return VersionPlan(
        newest=newest,
        version=version,
        went_out=sum(counts.sent for counts in _counts_before(issue, version)),
        everyone=count(EVERYONE),
        reached=count(REACHED),
        unreached=count(UNREACHED),
        going=overlap_warnings(issue, version, EVERYONE),
        unknown_reached=unknown_reached,
    )


def readers_now(goes_to: str, tags: TagChoice, plan: VersionPlan | None) -> int:
    """Count an audience's readers now; a `plan` must be made with the same `tags`."""
    if plan is not None:
        return plan.readers_of(goes_to)
    if goes_to == NOBODY:
        return 0
    return confirmed(with_tags=tags.with_ids, without_tags=tags.without_ids).count()


@dataclass(frozen=True, slots=True)
class AudienceChoice:
    """A choice of audience; its label has the number of readers."""

    goes_to: str
    label: str
    hint: str = ""


def audience_choices(
    plan: VersionPlan | None, tags: TagChoice = EVERY_READER
) -> list[AudienceChoice]:
    """Return the audiences that the planned version can have with these tags.

    Without a plan, return the audiences of a new issue.
    """
    everyone = _("Everyone") if tags == EVERY_READER else capfirst(choice_words(EVERYONE, tags))
    if plan is not None:
        everyone = counted(
            "{audience}: {n} confirmed reader",
            "{audience}: {n} confirmed readers",
            plan.everyone,
            audience=everyone,
        )
    to_nobody = AudienceChoice(
        NOBODY,
        _("Nobody: archive only"),
        _("Nothing is mailed. Only the page, the archive and the feed change."),
    )
    # Offer only these two choices if no earlier version can have reached anyone.
    if plan is None or not (plan.is_correction or plan.unreached < plan.everyone):
        return [AudienceChoice(EVERYONE, everyone), to_nobody]
    unknown = plan.unknown_reached
    if unknown:
        reached = _("Only those who were sent an earlier version: not available")
        unreached = _("Only those who were not sent an earlier version: not available")
    else:
        reached = counted(
            "Only those who were sent an earlier version: {n} confirmed reader",
            "Only those who were sent an earlier version: {n} confirmed readers",
            plan.reached,
        )
        unreached = counted(
            "Only those who were not sent an earlier version: {n} confirmed reader",
            "Only those who were not sent an earlier version: {n} confirmed readers",
            plan.unreached,
        )
    later = _("Readers who are sent an earlier version after this moment are not included.")
    hints = (unknown, later if plan.going else "", _("Readers who unsubscribed get nothing."))
    return [
        AudienceChoice(
            EVERYONE, everyone, _("This includes readers who were not sent an earlier version.")
        ),
        AudienceChoice(REACHED, reached, " ".join(filter(None, hints))),
        AudienceChoice(
            UNREACHED,
            unreached,
            unknown or _("Readers whose copy was sent or is unconfirmed get nothing."),
        ),
        to_nobody,
    ]


def _counts_before(issue: uuid.UUID, version: int) -> list[EditionCounts]:
    earlier = versions_of(issue).filter(version__lt=version)
    return load_all_counts(list(earlier.values_list("pk", flat=True)))


def _what_is_left(counts: EditionCounts, goes_to: str) -> list[str]:
    version, goes_to_everyone = counts.version, goes_to == EVERYONE
    sentences = []
    if counts.waiting:
        text = ngettext(
            "Version {version} is not finished: {n} copy is queued or being sent.",
            "Version {version} is not finished: {n} copies are queued or being sent.",
            counts.waiting,
        )
        if goes_to_everyone:
            then = _("These readers get version {version} and then this one.")
        else:
            then = _("These readers get version {version} and not this one.")
        cancel = _("Cancel version {version} if no more readers should get it.")
        sentences.append(
            f"{text} {then} {cancel}".format(n=digits(counts.waiting), version=version)
        )
    if counts.unknown:
        text = ngettext(
            "{n} copy of version {version} is unconfirmed.",
            "{n} copies of version {version} are unconfirmed.",
            counts.unknown,
        )
        if goes_to_everyone:
            then = _("These readers may already have it.")
        else:
            then = _("These readers do not get this one.")
        sentences.append(f"{text} {then}".format(n=digits(counts.unknown), version=version))
    return sentences
