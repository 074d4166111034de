"""What the page of an import says: its one sentence, its ledger, how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db.models.functions import Now

from delivery.models import Worker
from subscribers.importing.apply import ERASED, STAYS, WHY_SKIPPED
from subscribers.importing.consent_statement import importer_of
from subscribers.importing.file_format.status import Status
from subscribers.importing.report import ADDED_PENDING, Progress, statuses_in_words
from subscribers.importing.report_text import NONE_SUBSCRIBED
from subscribers.models import Subscriber, SubscriberImport, Suppression

State = SubscriberImport.State
WORKERS_ARE_HEARD_WITHIN = timedelta(seconds=60)
UNDER_WAY = (State.CHECKING, State.WAITING, State.RUNNING)

# In short, for the ledger. What is said of a single row is longer, and is what stands on record.
SKIPPED_IN_SHORT = {
    WHY_SKIPPED[why]: words
    for why, words in {
        Subscriber.State.UNSUBSCRIBED: "had unsubscribed",
        Subscriber.State.BOUNCED: "had bounced",
        Subscriber.State.COMPLAINED: "had complained",
        Suppression.Reason.BOUNCE: "bounced",
        Suppression.Reason.COMPLAINT: "complained",
        Suppression.Reason.UNSUBSCRIBE: "left on the provider’s page",
        Suppression.Reason.MANUAL: "shut out by an operator",
        ERASED: "were erased",
        STAYS: "gone elsewhere but confirmed here, so they stay",
        Status.BLOCKED: "blocked by another product",
        **{f"file: {status}": f"{status} in the file" for status in Status if status.is_gone},
    }.items()
}


@dataclass(frozen=True, slots=True)
class Line:
    """One result in the ledger: how many rows, and what that means."""

    name: str
    glyph: str
    tone: str
    count: int
    note: str


@dataclass(frozen=True, slots=True)
class Standing:
    """
    The state of an import, for its page and for the script that updates it.

    `gone` counts the rows whose reader must not be mailed. Of the readers who are added `pending`
    stay pending also if their consent is stated; `ready` do not.
    """

    glyph: str
    tone: str
    sentence: str
    in_short: str
    is_under_way: bool
    percent: int
    lines: list[Line]
    rows: int
    statuses: str
    gone: int
    ready: int
    pending: int

    def as_json(self) -> Mapping[str, object]:
        """What the script writes into the page."""
        return {
            "under_way": self.is_under_way,
            "percent": self.percent,
            "text": {
                "sentence": self.sentence,
                "percent": f"{self.percent} %",
                "rows": f"{self.rows:,}",
                "statuses": self.statuses,
                **{f"count_{line.name}": f"{line.count:,}" for line in self.lines},
                **{f"note_{line.name}": line.note for line in self.lines},
            },
        }


def standing_of(record: SubscriberImport) -> Standing:
    """How an import stands now."""
    is_under_way = record.state in UNDER_WAY
    pending = record.statuses.get(ADDED_PENDING, 0)
    glyph, tone = _looks(record)
    return Standing(
        glyph=glyph,
        tone=tone,
        sentence=_sentence(record),
        in_short=_in_short(record),
        is_under_way=is_under_way,
        percent=Progress(record.rows, record.bytes_read, record.size).percent,
        lines=_ledger(record),
        rows=record.rows,
        statuses=statuses_in_words(record.statuses),
        gone=sum(record.statuses.get(status, 0) for status in Status if status.is_gone),
        ready=record.added - pending,
        pending=pending,
    )


def _looks(record: SubscriberImport) -> tuple[str, str]:
    if record.state == State.FINISHED:
        return "sent", "sent"
    if record.state == State.REFUSED:
        return "failed", "fault"
    if record.state == State.EXPIRED:
        return "withdrawn", "calm"
    return ("waiting", "") if record.state in (State.CHECKED, State.WAITING) else ("sending", "")


def _sentence(record: SubscriberImport) -> str:
    rows, added, rejected = _rows(record.rows), record.added, record.rejected
    unread = f" and {rejected:,} cannot be read" if rejected else ""
    rejects = f" and {rejected:,} {_were(rejected)} rejected" if rejected else ""
    match record.state:
        case State.CHECKING:
            waits = _waits(record)
            return waits or f"It is being checked: nothing changes. {rows} so far."
        case State.CHECKED:
            return (
                f"A dry run: nothing has changed yet. Of {rows}, {added:,} would be added{unread}."
            )
        case State.WAITING:
            return _waits(record) or "It waits for its turn."
        case State.RUNNING:
            return f"It is being imported: {rows} so far, {added:,} of them added."
        case State.FINISHED:
            return f"Imported. Of {rows}, {added:,} {_were(added)} added{rejects}."
        case State.EXPIRED:
            return (
                f"It was checked and not imported within {_days_it_waited(record)}, so what was "
                "kept of the file was deleted. Nobody was added. To import it, upload it again."
            )
    already = f" Of its first {rows}, {added:,} had been added." if record.rows else ""
    return f"It was refused. {record.refusal}{already}"


def _in_short(record: SubscriberImport) -> str:
    """Beside its name in the history of imports."""
    rows, rejected = (
        _rows(record.rows),
        f", {record.rejected:,} rejected" if record.rejected else "",
    )
    match record.state:
        case State.CHECKING | State.WAITING if not record.rows:
            return "not begun yet"
        case State.CHECKING:
            return f"{rows} so far"
        case State.CHECKED:
            return f"{record.added:,} of {rows} would be added{rejected}"
        case State.WAITING | State.RUNNING:
            return f"{record.added:,} of {rows} added so far{rejected}"
        case State.FINISHED:
            return f"{record.added:,} of {rows} added{rejected}"
        case State.REFUSED:
            return record.refusal
    return _sentence(record)


def _waits(record: SubscriberImport) -> str:
    """What to say while nobody has begun."""
    if record.owner is not None:
        return ""
    if not Worker.objects.filter(heard_at__gt=Now() - WORKERS_ARE_HEARD_WITHIN).exists():
        return (
            "It waits for a worker, and none is running. An operator starts one: ./homing deliver"
        )
    return "It waits for a worker, which takes it within seconds."


def _ledger(record: SubscriberImport) -> list[Line]:
    has_ended = record.state not in (*UNDER_WAY, State.CHECKED)
    by_mail = "as pending; each gets one mail with a button to confirm"
    if record.confirmed:
        how = f": {record.statement}" if record.statement else ""
        by_mail = (
            f"as confirmed, because consent was given elsewhere, says {importer_of(record)}{how}"
        )
        if pending := record.statuses.get(ADDED_PENDING, 0):
            ready = record.added - pending
            because = by_mail if ready else f"as confirmed, {NONE_SUBSCRIBED}"
            by_mail = f"{ready:,} {because}; {pending:,} as pending, asked by mail"
    elif record.state == State.CHECKED:
        by_mail = "asked by mail or as confirmed: you say so below"
    elif record.state == State.CHECKING:
        by_mail = ""
    skipped_because = [
        f"{count:,} {SKIPPED_IN_SHORT.get(reason, reason)}"
        for reason, count in sorted(record.skipped_because.items(), key=lambda pair: -pair[1])
    ]
    skipped = (
        f"{', '.join(skipped_because)}; an import cannot bring them back" if skipped_because else ""
    )
    return [
        Line(
            "added", "sent", "sent", record.added, "" if has_ended and not record.added else by_mail
        ),
        Line(
            "known",
            "done",
            "calm",
            record.known,
            "already on the list; left as they are" if record.known else "",
        ),
        Line(
            "duplicates",
            "waiting",
            "calm",
            record.duplicates,
            "the same address again further down the file" if record.duplicates else "",
        ),
        Line("skipped", "suppressed", "calm", record.skipped, skipped),
        Line(
            "rejected",
            "failed",
            "fault",
            record.rejected,
            _of_the_rejected(record) if record.rejected else "",
        ),
    ]


def _of_the_rejected(record: SubscriberImport) -> str:
    if record.state in UNDER_WAY:
        return "the others go in regardless"
    if record.state == State.CHECKED:
        return "see below; the others go in regardless"
    return "see below; the others went in" if record.state == State.FINISHED else "see below"


def _days_it_waited(record: SubscriberImport) -> str:
    if record.checked_at is None or record.finished_at is None:
        return "its time"
    days = (record.finished_at - record.checked_at).days
    return "1 day" if days == 1 else f"{days:,} days"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
