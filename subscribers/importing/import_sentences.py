"""Sentences about imports, for the page, the command and the API."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.utils.functional import Promise
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from delivery.humanise import counted, digits, quoted
from delivery.reader_fields import NAME
from subscribers.importing.file_format.read_file import Description
from subscribers.importing.file_format.recognise_columns import EMAIL, SINCE, STATUS
from subscribers.importing.file_format.status_columns import Status
from subscribers.importing.file_format.yes_or_no import TAG, Answer
from subscribers.models import RejectedRow, SubscriberImport
from subscribers.refusal_sentences import COLUMN_NUMBER, InputRefusal, sentence_of

ENCODING_WARNINGS: Mapping[str, Promise] = {
    "windows_1252": gettext_lazy(
        "The file is not UTF-8, so Homing reads it as Windows-1252, which is common in Western "
        "Europe. If a name looks wrong here, save the list as “CSV UTF-8” and import that file."
    ),
    "other_encoding": gettext_lazy(
        "The file is not UTF-8, and some bytes are invalid in Windows-1252. It is probably in "
        "another encoding. Save the list as “CSV UTF-8” and import that file."
    ),
}
HIDDEN: Mapping[str, Promise] = {
    "substack": gettext_lazy("A Substack file leaves out most readers who unsubscribed."),
    "substack_dashboard": gettext_lazy(
        "The file has no column for consent. Import the email list instead."
    ),
    "ghost": gettext_lazy("A Ghost file does not show bounces or complaints."),
    "listmonk": gettext_lazy(
        "listmonk’s file does not say whether a reader confirmed or left a list: “enabled” is "
        "about the reader, not about the subscription."
    ),
    "mailchimp_renamed": gettext_lazy(
        "The name of a Mailchimp file shows the status of its readers, but this file was renamed."
    ),
}
STATUSES: Mapping[Status, Promise] = {
    Status.SUBSCRIBED: gettext_lazy("Subscribed: {n}"),
    Status.UNSTATED: gettext_lazy("Nothing about the subscription: {n}"),
    Status.UNCONFIRMED: gettext_lazy("Not confirmed, added as pending: {n}"),
    Status.UNSUBSCRIBED: gettext_lazy("Unsubscribed, suppressed: {n}"),
    Status.BOUNCED: gettext_lazy("Bounced, suppressed: {n}"),
    Status.COMPLAINED: gettext_lazy("Marked as spam, suppressed: {n}"),
    Status.BLOCKED: gettext_lazy("Not to be mailed, suppressed: {n}"),
}
OTHER_COLUMNS: Mapping[str, Promise] = {
    "tags": gettext_lazy("Tags"),
    "left_topics": gettext_lazy("Topics left by the reader"),
    "since": gettext_lazy("Date of sign-up"),
    "consent": gettext_lazy("Note for the consent record"),
}
# Words for the kinds of answers in a column that says who gets a tag.
ANSWERS: Mapping[Answer, Promise] = {
    Answer.YES: gettext_lazy("yes: {n}"),
    Answer.NO: gettext_lazy("no: {n}"),
    Answer.EMPTY: gettext_lazy("empty: {n}"),
    Answer.DATE: gettext_lazy("a date: {n}"),
    Answer.PAST: gettext_lazy("a date in the past, so no tag: {n}"),
    Answer.TEXT: gettext_lazy("another text, which counts as yes: {n}"),
}
LOST: Mapping[str, Promise] = {
    "narrow": gettext_lazy(
        "Lost dates in {column}: {n}. The spreadsheet replaced them with #, because the column "
        "was too narrow. Widen it and save the file again. {examples}"
    ),
    "ambiguous": gettext_lazy(
        "Lost dates in {column}: {n}. The column does not show whether the day or the month comes "
        "first. {examples}"
    ),
    "out_of_range": gettext_lazy(
        "Lost dates in {column}: {n}. They are before 1990 or in the future. {examples}"
    ),
    "unreadable": gettext_lazy("Lost dates in {column}: {n}. They cannot be read. {examples}"),
    "left": gettext_lazy(
        "Lost dates in {column}: {n}. They cannot be read, but these readers have left. The day of "
        "the import counts instead. {examples}"
    ),
}
_STATED = gettext_lazy(
    "The importer stated that the exported list had confirmed subscriptions only."
)
_UNKNOWN_REJECTS = gettext_lazy(
    "These are rejected rows, but Homing does not know which file they are from. So nobody is read "
    "as subscribed, and new readers are asked to confirm. Import that file first, and leave the "
    "header and the line numbers as they are."
)
MOST_SHOWN = 12  # a list shows this number of tags or columns
_QUOTED = re.compile(r"“(.*)”", re.DOTALL)
_MORE_COLUMNS = re.compile(r"([0-9,]+) more")


def describe_file(record: SubscriberImport) -> dict[str, Any] | None:
    """Describe how the file of an import was read; None if the file was not read."""
    if record.read_as is None:
        return None
    read_as = Description.from_json(record.read_as)
    return {
        "format": format_sentence(read_as),
        "columns": columns_sentence(read_as),
        "unused": unused_sentence(read_as),
        "examples": read_as.examples,
        "posts": posts_sentence(read_as.posts),
        "encoding_warning": str(ENCODING_WARNINGS.get(read_as.encoding_warning, "")),
        "hidden": str(HIDDEN.get(read_as.hidden, "")),
        "stated": str(_STATED) if record.list_is_confirmed else "",
        "notes": [
            *([str(_UNKNOWN_REJECTS)] if (read_as.reading or {}).get("is_guess") else ()),
            *(second_sentence(second, read_as) for second in read_as.seconds),
            *filter(None, [_doubts(read_as)]),
            *map(_lost_sentence, read_as.lost),
        ],
    }


def posts_sentence(posts: int) -> str:
    """Say that the ZIP file of readers also has posts; empty without posts."""
    if not posts:
        return ""
    return counted(
        "The ZIP file also has {n} post, drafts included.",
        "The ZIP file also has {n} posts, drafts included.",
        posts,
    )


def lists_sentence(lists: Sequence[str]) -> str:
    """Say that the ZIP file of past issues also has readers; empty without readers."""
    if not lists:
        return ""
    sentence = _("The ZIP file also has readers: {names}.")
    return sentence.format(names=get_text_list(list(lists), _("and")))


def second_sentence(second: Mapping[str, Any], read_as: Description) -> str:
    """Say that a column is ignored, and which columns are read instead."""
    field = second["field"]
    sentence = (
        _("{column} is ignored: only one column can be the email address, and that is {instead}.")
        if field == EMAIL
        else _(
            "{column} is ignored, because {instead} is read as {field}. To join them, map both to "
            "it."
        )
    )
    labels = {**read_as.field_labels, NAME.name: NAME.label}
    return sentence.format(
        column=_column(second["column"]),
        field=quoted(str(labels.get(field, field))),
        instead=get_text_list(_first_columns(second["instead"]), _("and")),
    )


def _lost_sentence(lost: Mapping[str, Any]) -> str:
    """Say how many values of a column are lost and why, with examples."""
    shown = [
        _("line {line}: {value}").format(line=digits(line), value=quoted(value))
        for line, value in lost["examples"]
    ]
    sentence = str(LOST.get(lost["reason"], LOST["unreadable"]))
    return sentence.format(
        column=_column(lost["column"]) if lost["column"] else _("other columns"),
        n=digits(lost["count"]),
        examples=_("For example: {row}").format(row="; ".join(shown)),
    )


def count_lost(record: SubscriberImport) -> int:
    """Count the values that are lost although their rows are imported."""
    return sum(one["count"] for one in Description.from_json(record.read_as).lost)


def _doubts(read_as: Description) -> str:
    """Warn if a column of statuses is not read; empty if all are read."""
    if not read_as.doubts:
        return ""
    sentence = _(
        "{columns} has statuses that are not read. A reader who is not subscribed there is added "
        "as pending and asked to confirm."
    )
    return sentence.format(columns=", ".join(_first_columns(read_as.doubts)))


def format_sentence(read_as: Description) -> str:
    """Describe the format: “Ghost members: UTF-8, commas, with a header, CRLF”."""
    delimiter = _(read_as.delimiter) if read_as.delimiter else ""
    header = _("with a header") if read_as.has_header else _("without a header")
    parts = (read_as.encoding, delimiter, header, read_as.line_ends)
    words = ", ".join(filter(None, parts))
    return f"{_(read_as.product)}: {words}" if read_as.product else words


def columns_sentence(read_as: Description) -> str:
    """List the columns: ‘Address: “E-Mail”; Name: “Nome”’."""
    used = {use: columns for use, columns in read_as.used_columns.items() if columns}
    address, statuses = used.pop(EMAIL, [""])[0], used.pop(STATUS, ())
    parts = [_("Address: {column}").format(column=_column(address))]
    if NAME.name not in used:
        parts.append(_("Name: none"))
    labels = {**read_as.field_labels, NAME.name: NAME.label, **OTHER_COLUMNS}
    tags = [use for use in used if use.startswith(TAG)]
    for use in tags[:MOST_SHOWN]:
        label = _("Tag “{tag}”").format(tag=use.removeprefix(TAG))
        parts.append(f"{label}: {', '.join(_first_columns(used[use]))}")
    parts += _more(len(tags))
    fields_first = sorted(used, key=lambda use: use in OTHER_COLUMNS)
    for use in (use for use in fields_first if use not in tags):
        # For the date of sign-up, a later column counts only in rows where the earlier columns are
        # empty.
        between = _(", else ") if use == SINCE else ", "
        parts.append(f"{labels.get(use, use)}: {between.join(_first_columns(used[use]))}")
    if statuses:
        columns_of_status = ", ".join(_first_columns(statuses))
        parts.append(_("Status: {columns}").format(columns=columns_of_status))
    return "; ".join(parts)


def unused_sentence(read_as: Description) -> str:
    """List the ignored columns: ‘Ignored: “Ort”’. Empty if all columns are used."""
    if not (unused := [_column(column) for column in read_as.unused_columns]):
        return ""
    return _("Ignored: {columns}").format(columns=get_text_list(unused, _("and")))


def _first_columns(stored: Sequence[str]) -> list[str]:
    """Describe the first columns, and say how many more there are."""
    return [*map(_column, stored[:MOST_SHOWN]), *_more(len(stored))]


def _more(all_of_them: int) -> list[str]:
    """Say how many items a list does not show; empty if the list shows all items."""
    more = all_of_them - MOST_SHOWN
    return [_("{n} more").format(n=digits(more))] if more > 0 else []


def _column(stored: str) -> str:
    """Describe a stored column: its quoted header, its number, or “5 more”."""
    if number := COLUMN_NUMBER.fullmatch(stored):
        return _("column {n}").format(n=number[1])
    if more := _MORE_COLUMNS.fullmatch(stored):
        return _("{n} more").format(n=more[1])
    if header := _QUOTED.fullmatch(stored):
        return quoted(header[1])
    return stored


def statuses_sentence(statuses: Mapping[str, int]) -> str:
    """Count the rows by status; empty if the file has no statuses."""
    return "; ".join(
        str(meaning).format(n=digits(statuses[status]))
        for status, meaning in STATUSES.items()
        if status in statuses
    )


def tags_sentence(counts: Mapping[str, int]) -> str:
    """Count the rows of each tag, the most frequent tag first; empty without tags."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{name} ({digits(count)})" for name, count in ordered[:MOST_SHOWN]]
    return ", ".join([*shown, *_more(len(ordered))])


