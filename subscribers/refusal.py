"""Why something that was typed or imported cannot be accepted: as data, and as a sentence."""

from collections.abc import Mapping
from dataclasses import dataclass, field

EXPECTED = "a list of readers as text, one in each line, such as: ada@example.org,Ada"
FORMATS = {
    "zip": "an Excel workbook or another packed file (ZIP)",
    "office": "an Excel workbook or another document of old Office",
    "pdf": "a PDF document",
    "empty_zip": "an empty packed file (ZIP)",
    "png": "a picture (PNG)",
    "jpeg": "a picture (JPEG)",
    "gif": "a picture (GIF)",
    "gzip": "a packed file (gzip)",
    "7z": "a packed file (7z)",
    "rar": "a packed file (RAR)",
    "sqlite": "a database (SQLite)",
    "utf_32": "text in UTF-32",
    "rtf": "a document in rich text (RTF)",
    "html": "a web page (HTML)",
    "xml": "an XML document",
    "vcard": "a set of address cards (vCard)",
    "binary": "not text",
}
SENTENCES = {
    # An address (address.py); `detail` is email-validator's own sentence.
    "address_missing": "There is no address.",
    "address_too_long": "The address has {length} characters; at most {longest} are allowed.",
    "address_two_at_signs": "There is more than one @-sign.",
    "address_invalid": "{detail}",
    "address_question_mark": "The mail provider does not accept a question mark before the @-sign.",
    # Another field of a reader (reader_values.py)
    "field_too_long": "The {field} has {length} characters; at most {longest} are allowed.",
    "field_control_characters": "The {field} contains control characters.",
    # A reader whom neither an import nor the API adds
    "reader_unsubscribed": "This reader has left; an import does not bring them back.",
    "reader_bounced": "Mail to this reader bounces.",
    "reader_complained": "This reader called a letter spam.",
    "suppressed_bounce": "The address is suppressed: mail to it bounces.",
    "suppressed_complaint": "The address is suppressed: its owner called a letter spam.",
    "suppressed_unsubscribe": "The address is suppressed: its owner has left.",
    "suppressed_manual": "The address is suppressed: an operator blocked it.",
    "suppressed_blocked": "The address is suppressed: another product blocked it.",
    "erased": "This reader had their record erased; an import does not bring them back.",
    "confirmed_here": "The file says that this reader is gone elsewhere. They confirmed here and "
    "stay.",
    **{
        f"file_{status}": f"The file says “{status}”: the address is suppressed and never mailed."
        for status in ("unsubscribed", "bounced", "complained", "blocked")
    },
    # A row of a file (importing/file_format/)
    "line_too_long": "The line is longer than {longest:,} characters.",
    "line_with_nul": "The line contains a NUL byte, which no text has.",
    "line_undecodable": "The line contains bytes that are no characters in the encoding of the "
    "file.",
    "quote_closed_in_another_row": "A quotation mark is opened here and closed in another row.",
    "quote_not_closed": "A quotation mark is opened here and never closed.",
    "quote_inside_field": "A quotation mark stands inside a field; there it must be doubled.",
    "field_of_row_too_long": "A field is too long.",
    "row_above_header": "The row is above the header.",
    "row_too_long": "The row has {columns} columns instead of {expected}; a {delimiter} inside a "
    "field needs quotation marks around the field.",
    "status_empty": "The status in “{column}” is empty.",
    "status_unknown": "The status “{status}” in “{column}” is not known.",
    "status_unpaid": "“unpaid” in Buttondown: this reader has not paid for a paid newsletter.",
    "status_never_opted_in": "This Mailchimp contact never opted in.",
    "status_text_messages": "This Mailchimp contact agreed to text messages, not to mail.",
    "status_of_renamed_file": "The status of this Mailchimp contact is unknown: its date is "
    "empty, and the file's name does not begin as Mailchimp names it, such as “subscribed_”.",
    "substack_deleted": "Substack deleted this reader's data.",
    # A file as a whole
    "file_empty": f"The file is empty; expected is {EXPECTED}",
    "file_without_addresses": "There is no address in the first lines, which begin with “{shown}”, "
    f"and no header that names a column of addresses; expected is {EXPECTED}",
    **{
        f"file_is_{code}": f"The file is {words}; expected is a list as text: open it in its own "
        "program, save the list as “CSV UTF-8” and import that."
        for code, words in FORMATS.items()
    },
    "file_changed": "The file changed while it was read; import it again.",
    "file_incomplete": "The stored copy of the file is not complete; import it again.",
    "file_not_opened": "{path} cannot be opened: {error}.",
    "file_not_regular": "{path} is not a file; save the list as a file first.",
    "file_too_large": "The file is larger than the {limit_mb} MB that IMPORT_MAX_MB allows; import "
    "it in parts.",
    "import_stuck": "It was begun {times} times without coming further; the log says why.",
    "map_not_readable": "“{option}” maps no column: write {fields} or COLUMN=- to ignore it.",
    "map_twice": "The column “{column}” is mapped twice; map it once.",
    "map_two_addresses": "Two columns are mapped to email; map one.",
    "map_unknown_column": "The file has no column “{column}” to map; its columns are {columns}.",
    "map_unknown_number": "The file has no column “{column}” to map; it has no header: use 1 to "
    "{width}.",
}


@dataclass(frozen=True, slots=True)
class InputRefusal:
    """A code, and the values that its sentence needs (`SENTENCES`)."""

    code: str
    parameters: Mapping[str, str | int] = field(default_factory=dict)


def refuse(code: str, **parameters: str | int) -> InputRefusal:
    """Make a refusal; its parameters are those of the code's sentence."""
    return InputRefusal(code, parameters)


def sentence_of(refusal: InputRefusal) -> str:
    """The sentence for the person who typed or imported it. Unknown codes are shown as they are."""
    # A newer release may have stored a code that this one does not know.
    sentence = SENTENCES.get(refusal.code, f"Refused ({refusal.code}).")
    try:
        return sentence.format_map(refusal.parameters)
    except KeyError:
        return sentence
