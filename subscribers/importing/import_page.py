"""The status of an import for its page and the API: sentence, results and progress."""

from datetime import timedelta

from django.db.models.functions import Now

from delivery.humanise import counted
from delivery.models import WorkerHeartbeat
from subscribers.importing import import_sentences as sentences
from subscribers.importing.file_format.status import Status
from subscribers.models import SubscriberImport
from subscribers.refusal import InputRefusal, sentence_of

State = SubscriberImport.State
WORKER_SILENCE = timedelta(seconds=60)

SYMBOLS: dict[str, tuple[str, str]] = {
    State.FINISHED: ("sent", "sent"),
    State.REFUSED: ("failed", "fault"),
    State.EXPIRED: ("withdrawn", "calm"),
    State.CHECKED: ("waiting", ""),
    State.WAITING: ("waiting", ""),
}
# The codes of refusal.py in short.
SKIPPED_IN_SHORT = {
    "reader_unsubscribed": "had unsubscribed",
    "reader_bounced": "had bounced",
    "reader_complained": "had complained",
    "suppressed_bounce": "bounced",
    "suppressed_complaint": "complained",
    "suppressed_unsubscribe": "left on the provider’s page",
    "suppressed_manual": "blocked by an operator",
    "suppressed_blocked": "blocked by another product",
    "erased": "were erased",
    "confirmed_here": "gone elsewhere but confirmed here, so they stay",
    **{f"file_{status}": f"{status} in the file" for status in Status if status.is_gone},
}


def symbol_of(record: SubscriberImport) -> tuple[str, str]:
    """The glyph and the tone of its state."""
    return SYMBOLS.get(record.state, ("sending", ""))


def count_gone(record: SubscriberImport) -> int:
    """How many rows name a reader who must not be mailed."""
    return sum(record.statuses.get(status, 0) for status in Status if status.is_gone)


def status_sentence(record: SubscriberImport) -> str:
    """The status of an import now."""
    rows, added, rejected = counted(record.rows, "row"), record.added, record.rejected
    match record.state:
        case State.CHECKING:
            return _waiting(record) or f"It is being checked: nothing changes. {rows} so far."
        case State.CHECKED:
            unread = f" and {rejected:,} cannot be read" if rejected else ""
            dry_run = "A dry run: nothing has changed yet."
            return f"{dry_run} Of {rows}, {added:,} would be added{unread}."
        case State.WAITING:
            return _waiting(record) or "It waits for its turn."
        case State.RUNNING:
            return f"It is being imported: {rows} so far, {added:,} of them added."
        case State.FINISHED:
            rejects = f" and {counted(rejected, 'was', 'were')} rejected" if rejected else ""
            return f"Imported. Of {rows}, {counted(added, 'was', 'were')} added{rejects}."
        case State.EXPIRED:
            return (
                f"It was checked and not imported within {_days_kept(record)}, so what was kept of "
                "the file was deleted. Nobody was added. To import it, upload it again."
            )
    already = f" Of its first {rows}, {added:,} had been added." if record.rows else ""
    return f"It was refused. {sentences.refusal_sentence(record)}{already}"


def _waiting(record: SubscriberImport) -> str:
    """The sentence while no worker has begun."""
    if record.owner is not None:
        return ""
    if not WorkerHeartbeat.objects.filter(heard_at__gt=Now() - WORKER_SILENCE).exists():
        how = "An operator starts one: ./homing deliver"
        return f"It waits for a worker, and none is running. {how}"
    return "It waits for a worker, which takes it within seconds."


def result_lines(record: SubscriberImport) -> list[tuple[str, str, str, int, str]]:
    """Name, glyph, tone, count and note of the rows with each result."""
    known = "already on the list; left as they are" if record.known else ""
    again = "the same address again further down the file" if record.duplicates else ""
    rejected = _rejected_note(record) if record.rejected else ""
    return [
        ("added", "sent", "sent", record.added, _added_note(record)),
        ("known", "done", "calm", record.known, known),
        ("duplicates", "waiting", "calm", record.duplicates, again),
        ("skipped", "suppressed", "calm", record.skipped, _skipped_note(record)),
        ("rejected", "failed", "fault", record.rejected, rejected),
    ]


def _added_note(record: SubscriberImport) -> str:
    if not (record.added or record.is_running or record.state == State.CHECKED):
        return ""
    if record.confirmed:
        how = f": {record.statement}" if record.statement else ""
        return sentences.added_sentence(
            record,
            confirmed="as confirmed, because consent was given elsewhere, says "
            f"{sentences.importer_name(record)}{how}",
            none=f"as confirmed, {sentences.NONE_SUBSCRIBED}",
            pending="as pending, asked by mail",
        )
    if record.state == State.CHECKED:
        return "asked by mail or as confirmed: you say so below"
    if record.state == State.CHECKING:
        return ""
    return "as pending; each gets one mail with a button to confirm"


def _skipped_note(record: SubscriberImport) -> str:
    reasons = sorted(record.skipped_because.items(), key=lambda pair: -pair[1])
    if not reasons:
        return ""
    short = (
        f"{count:,} {SKIPPED_IN_SHORT.get(code) or sentence_of(InputRefusal(code))}"
        for code, count in reasons
    )
    return f"{', '.join(short)}; an import cannot bring them back"


def _rejected_note(record: SubscriberImport) -> str:
    below = "" if record.is_running else "see below"
    others = {State.FINISHED.value: "the others went in", State.REFUSED.value: ""}.get(
        record.state, "the others go in regardless"
    )
    return "; ".join(filter(None, (below, others)))


def _days_kept(record: SubscriberImport) -> str:
    if record.checked_at is None or record.finished_at is None:
        return "its time"
    return counted((record.finished_at - record.checked_at).days, "day")