def answers_sentence(tag: str, counts: Mapping[str, int]) -> str:
    """Say how many rows get a tag, and which kinds of values its column has."""
    number = _with_tag(counts)
    sentence = ngettext(
        "{n} row gets the tag “{tag}” ({kinds}).", "{n} rows get the tag “{tag}” ({kinds}).", number
    )
    return sentence.format(n=digits(number), tag=tag, kinds=_kinds(counts))


def chosen_answers(record: SubscriberImport) -> list[str]:
    """For each column that the author reads as a tag, say how many rows get the tag."""
    used = Description.from_json(record.read_as).used_columns
    chosen = [pair for pair in record.tag_values.items() if f"{TAG}{pair[0]}" in used]
    shown = [answers_sentence(*pair) for pair in chosen[:MOST_SHOWN]]
    return [*shown, *_more(len(chosen))]


def offers(record: SubscriberImport) -> list[str]:
    """Offer to read columns as tags; each offer names the option of the command."""
    sentence = _("{offer} To do so, add {option}")
    offered = tags_offered(record)
    shown = [
        sentence.format(
            offer=offer_sentence(tag, record.tag_values[tag]), option=f"--map {number}=tag:{tag}"
        )
        for number, tag, _rows in offered[:MOST_SHOWN]
    ]
    return [*shown, *_more(len(offered))]


