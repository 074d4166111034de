"""The versions of an issue: which exists, which is next, and why one is refused."""

import uuid
from dataclasses import dataclass, replace

from django.db.models import Exists, OuterRef, QuerySet

from delivery.humanise import counted, counted_copies
from delivery.interface import load_unreconciled_versions
from delivery.models import Batch, Edition
from delivery.reports.edition_counts import load_all_counts
from delivery.retention.drop_deliveries import load_dropped_versions
from delivery.rules.edition_counts import EditionCounts
from publishing.editions.audience import EVERYONE, NOBODY, REACHED, UNREACHED, select_audience
from publishing.editions.status import LARGE_COLUMNS, since_when
from publishing.scheduling.local_time import scheduled_time_of
from subscribers.confirmed_readers import confirmed


class VersionRefusedError(Exception):
    """The version is neither there nor the next, or cannot go to those readers."""


def versions_of(issue: uuid.UUID) -> QuerySet[Edition]:
    """Return the editions of an issue, newest first, without the large columns."""
    editions = Edition.objects.filter(issue_id=issue, kind=Edition.Kind.NEWSLETTER)
    return editions.order_by("-version").defer(*LARGE_COLUMNS)


def is_correction() -> Exists:
    """Annotate a query of editions: whether an earlier version of the issue reached someone."""
    return Exists(
        Batch.objects.filter(
            edition__issue=OuterRef("issue"), edition__version__lt=OuterRef("version"), sent__gt=0
        )
    )


def default_goes_to(issue: uuid.UUID | None) -> str:
    """Return to whom the next version of an issue, or a new issue, goes by default."""
    newest = versions_of(issue).first() if issue else None
    if newest is None or newest.control != Edition.Control.CANCELLED:
        return EVERYONE.value
    (counts,) = load_all_counts([newest.pk])
    return EVERYONE.value if counts.is_called_back else UNREACHED.value


def version_refusal(issue: uuid.UUID | None, version: int | None, goes_to: str | None) -> str:
    """Return why this version cannot be published; empty if it exists or is the next."""
    goes_to = goes_to or default_goes_to(issue)
    if issue is None:
        if version in (None, 1) and goes_to in (EVERYONE, NOBODY):
            return ""
        begins = "A new issue begins with version 1, to everyone or to nobody"
        return f"{begins}; name the issue of any other."
    # Read the newest first: a version that is published in between is then found, not refused.
    newest = versions_of(issue).first()
    if newest is None:
        if Edition.objects.filter(issue_id=issue).exists():
            return f"Issue {issue} is confirmation mail, which nobody publishes."
        return f"There is no issue {issue}."
    if version is not None and versions_of(issue).filter(version=version).exists():
        return ""
    if version != newest.version + 1:
        several = f"versions 1 to {newest.version} are there"
        there_is = "version 1 is there" if newest.version == 1 else several
        return (
            f"{'No version is named' if version is None else f'There is no version {version}'}"
            f" of “{newest.title}”: {there_is}, so the next is version {newest.version + 1}."
        )
    if newest.control == Edition.Control.SCHEDULED:
        moment = scheduled_time_of(newest)
        return (
            f"Version {newest.version} of “{newest.title}” waits for its time, "
            f"{moment.words if moment else 'later'}; call it back before you publish another."
        )
    if goes_to not in (REACHED, UNREACHED):
        return ""
    refusal = reached_refusal(issue, version)
    if refusal:
        return refusal
    if goes_to == REACHED and not reached_someone(issue):
        return (
            f"No copy of “{newest.title}” went out yet, so nobody was sent an earlier version; "
            "publish it to everyone."
        )
    return unreached_refusal(issue, version) if goes_to == UNREACHED else ""


def unreached_refusal(issue: uuid.UUID, version: int) -> str:
    """Return why an earlier version may still reach readers. A trigger refuses the same."""
    for counts in _counts_before(issue, version):
        if counts.control in {"cancelled", "closed"} and counts.waiting:
            return (
                f"Wait: version {counts.version} still has {counted_copies(counts.waiting)} being "
                "sent. Once they are settled, publish to those whom it did not reach."
            )
        is_over = not (counts.waiting or counts.unknown or counts.missed)
        if counts.control not in {"cancelled", "closed"} and not is_over:
            return (
                f"Copies of version {counts.version} may still be sent; cancel or close it before "
                "you publish to those whom it did not reach."
            )
    return ""


def reached_refusal(issue: uuid.UUID, version: int) -> str:
    """Return why it is unknown who was sent an earlier version; true until the transaction ends."""
    unreconciled = load_unreconciled_versions(issue, version)
    if unreconciled:
        return (
            f"Run `./homing reconcile {issue}` first: after the restore it is not known who was "
            f"sent version {unreconciled[0]}."
        )
    dropped = load_dropped_versions(issue, version)
    if not dropped:
        return ""
    number, at = dropped[0]
    return (
        f"Who was sent version {number} is not kept any more: its copies were dropped on "
        f"{since_when(at)}. Publish it to everyone."
    )


