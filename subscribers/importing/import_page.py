"""Words for the page of an import: its status, its results, and its undo."""

from collections.abc import Iterator, Mapping

from django.utils.functional import Promise
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.humanise import counted, digits
from delivery.reports.worker_warnings import waiting_sentence
from subscribers.importing import import_sentences as sentences
from subscribers.models import SubscriberImport
from subscribers.models.subscriber_import import GONE, WITHOUT_CONTENT
from subscribers.refusal_sentences import InputRefusal, sentence_of

State = SubscriberImport.State

STATES: Mapping[str, Promise] = {
    State.CHECKING: gettext_lazy("Being checked"),
    State.CHECKED: gettext_lazy("Checked, not imported"),
    State.WAITING: gettext_lazy("Queued"),
    State.RUNNING: gettext_lazy("Being imported"),
    State.FINISHED: gettext_lazy("Imported"),
    State.REFUSED: gettext_lazy("Refused"),
    State.EXPIRED: gettext_lazy("Never imported, deleted"),
    State.UNDOING: gettext_lazy("Being undone"),
    State.UNDONE: gettext_lazy("Undone"),
}
SYMBOLS: Mapping[str, tuple[str, str]] = {
    State.FINISHED: ("sent", "sent"),
    State.REFUSED: ("failed", "fault"),
    State.EXPIRED: ("withdrawn", "calm"),
    State.UNDONE: ("withdrawn", "calm"),
    State.CHECKED: ("waiting", ""),
    State.WAITING: ("waiting", ""),
}
# A label and a note for each count of `SubscriberImport.undo_counts`.
UNDO_RESULTS: Mapping[str, tuple[Promise, Promise]] = {
    "undone": (gettext_lazy("Removed"), gettext_lazy("no longer on the list")),
    "kept_mailed": (gettext_lazy("Kept: mailed"), gettext_lazy("an email was sent or queued")),
    "kept_opted_in": (
        gettext_lazy("Kept: opted in"),
        gettext_lazy("signed up or confirmed themselves"),
    ),
    "kept_changed": (gettext_lazy("Kept: changed"), gettext_lazy("edited since the import")),
    "deleted": (gettext_lazy("Deleted before"), gettext_lazy("erased, or never confirmed")),
}
# Short forms of the sentences in refusal_sentences.py, by code.
FILE_REASON = "file_"
SKIPPED_IN_SHORT: Mapping[str, Promise] = {
    "reader_unsubscribed": gettext_lazy("unsubscribed: {n}"),
    "reader_bounced": gettext_lazy("bounced: {n}"),
    "reader_complained": gettext_lazy("marked a letter as spam: {n}"),
    "suppressed_bounce": gettext_lazy("suppressed after a bounce: {n}"),
    "suppressed_complaint": gettext_lazy("suppressed after a complaint: {n}"),
    "suppressed_unsubscribe": gettext_lazy("unsubscribed on the mail provider’s page: {n}"),
    "suppressed_manual": gettext_lazy("blocked by an author or operator: {n}"),
    "suppressed_by_import": gettext_lazy("suppressed by an earlier import: {n}"),
    "suppressed_blocked": gettext_lazy("blocked by another newsletter service: {n}"),
    "erased": gettext_lazy("erased: {n}"),
    "confirmed_here": gettext_lazy(
        "must not be mailed according to the file, but confirmed here, so they stay: {n}"
    ),
    "file_unsubscribed": gettext_lazy("unsubscribed in the file: {n}"),
    "file_bounced": gettext_lazy("bounced in the file: {n}"),
    "file_complained": gettext_lazy("marked as spam in the file: {n}"),
    "file_blocked": gettext_lazy("not to be mailed in the file: {n}"),
}


def symbol_of(record: SubscriberImport) -> tuple[str, str]:
    """Return the symbol of an import's state, and the symbol's tone of colour."""
    return SYMBOLS.get(record.state, ("sending", ""))


def count_gone(record: SubscriberImport) -> int:
    """Count the rows whose readers must not be mailed."""
    return sum(record.statuses.get(status, 0) for status in GONE)


def status_sentence(record: SubscriberImport) -> str:
    """Describe the current status of an import."""
    match record.state:
        case State.CHECKING:
            return waiting_sentence(record) or _(
                "The file is being checked. Nothing changes. Rows so far: {n}."
            ).format(n=digits(record.rows))
        case State.CHECKED:
            return " ".join([_("Dry run: no reader has changed yet."), *_checked_rows(record)])
        case State.WAITING:
            return waiting_sentence(record)
        case State.RUNNING:
            return _("The file is being imported. Rows so far: {rows}, added: {added}.").format(
                rows=digits(record.rows), added=digits(record.added)
            )
        case State.FINISHED:
            return " ".join([_("Imported."), *_imported_rows(record)])
        case State.EXPIRED:
            return _expired(record)
        case State.UNDOING:
            return waiting_sentence(record) or undo_sentence(record)
        case State.UNDONE:
            return undo_sentence(record)
    refused = _("The import was refused. {reason}").format(
        reason=sentences.refusal_sentence(record)
    )
    before = _("Rows read before: {rows}. Added: {added}.").format(
        added=digits(record.added), rows=digits(record.rows)
    )
    return f"{refused} {before}" if record.rows else refused


def list_sentence(record: SubscriberImport) -> str:
    """Return the sentence about an import in the list of imports."""
    if record.is_open or record.state in (State.REFUSED, *WITHOUT_CONTENT):
        return status_sentence(record)
    if record.state == State.CHECKED:
        return " ".join(_checked_rows(record))
    return " ".join(_imported_rows(record))


