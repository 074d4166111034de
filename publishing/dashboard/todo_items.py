"""What asks for a person, each with its sentence and the one or two ways to settle it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from delivery.models import Alarm
from delivery.monitoring.alarms import UnseenAlarms
from delivery.rules.edition_state import EditionState, awaits_decision
from publishing.actions.action_sentences import button
from publishing.actions.edition_actions import applicable
from publishing.dashboard.sending_now import title_of
from publishing.editions.status import EditionStatus
from publishing.progress.issue_list import HeldBack

# So many of each kind are drawn.
MOST_OF_A_KIND = 5

# What settles an edition, the likeliest first. What cannot be undone is on its own page.
_SETTLE = ("resume", "send-to-missed", "ask-again", "close")
_STANDS = {
    EditionState.PAUSED: ("paused", "doubt", "is paused."),
    EditionState.NEEDS_ATTENTION: ("attention", "fault", "needs attention."),
    EditionState.CANCELLED: ("unknown", "doubt", "was cancelled with copies in doubt."),
}


@dataclass(frozen=True, slots=True)
class Way:
    """A button: its words and where it leads."""

    words: str
    address: str


@dataclass(frozen=True, slots=True)
class Need:
    """
    One note: `name` and `lead` in bold, the name in italics where it is a title; then `text`.

    `alarms` is the last of the alarms that somebody may say they have looked at, of `edition`.
    """

    glyph: str
    tone: str
    lead: str
    text: str
    ways: tuple[Way, ...] = ()
    name: str = ""
    edition: int = 0
    alarms: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """What asks for a person: all of it as a number, and of each kind the first few."""

    count: int = 0
    drawn: tuple[Need, ...] = ()

    @property
    def left_out(self) -> int:
        """How many more there are than are drawn."""
        return self.count - len(self.drawn)

    def __add__(self, other: Asked) -> Asked:
        return Asked(self.count + other.count, (*self.drawn, *other.drawn))


def first_of(needs: Sequence[Need], *, count: int = 0) -> Asked:
    """One kind; `count` where there are more of it than were read."""
    return Asked(max(count, len(needs)), tuple(needs[:MOST_OF_A_KIND]))


def of_editions(statuses: Sequence[EditionStatus], *, may_act: bool) -> list[Need]:
    """Editions that wait for a person."""
    return [_of_edition(one, may_act) for one in statuses if awaits_decision(one.books)]


def _of_edition(status: EditionStatus, may_act: bool) -> Need:
    books = status.books
    glyph, tone, stands = _STANDS[status.state]
    can = {action.name: action for action in applicable(status)}
    settle = next((can[name] for name in _SETTLE if name in can), None)
    ways = [Way("See how it stands", _progress(books.issue, books.version))]
    if settle is not None and may_act:
        ways.insert(
            0,
            Way(
                f"{button(settle.name, status, 0)}…",
                _action(settle.name, books.issue, books.version),
            ),
        )
    reason = status.reason
    return Need(glyph, tone, stands, reason, tuple(ways), name=title_of(status))


def of_mail_on_request(held_back: Sequence[HeldBack], *, may_act: bool) -> list[Need]:
    """Mail that people asked for and do not get."""
    return [
        Need(
            "attention",
            "doubt",
            f"{mail.name} {mail.stands}.",
            mail.reason,
            (
                *(
                    [Way("Resume…", _action("resume", mail.issue, mail.version))]
                    if may_act and mail.is_resumable
                    else []
                ),
                Way("See how it stands", _progress(mail.issue, mail.version)),
            ),
        )
        for mail in held_back
    ]


def of_no_worker(statuses: Sequence[EditionStatus], *, may_operate: bool) -> list[Need]:
    """Nobody is at work, and something waits for somebody."""
    stuck = [
        one
        for one in statuses
        if (one.state in (EditionState.HELD, EditionState.SENDING) or one.books.is_due)
        and not one.books.worker_is_there
    ]
    if not stuck:
        return []
    waits = "One issue waits" if len(stuck) == 1 else f"{len(stuck):,} issues wait"
    how = (
        "Start one with ./homing deliver; nothing is lost meanwhile."
        if may_operate
        else "An operator starts one; nothing is lost meanwhile."
    )
    return [Need("attention", "fault", "No worker is running.", f"{waits} for one. {how}")]


def of_warnings(warnings: Sequence[str]) -> list[Need]:
    """What the workers found wrong when they started."""
    return [
        Need(
            "attention",
            "doubt",
            "The worker that sends found something wrong when it started.",
            f"{warning} An operator does that, and starts the worker anew.",
        )
        for warning in warnings
    ]


def of_alarms(alarms: Sequence[UnseenAlarms], *, may_act: bool) -> list[Need]:
    """Alarms that nobody looked at, those of an edition together; the latest first."""
    needs = []
    for one in alarms:
        more = f" And {one.others:,} more of this issue." if one.others else ""
        needs.append(
            Need(
                "attention",
                "fault",
                f"Alarm: {one.latest.get_kind_display()}.",
                f"{one.latest.sentence}{more}",
                (Way("See them all" if one.others else "See the issue", _progress_of(one.latest)),),
                edition=one.latest.edition_id,
                alarms=one.up_to if may_act else 0,
            )
        )
    return needs


def of_no_name(name: str) -> list[Need]:
    """The newsletter has the name it was installed with; for whoever may change that."""
    return [
        Need(
            "attention",
            "doubt",
            f"The newsletter is still called “{name}”.",
            "That is the name it was installed with. It stands at the head of every mail and page, "
            "also of the mail that asks a new reader to confirm.",
            (Way("Name it in the admin", reverse("admin:delivery_newsletter_change", args=[1])),),
        )
    ]


@dataclass(frozen=True, slots=True)
class Checked:
    """An import that was checked and waits for a decision."""

    pk: int
    filename: str
    sentence: str


def of_imports(checked: Sequence[Checked]) -> list[Need]:
    """Imports that somebody has to decide on."""
    return [
        Need(
            "waiting",
            "",
            "is checked and waits for your decision.",
            one.sentence,
            (Way("Look and decide", reverse("readers:import", args=[one.pk])),),
            name=one.filename,
        )
        for one in checked
    ]


@dataclass(frozen=True, slots=True)
class Unapproved:
    """A draft that nobody has approved as it is."""

    title: str
    saved_by: str
    address: str


def of_drafts(unapproved: Sequence[Unapproved]) -> list[Need]:
    """Drafts that wait for a second person, where publishing takes two."""
    return [
        Need(
            "draft",
            "",
            "is not approved yet.",
            f"Publishing takes two. {one.saved_by} saved it last; somebody else who may publish "
            "approves it as it is.",
            (Way("Look at it", one.address),) if one.address else (),
            name=one.title,
        )
        for one in unapproved
    ]


def _action(name: str, issue: object, version: int) -> str:
    return f"{reverse('desk:action', args=[issue, name])}?version={version}"


def _progress(issue: object, version: int) -> str:
    return f"{reverse('desk:progress', args=[issue])}?version={version}"


def _progress_of(alarm: Alarm) -> str:
    return _progress(alarm.edition.issue_id, alarm.edition.version)