def reached_someone(issue: uuid.UUID) -> bool:
    """Whether any version reached anybody; then the next is a correction."""
    return Batch.objects.filter(edition__issue=issue, sent__gt=0).exists()


def overlap_warnings(issue: uuid.UUID, version: int, goes_to: str) -> list[str]:
    """Return a sentence for each earlier version that is still being sent."""
    return [
        sentence
        for counts in _counts_before(issue, version)
        if counts.control not in {"cancelled", "closed"}
        for sentence in _what_is_left(counts, goes_to)
    ]


@dataclass(frozen=True, slots=True)
class VersionPlan:
    """The version of an issue that a form is for, and how many readers each choice has now."""

    newest: Edition
    version: int
    published: Edition | None  # this version, if it exists already
    earlier_versions: int
    went_out: int  # copies of earlier versions that were sent
    everyone: int
    reached: int
    unreached: int
    going: list[str]  # warnings about earlier versions that are still being sent
    unknown_reached: str  # why these readers are unknown; `reached` and `unreached` are then 0

    @property
    def is_correction(self) -> bool:
        """Whether an earlier version reached someone."""
        return self.went_out > 0

    @property
    def offers_reached(self) -> bool:
        """Whether an earlier version reached someone, or may have."""
        return self.is_correction or self.unreached < self.everyone

    def readers_of(self, goes_to: str) -> int:
        """How many readers a choice goes to now."""
        otherwise = {REACHED.value: self.reached, UNREACHED.value: self.unreached, NOBODY.value: 0}
        return otherwise.get(goes_to, self.everyone)


def plan_version(issue: uuid.UUID, version: int | None = None) -> VersionPlan | None:
    """Return the plan of a version, the next unless named; None for an unknown issue."""
    newest = versions_of(issue).first()
    if newest is None:
        return None
    version = newest.version + 1 if version is None else version
    before = _counts_before(issue, version)
    went_out = sum(counts.sent for counts in before)
    unknown_reached = reached_refusal(issue, version)
    everyone = confirmed().count()

    def count(goes_to: str) -> int:
        return 0 if unknown_reached else select_audience(issue, version, goes_to).count()

    return VersionPlan(
        newest=newest,
        version=version,
        published=versions_of(issue).filter(version=version).select_related("author").first(),
        earlier_versions=len(before),
        went_out=went_out,
        everyone=everyone,
        reached=count(REACHED),
        unreached=count(UNREACHED),
        going=overlap_warnings(issue, version, EVERYONE),
        unknown_reached=unknown_reached,
    )


@dataclass(frozen=True, slots=True)
class AudienceChoice:
    """One choice of readers, with their number."""

    goes_to: str
    label: str
    hint: str = ""


def audience_choices(plan: VersionPlan | None, everyone: int) -> list[AudienceChoice]:
    """Return to whom this version can go; without a plan, the first version of a new issue."""
    to_everyone = AudienceChoice(EVERYONE, f"Everyone: {counted(everyone, 'confirmed reader')}")
    to_nobody = AudienceChoice(
        NOBODY, "Nobody: archive only", "Nothing is mailed. The page, the archive and RSS change."
    )
    if plan is None or not plan.offers_reached:
        return [to_everyone, to_nobody]
    unknown = plan.unknown_reached
    later = "Readers who are sent an earlier version only from now on are not among them."

    def number(readers: int) -> str:
        return "not available" if unknown else counted(readers, "confirmed reader")

    return [
        replace(to_everyone, hint="Also those who never had an earlier version."),
        AudienceChoice(
            REACHED,
            f"Only those who were sent an earlier version: {number(plan.reached)}",
            f"{unknown} {later if plan.going else ''} Readers who left since get nothing more.",
        ),
        AudienceChoice(
            UNREACHED,
            f"Only those whom no version has reached: {number(plan.unreached)}",
            unknown or "Readers with a copy, or whose copy is in doubt, get nothing more.",
        ),
        to_nobody,
    ]


def _counts_before(issue: uuid.UUID, version: int) -> list[EditionCounts]:
    earlier = versions_of(issue).filter(version__lt=version)
    return load_all_counts(list(earlier.values_list("pk", flat=True)))


def _what_is_left(counts: EditionCounts, goes_to: str) -> list[str]:
    version, everyone = counts.version, goes_to == EVERYONE
    sentences = []
    if counts.waiting:
        one = counts.waiting == 1
        also = f"{'is' if one else 'are'} not sent this one" if not everyone else "then this one"
        sentences.append(
            f"Version {version} is still being sent: {counted_copies(counts.waiting)} "
            f"{'waits' if one else 'wait'}. {'Its reader gets' if one else 'Their readers get'} "
            f"version {version} and {also}; cancel version {version} if nobody else should get it."
        )
    if counts.unknown:
        one = counts.unknown == 1
        reader = "its reader" if one else "their readers"
        verb = "may have got it" if everyone else f"{'is' if one else 'are'} not sent this one"
        sentences.append(
            f"{counted_copies(counts.unknown)} of version {version} "
            f"{'is' if one else 'are'} in doubt: {reader} {verb}."
        )
    return sentences