def tags_offered(record: SubscriberImport) -> list[tuple[str, str, int]]:
    """For columns that can be tags, return number, tag and number of tagged rows."""
    return [
        (number, tag, rows)
        for number, tag in Description.from_json(record.read_as).offers.items()
        if (rows := _with_tag(record.tag_values.get(tag, {})))
    ]


def offer_sentence(tag: str, counts: Mapping[str, int]) -> str:
    """Offer to read a column as a tag; empty if no row would get the tag."""
    number = _with_tag(counts)
    sentence = ngettext(
        "Can be the tag “{tag}” for {n} row ({kinds}).",
        "Can be the tag “{tag}” for {n} rows ({kinds}).",
        number,
    )
    words = {"n": digits(number), "tag": tag, "kinds": _kinds(counts)}
    return sentence.format(**words) if number else ""


def _with_tag(counts: Mapping[str, int]) -> int:
    return sum(count for answer, count in counts.items() if Answer(answer).has_tag)


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(
        str(ANSWERS[answer]).format(n=digits(counts[answer]))
        for answer in Answer
        if answer in counts
    )


def known_note(record: SubscriberImport) -> str:
    """Say whether the import changes readers who are already on the list."""
    if record.tags or record.tags_in_file:
        return _("already on the list; they get the tags, nothing else changes")
    return _("already on the list; unchanged")