def _checked_rows(record: SubscriberImport) -> list[str]:
    added = _("Rows to add: {added} of {rows}.")
    rejected = counted("{n} row would be rejected.", "{n} rows would be rejected.", record.rejected)
    suppressed = counted(
        "{n} address would be suppressed.", "{n} addresses would be suppressed.", _gone(record)
    )
    return _counts(record, added, suppressed, rejected)


def _imported_rows(record: SubscriberImport) -> list[str]:
    added = _("Rows added: {added} of {rows}.")
    rejected = counted("{n} row was rejected.", "{n} rows were rejected.", record.rejected)
    suppressed = counted(
        "{n} address was suppressed.", "{n} addresses were suppressed.", _gone(record)
    )
    return _counts(record, added, suppressed, rejected)


def _counts(record: SubscriberImport, added: str, suppressed: str, rejected: str) -> list[str]:
    found = [added.format(added=digits(record.added), rows=digits(record.rows))]
    found += [suppressed] if _gone(record) else []
    return [*found, rejected] if record.rejected else found


def _gone(record: SubscriberImport) -> int:
    """Count the rows whose status suppresses the address."""
    because = record.skipped_because.items()
    return sum(count for code, count in because if code.startswith(FILE_REASON))


def _expired(record: SubscriberImport) -> str:
    upload = _("No reader was added. Upload the file again to import it.")
    was, ended = record.checked_at, record.finished_at
    days = (ended - was).days if was and ended else 0
    checked = counted(
        "The file was checked and not imported within {n} day, so it was deleted.",
        "The file was checked and not imported within {n} days, so it was deleted.",
        days,
    )
    return f"{checked} {upload}"


def result_lines(record: SubscriberImport) -> list[tuple[str, str, str, int, str]]:
    """Return each result of an import: its name, symbol, tone, count and note."""
    known = sentences.known_note(record) if record.known else ""
    again = _("addresses repeated within the file") if record.duplicates else ""
    rejected = ""
    if record.rejected and not record.is_open:
        imported = _("see below; the other rows were imported")
        rejected = imported if record.state == State.FINISHED else _("see below")
    return [
        (_("Added"), "sent", "sent", record.added, _added_note(record)),
        (_("Known"), "done", "calm", record.known, known),
        (_("Duplicates"), "waiting", "calm", record.duplicates, again),
        (_("Skipped"), "suppressed", "calm", record.skipped, _skipped_note(record)),
        (_("Rejected"), "failed", "fault", record.rejected, rejected),
    ]


def _added_note(record: SubscriberImport) -> str:
    if not (record.added or record.is_open):
        return ""
    if record.confirmed:
        return _confirmed_note(record)
    if record.state == State.CHECKED and (record.ready or record.unstated):
        return _("as pending or as confirmed; you decide below")
    if record.state == State.CHECKING:
        return ""
    return _("as pending; each gets one confirmation email")


def _confirmed_note(record: SubscriberImport) -> str:
    pending = ""
    if record.pending:
        pending = _("as pending, asked by email: {n}").format(n=digits(record.pending))
    if record.pending and not record.ready:
        none = _("as confirmed: none, because the file marks none of them as subscribed")
        return f"{none}; {pending}"
    ready = _("as confirmed: {n}").format(n=digits(record.ready))
    # The author's statement comes last, because its text may be long.
    return f"{'; '.join(filter(None, (ready, pending)))}. {sentences.consent_detail(record)}"


def _skipped_note(record: SubscriberImport) -> str:
    reasons = sorted(record.skipped_because.items(), key=lambda pair: -pair[1])
    return ", ".join(_in_short(code, count) for code, count in reasons)


def _in_short(code: str, count: int) -> str:
    if (words := SKIPPED_IN_SHORT.get(code)) is not None:
        return str(words).format(n=digits(count))
    # A newer release counted this reason, so this release has no short form for the reason.
    return f"{sentence_of(InputRefusal(code))} {digits(count)}"


def undo_lines(record: SubscriberImport) -> Iterator[tuple[str, int, str]]:
    """Return each result of an undo: its name, count and note."""
    for name, count in record.undo_counts.items():
        label, note = UNDO_RESULTS[name]
        yield str(label), count, str(note) if count else ""


def undo_sentence(record: SubscriberImport) -> str:
    """Describe the progress or the result of an undo."""
    if record.state == State.UNDOING:
        return _("The import is being undone. Readers removed so far: {n}, kept: {kept}.").format(
            n=digits(record.undone), kept=digits(record.kept)
        )
    undone = _("Undone. Added readers removed: {undone} of {added}.").format(
        undone=digits(record.undone), added=digits(record.added)
    )
    kept = counted("{n} stays on the list.", "{n} stay on the list.", record.kept)
    again = _("The same file can be imported again.")
    stays = [kept] if record.kept else []
    return " ".join([undone, *stays, *_made_sentences(record), again])


def _made_sentences(record: SubscriberImport) -> Iterator[str]:
    """Name the tags and fields that an undo deleted, and those that the undo kept."""
    unmade = record.unmade or {}
    for name, sentence in (
        ("deleted", _("Tags and fields that it made were deleted: {names}.")),
        ("kept", _("These are in use and stay: {names}.")),
    ):
        if names := unmade.get(name):
            yield sentence.format(names=get_text_list(names, _("and")))


def why_not_undone(record: SubscriberImport) -> str:
    """Explain why an import cannot be undone now; empty if an undo is possible."""
    if record.can_be_undone:
        return ""
    match record.state:
        case State.UNDOING:
            return _("The import is being undone already.")
        case State.UNDONE:
            return _("The import was undone before.")
        case State.WAITING | State.RUNNING:
            return _("The import has not ended yet. Undo it when it has.")
    return _("The file was not imported, so there is nothing to undo.")
