"""Make the files of a complete export, and their ZIP file, in constant memory."""

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from io import RawIOBase
from itertools import islice
from typing import IO, Any

from django.contrib.postgres.expressions import ArraySubquery
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import OuterRef
from django.db.models.functions import JSONObject
from django.forms.models import model_to_dict
from django.utils.translation import gettext as _

from delivery.models import Edition, Newsletter
from delivery.reader_fields import own_columns
from publishing.content.edition_content import Content, texts_of
from publishing.editions.edition_status import load_status
from publishing.editions.versions import public_editions
from publishing.images.store_image import BYTES, EXTENSIONS
from publishing.models import Draft, Issue, MovedIssue, Snippet, UploadedImage
from publishing.progress.edition_progress import counts_of
from publishing.progress.outcomes_csv import deliveries_csv
from publishing.progress.reader_outcomes import ALL, DeliveriesDroppedError, every_delivery
from subscribers.consent import consent_log
from subscribers.desk.reader_list import CHUNK, rows_by_id, with_suppressed
from subscribers.desk.readers_csv import suppression_lines, tags_as_json
from subscribers.fields.own_fields import load_own_fields
from subscribers.files.safe_csv import csv_line
from subscribers.importing.file_format.recognise_columns import with_other_meaning
from subscribers.models import (
    ConsentRecord,
    ConsentWording,
    ReaderFieldDefinition,
    Subscriber,
    SubscriberImport,
    Tag,
)
from subscribers.suppression_sentences import code_of

FORMAT = 1
HISTORY = 10  # readers.csv has at most this number of consent records for each reader
# These columns of an edition are exported besides its content.
_FACTS = (
    *("version", "scheduled_for", "audience", "goes_to", "merge_fields", "with_tags"),
    *("without_tags", "archive_url", "control", "confirmed_readers", "without_note"),
)


@dataclass(frozen=True, slots=True)
class ExportFile:
    """One file of the export; `pieces` yields its bytes."""

    path: str
    pieces: Iterable[bytes]


def write_zip(
    output: IO[bytes] | RawIOBase, files: Iterable[ExportFile], on_piece: Callable[[str], None]
) -> None:
    """Write the files into a ZIP. `on_piece` is called with the path after each piece."""
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for file in files:
            # Use ZIP64, because a list of deliveries may exceed 4 GB, and its size is unknown
            # before it is written.
            with archive.open(file.path, "w", force_zip64=True) as entry:
                for piece in file.pieces:
                    entry.write(piece)
                    on_piece(file.path)


def export_files() -> Iterator[ExportFile]:
    """Yield every file, with the lists of readers first and the summary last."""
    counts: dict[str, int] = {}

    def counted(path: str, lines: Iterator[str]) -> ExportFile:
        def pieces() -> Iterator[bytes]:
            counts[path] = -1  # Start at -1, so that the header line is not counted.
            while some := list(islice(lines, CHUNK)):
                counts[path] += len(some)
                yield "".join(some).encode()

        return ExportFile(path, pieces())

    yield ExportFile("README.txt", [_readme().encode()])
    yield counted("readers.csv", _readers())
    yield counted("consent.csv", _consent())
    # Lifted suppressions are in another file, because an import of suppressions.csv suppresses all
    # addresses in it.
    yield counted("suppressions.csv", suppression_lines(lifted=False))
    yield counted("lifted-suppressions.csv", suppression_lines(lifted=True))
    yield counted("imports.csv", _imports())
    yield _json("consent-wordings.json", {w.pk: w.text for w in ConsentWording.objects.all()})
    fields = ReaderFieldDefinition.objects.order_by("position")
    yield _json("fields.json", [model_to_dict(one) for one in fields])
    yield _json("tags.json", [model_to_dict(tag) for tag in Tag.objects.order_by("id")])
    yield _json("snippets.json", [model_to_dict(one) for one in Snippet.objects.order_by("id")])
    yield _json("newsletter.json", model_to_dict(Newsletter.objects.get_current()))
    keys = dict(MovedIssue.objects.values_list("issue_id", "key"))
    for issue in Issue.objects.order_by("created_at", "id").iterator(CHUNK):
        yield from _issue(issue, keys.get(issue.pk), counted)
    for draft in rows_by_id(Draft.objects.filter(edition=None)):
        yield _json(f"drafts/{draft.pk}.json", {**asdict(draft.fields), "saved_at": draft.saved_at})
    for image in UploadedImage.objects.defer(*BYTES).order_by("id"):
        content = UploadedImage.objects.values_list("content", flat=True).filter(pk=image.pk)
        if found := content.first():  # The image may have been deleted as unused in the meantime.
            path = f"pictures/{image.pk}.{EXTENSIONS[image.content_type]}"
            yield ExportFile(path, [bytes(found)])
    yield _json("homing.json", {"format": FORMAT, "rows": counts})


def _readme() -> str:
    return _(
        "This archive has everything that Homing knows about your newsletter: readers with their "
        "tags, fields and states, the history of consent, suppressed addresses, issues with their "
        "letters and copies, drafts, snippets and images.\n\nTimes are in UTC. In CSV files, a "
        "cell that starts like a formula has an apostrophe before it. homing.json is written last "
        "and has the number of rows of each file, so an archive without it is incomplete.\n\n"
        "Another Homing reads this archive on its page “Move from another service”.\n"
    )