def reason_sentence(row: RejectedRow) -> str:
    """Explain why a row was rejected or skipped."""
    return sentence_of(InputRefusal(row.reason, row.parameters))


def deleted_rows_sentence(record: SubscriberImport) -> str:
    """Say that the rejected rows were deleted, and what an author can do."""
    days, rejected = settings.DETAILS_KEEP_DAYS, digits(record.rejected)
    sentence = ngettext(
        "Rejected rows are deleted {days} day after the import. There were {rejected}. To correct "
        "them, use the file that you imported.",
        "Rejected rows are deleted {days} days after the import. There were {rejected}. To correct "
        "them, use the file that you imported.",
        days,
    )
    return sentence.format(days=digits(days), rejected=rejected)


def refusal_sentence(record: SubscriberImport) -> str:
    """Explain why an import was refused; empty if it was not refused."""
    if record.error is None:
        return ""
    return sentence_of(InputRefusal(record.error["code"], record.error.get("parameters", {})))


def skipped_sentences(skipped_because: Mapping[str, int]) -> dict[str, int]:
    """Count the skipped rows for each reason, given as a sentence."""
    return {
        sentence_of(InputRefusal(code)): count for code, count in sorted(skipped_because.items())
    }


def consent_detail(record: SubscriberImport) -> str:
    """Return the detail of an import's consent records; empty if readers must confirm."""
    if not record.confirmed:
        return ""
    if not record.statement:
        return _("Consent given elsewhere, stated by {name}.").format(name=importer_name(record))
    return _("Consent given elsewhere, stated by {name}: {statement}").format(
        name=importer_name(record), statement=record.statement
    )


def parts_of_details() -> dict[str, str]:
    """Return the parts of a consent record's detail that depend on the row.

    Two of the parts contain `{date}`.
    """
    return {
        "list_detail": _(
            "The file does not say whether the reader confirmed. The same statement covers it: the "
            "exported list had confirmed subscriptions only"
        ),
        "signed_up": _("Signed up there on {date}, according to the file"),
        "date_lost": _("Signed up there on an unknown date: the file has “{date}”"),
    }


def importer_name(record: SubscriberImport) -> str:
    """Name the user who imported the file."""
    if record.imported_by is None:
        return _("an operator on the command line")
    return record.imported_by.get_full_name() or record.imported_by.get_username()
