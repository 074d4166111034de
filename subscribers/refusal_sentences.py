"""Codes and sentences that say why typed or imported data is refused."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from delivery.humanise import digits, quoted
from delivery.reader_fields import READER_FIELDS
from subscribers.typed_refusal_sentences import TYPED

FORMATS: Mapping[str, Promise] = {
    "zip": _("an Excel workbook or a ZIP archive"),
    "office": _("an old Excel workbook or another old Office document"),
    "pdf": _("a PDF document"),
    "empty_zip": _("an empty ZIP archive"),
    "png": _("an image (PNG)"),
    "jpeg": _("an image (JPEG)"),
    "gif": _("an image (GIF)"),
    "gzip": _("a compressed file (gzip)"),
    "7z": _("a compressed file (7z)"),
    "rar": _("a compressed file (RAR)"),
    "sqlite": _("a database (SQLite)"),
    "utf_32": _("text in UTF-32"),
    "rtf": _("a rich text document (RTF)"),
    "html": _("a web page (HTML)"),
    "xml": _("an XML document"),
    "vcard": _("address cards (vCard)"),
    "binary": _("binary data"),
}
# The words for each delimiter, by its code, which an import stores
# (importing/file_format/recognise_columns.py).
DELIMITERS: Mapping[str, Promise] = {
    "comma": _("comma"),
    "semicolon": _("semicolon"),
    "tab": _("tab"),
    "vertical bar": _("vertical bar"),
}
_OTHER_FORMAT = _(
    "Homing cannot read this format: {format}. Open the file in its own program, save the list as "
    "“CSV UTF-8” and import that file."
)
SENTENCES: Mapping[str, Promise | str] = {
    **TYPED,
    # Why authors and the API may not change a reader
    "address_known": _("Another reader has this address."),
    "reader_erased_meanwhile": _("The reader was erased meanwhile. Nothing was changed."),
    "address_unchanged": _("The reader has this address already."),
    "address_of_leaver": _(
        "This reader unsubscribed or marked a letter as spam. Only they can sign up with another "
        "address."
    ),
    "topic_left": _("The reader left the topic “{tag}”. Only they can choose it again."),
    # Why imports, authors and the API refuse to add a reader
    "reader_unsubscribed": _("This reader unsubscribed. Only they can resubscribe."),
    "reader_bounced": _("Mail to this reader bounced."),
    "reader_complained": _("This reader marked a letter as spam."),
    "suppressed_bounce": _("The address is suppressed: mail to it bounced."),
    "suppressed_complaint": _("The address is suppressed: its owner marked a letter as spam."),
    "suppressed_unsubscribe": _("The address is suppressed: its owner unsubscribed."),
    "suppressed_manual": _("The address is suppressed: an author or operator blocked it."),
    "suppressed_by_import": _("The address is suppressed: an earlier import said so."),
    "suppressed_blocked": _("The address is suppressed: another newsletter service blocked it."),
    "erased": _("This reader had their data erased. Only they can sign up again."),
    "confirmed_here": _(
        "The file says that this reader must not be mailed, but they confirmed here. They stay "
        "subscribed."
    ),
    # Each product has its own words for these statuses, so the sentences do not quote a file's
    # words.
    "file_unsubscribed": _(
        "According to the file, this reader unsubscribed. The address is suppressed."
    ),
    "file_bounced": _(
        "According to the file, mail to this reader bounced. The address is suppressed."
    ),
    "file_complained": _(
        "According to the file, this reader marked a letter as spam. The address is suppressed."
    ),
    "file_blocked": _(
        "According to the file, this reader must not be mailed. The address is suppressed."
    ),
    # Why a row of a file is refused (importing/file_format/)
    "line_too_long": _("The line is longer than {longest} characters."),
    "line_with_nul": _("The line contains a zero byte (NUL), which is not text."),
    "line_undecodable": _("Some characters of this line do not fit the encoding of the file."),
    "quote_closed_in_another_row": _(
        "A quotation mark opens in this row and closes in another row."
    ),
    "quote_not_closed": _("A quotation mark opens here and never closes."),
    "quote_inside_field": _("A field contains a quotation mark. Write it twice there."),
    "field_of_row_too_long": _("A field is too long."),
    "row_above_header": _("The row is above the header."),
    "row_too_long": _(
        "The row has {columns} columns instead of {expected}. If a field contains the separator "
        "({delimiter}), put quotation marks around the field."
    ),
    "list_not_open": _(
        "The statement that the list held confirmed subscriptions is only for files whose status "
        "says nothing about the subscription, such as “enabled” of listmonk. This file has no such "
        "row. Leave the statement out."
    ),
    "status_empty": _("The status in “{column}” is empty."),
    "status_unknown": _("The status “{status}” in “{column}” is unknown."),
    "status_unpaid": _("Buttondown says “unpaid”: this reader has not paid for the newsletter."),
    "status_never_opted_in": _("This Mailchimp contact never opted in."),
    "status_text_messages": _("This Mailchimp contact agreed to text messages only, not to email."),
    "status_of_renamed_file": _(
        "The status of this Mailchimp contact is unknown. The row has no date, and the file was "
        "renamed. Mailchimp’s own file name begins with the status, such as “subscribed_”."
    ),
    "tag_too_long": _("A tag has {length} characters. At most {longest} are allowed."),
    "tag_control_characters": _("A tag contains invisible control characters. Remove them."),
    "tags_too_long": _(
        "The cell has too many or too long tags. At most {most} tags of {longest} characters are "
        "allowed."
    ),
    "file_has_too_many_tags": _(
        "The file has more than {most} different tags. If this column has no tags, map it to "
        "something else."
    ),
    "substack_deleted": _("Substack deleted this reader’s data."),
    # Why a whole file is refused
    "file_empty": _(
        "The file is empty. Homing expects one reader per line, such as “ada@example.org,Ada”."
    ),
    "file_without_addresses": _(
        "The first lines contain no address, and no column has a header for email. They begin "
        "with “{shown}”. Homing expects one reader per line, such as “ada@example.org,Ada”."
    ),
    **{f"file_is_{code}": _OTHER_FORMAT for code in FORMATS},
    "zip_with_several_lists": _(
        "The ZIP file has several lists: {names}. Unpack it and import the one with the readers."
    ),
    "zip_of_posts": _(
        "The ZIP file has posts and no list of readers. Move the posts in with “Move in past "
        "issues” or ./homing import_issues."
    ),
    "zip_unusable": "{reason}",
    "file_changed": _("The file changed while Homing read it. Import it again."),
    "file_incomplete": _("The stored copy of the file is incomplete. Import the file again."),
    "file_not_opened": _("Homing cannot open {path}: {error}."),
    "file_not_regular": _("{path} is not a regular file. Save the list as a file first."),
    "file_too_large": _(
        "The file is larger than the limit of {limit_mb} MB. Import it in parts, or ask an "
        "operator to raise IMPORT_MAX_MB."
    ),
    "import_too_costly": _(
        "This file needs too much memory or time. Rows that were imported before stay. Split the "
        "file, or save it as plain CSV, and upload it again."
    ),
    "import_stuck": _(
        "The import made no progress in {times} attempts. Ask an operator: the worker’s log shows "
        "the reason."
    ),
    "map_not_readable": _(
        "“{option}” maps no column. Write {fields}, or COLUMN=- to ignore the column."
    ),
    "map_twice": _("The column “{column}” is mapped twice. Map it once."),
    "map_two_addresses": _("Two columns are mapped to email. Map one."),
    "map_no_address": _("No column is mapped to the email address. Map one."),
    "map_unknown_column": _("The file has no column “{column}”. Its columns are {columns}."),
    "map_unknown_number": _(
        "The file has no header and no column “{column}”. Name a column by a number from 1 to "
        "{width}."
    ),
}
# For a column without a header, an import stores a name such as “column 3”.
COLUMN_NUMBER = re.compile(r"column ([0-9]+)")
# If a parameter is a list, it has names, which are shown in quotation marks.
Parameter = str | int | list[str]
_FIELD_LABELS = {one.name: one.label for one in READER_FIELDS}


@dataclass(frozen=True, slots=True)
class InputRefusal:
    """A code, and the parameters of its sentence (`SENTENCES`)."""

    code: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


def refuse(code: str, **parameters: Parameter) -> InputRefusal:
    """Make a refusal with the parameters of its sentence."""
    return InputRefusal(code, parameters)


def sentence_of(refusal: InputRefusal) -> str:
    """Explain a refusal in a sentence, which contains the code if it is unknown."""
    sentence = SENTENCES.get(refusal.code)
    if sentence is None:  # a newer release stored this code
        return gettext("Refused ({code}).").format(code=refusal.code)
    try:
        return str(sentence).format_map(_shown(refusal))
    except KeyError:
        return str(sentence)


def _shown(refusal: InputRefusal) -> dict[str, Promise | str]:
    """Format the parameters: words for codes, separators in numbers, names quoted."""
    shown: dict[str, Promise | str] = {
        name: _as_text(value) for name, value in refusal.parameters.items()
    }
    for name, words in (("field", _FIELD_LABELS), ("delimiter", DELIMITERS)):
        if name in shown:
            shown[name] = words.get(str(shown[name]), shown[name])
    if number := COLUMN_NUMBER.fullmatch(str(shown.get("column", ""))):
        shown["column"] = gettext("column {n}").format(n=number[1])
    if (code := refusal.code.removeprefix("file_is_")) in FORMATS:
        shown["format"] = FORMATS[code]
    return shown


def _as_text(value: Parameter) -> str:
    if isinstance(value, list):
        return ", ".join(map(quoted, value))
    return digits(value) if isinstance(value, int) else value