def _readers() -> Iterator[str]:
    keys = [field.name for field in load_own_fields()]
    names = dict(Tag.objects.values_list("id", "name"))
    # An import reads the reader's name from the first column that is called “name” or “reader”. So
    # the column “name” must be before the column “reader”.
    first = ("email", "name")
    last = (
        *("tags", "left_topics", "state", "suppressed", "source", "reader", "import", "signed_up"),
        *("confirmed", "unsubscribed", "consent_history"),
    )
    ours = {*first, *last, *with_other_meaning(keys)}
    yield csv_line(*first, *own_columns(keys, ours), *last)
    readers = with_suppressed(Subscriber.objects.annotate(history=_newest_consent()))
    for reader in rows_by_id(readers):
        yield csv_line(
            *(reader.email, reader.name, *(reader.fields.get(key, "") for key in keys)),
            *(tags_as_json(reader.tags, names), tags_as_json(reader.left_topics, names)),
            *(reader.state, code_of(reader.suppressed), reader.source),
            *(reader.pk, reader.subscriber_import_id or "", reader.created_at),
            *(reader.confirmed_at, reader.unsubscribed_at, _note(reader.history)),
        )


def _newest_consent() -> ArraySubquery:
    """Select the newest consent records of a reader, for the reader's row."""
    records = ConsentRecord.objects.filter(subscriber_id=OuterRef("pk")).order_by("-id")
    columns = {name: name for name in ("at", "act", "how", "network", "detail")}
    return ArraySubquery(records.values(record=JSONObject(**columns))[:HISTORY])


def _note(records: Sequence[Mapping[str, str]]) -> str:
    """Write consent records into one line, such as “2026-03-12 confirmed link”."""
    notes = []
    for one in records:
        words = (one["at"][:10], one["act"], one["how"], one["network"])
        detail = consent_log.sentence_of(one["detail"])
        notes.append(" ".join(filter(None, (*words, f"({detail})" if detail else ""))))
    return "; ".join(notes)


def _consent() -> Iterator[str]:
    yield csv_line(
        *("record", "reader", "act", "how", "at", "network", "wording", "import", "request"),
        *("detail", "name", "fields"),
    )
    for record in rows_by_id(ConsentRecord.objects.all()):
        fields = json.dumps(record.fields, ensure_ascii=False) if record.fields else ""
        yield csv_line(
            *(record.pk, record.subscriber_id, record.act, record.how, record.at),
            *(record.network, record.wording_id or "", record.subscriber_import_id or ""),
            *(record.request or "", record.detail, record.name, fields),
        )


def _imports() -> Iterator[str]:
    counts = ("rows", "added", "known", "duplicates", "skipped", "rejected")
    yield csv_line("import", "file", "state", "statement", *counts, "started", "finished")
    for record in rows_by_id(SubscriberImport.objects.all()):
        yield csv_line(
            *(record.pk, record.filename, record.state, record.statement),
            *record.counts.values(),
            *(record.requested_at, record.finished_at),
        )


def _issue(
    issue: Issue, moved_as: str | None, counted: Callable[[str, Iterator[str]], ExportFile]
) -> Iterator[ExportFile]:
    editions = Edition.objects.filter(issue_id=issue.pk, kind=Edition.Kind.NEWSLETTER)
    for number in editions.order_by("version").values_list("pk", flat=True):
        edition = Edition.objects.get(pk=number)
        status = load_status(number)
        texts = texts_of(Content.of_edition(edition))
        folder = f"issues/{issue.slug}/version-{edition.version}"
        yield _json(
            f"{folder}/issue.json",
            {
                "issue": str(issue.pk),
                "slug": issue.slug,
                "unlisted": issue.unlisted,
                "archive": issue.visibility.value,
                "moved_from": issue.moved_from,
                "moved_as": moved_as,
                "public": public_editions().filter(pk=number).exists(),
                "state": status.state.value,
                "counts": counts_of(status.counts),
                **{name: getattr(edition, name) for name in _FACTS},
                **{one.api_name: text for one, text in texts if not one.file},
                "published_at": edition.published_at.isoformat(),  # exact
            },
        )
        for one, text in texts:
            if one.file and text:
                yield ExportFile(f"{folder}/{one.file}", [text.encode()])
        if edition.deliveries_dropped_at is None and edition.audience:
            lines = _deliveries(edition, status.held_until)
            yield counted(f"{folder}/deliveries.csv", lines)


def _deliveries(edition: Edition, held_until: datetime | None) -> Iterator[str]:
    try:
        yield from deliveries_csv(every_delivery(edition.pk, ALL), held_until, edition.merge_fields)
    except DeliveriesDroppedError as error:
        yield csv_line(str(error))


def _json(path: str, value: Any) -> ExportFile:
    def pieces() -> Iterator[bytes]:
        text = json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)
        yield f"{text}\n".encode()

    return ExportFile(path, pieces())
