"""What an author writes and chooses in an issue (docs/architecture.md)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

# A million characters have at most 4 MB, and providers accept 5 MB for each part.
LONGEST_PART = 1_000_000


class Kind(Enum):
    """How an attribute is written, checked and stored."""

    LINE = auto()  # one line, in which a reader's own fields may be used
    ADDRESS = auto()
    HTML = auto()
    TEXT = auto()
    CHOICE = auto()


@dataclass(frozen=True, slots=True)
class ApiText:
    """An attribute's text, example and, if different, name in the API document."""

    description: str
    example: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueAttribute:
    """One attribute of an issue, with its name in each place.

    The name is empty in a place that does not have the attribute. `name` is the column of a draft.
    `control` is the field of the form, also in the form's script. `content` is the name in the
    content and in the content's hash. `column` is the column of an edition. `option` is the option
    of the command `publish`. `file` is a separate file in an export. `longest` is the largest
    number of characters that can be published. `fix` is the link from a finding to the form. A
    comparison of two drafts shows the attributes that have a `label`. Commands and the API show the
    texts of attributes in English.
    """

    name: str
    kind: Kind
    control: str
    label: StrPromise | str = ""
    content: str = ""
    column: str = ""
    option: str = ""
    old_option: str = ""
    option_help: str = ""
    file: str = ""
    longest: int = 0
    too_long: StrPromise | str = ""
    several_lines: StrPromise | str = ""
    fix: StrPromise | str = ""
    api: ApiText = ApiText("", example="")

    @property
    def api_name(self) -> str:
        """The attribute's name in the API and in an export."""
        return self.api.name or self.content

    @property
    def is_part(self) -> bool:
        """Whether the attribute is a whole part of the mail (HTML or text)."""
        return self.kind in {Kind.HTML, Kind.TEXT}

    @property
    def has_fields(self) -> bool:
        """Whether merge fields can be used in the attribute."""
        return self.kind in {Kind.LINE, Kind.HTML, Kind.TEXT}


TITLE = IssueAttribute(
    name="title",
    kind=Kind.LINE,
    control="title",
    label=_("Title"),
    content="title",
    column="title",
    option="--title",
    option_help="the title, which becomes the subject",
    longest=500,
    too_long=_("The title has {length} characters; the limit is {most}."),
    several_lines=_("The title has more than one line. Write it on one line."),
    fix=_("Fix in the title"),
    api=ApiText(
        "The subject. You can use {{ name }}, {{ email }}.", example="Tide tables for October"
    ),
)
PREVIEW_TEXT = IssueAttribute(
    name="preview_text",
    kind=Kind.LINE,
    control="preheader",
    label=_("Preview text"),
    content="preview_text",
    column="preview_text",
    option="--preview-text",
    old_option="--preheader",
    option_help="the text beside the subject in an inbox (default: the letter's first words)",
    longest=300,
    too_long=_("The preview text has {length} characters; the limit is {most}."),
    several_lines=_("The preview text has more than one line. Write it on one line."),
    fix=_("Write the preview text"),
    api=ApiText(
        "Inboxes show it beside the subject; empty: the letter’s first words.",
        example="High water on the 12th",
        name="preheader",
    ),
)
REPLY_TO = IssueAttribute(
    name="reply_to",
    kind=Kind.ADDRESS,
    control="reply_to",
    label=_("Reply-to address"),
    content="reply_to",
    column="reply_to",
    option="--reply-to",
    option_help="where replies to this issue go (default: the newsletter's reply-to address)",
    longest=254,
    too_long=_("The reply-to address has {length} characters; the limit is {most}."),
    fix=_("Fix the reply-to address"),
    api=ApiText(
        "Where replies to this issue go; empty: the newsletter’s reply-to address.",
        example="editor@posthouse.example.org",
    ),
)
FORMAT = IssueAttribute(name="format", kind=Kind.CHOICE, control="format", label=_("Written in"))
# The letter is Markdown or HTML in a draft, and always HTML in an edition.
LETTER = IssueAttribute(
    name="letter",
    kind=Kind.HTML,
    control="letter",
    label=_("Letter"),
    content="html",
    column="html_content",
    option="--html-file",
    option_help="the HTML, in UTF-8; required without --text-file",
    file="letter.html",
    longest=LONGEST_PART,
    too_long=_("The letter has {length} characters; the limit is {most}."),
    fix=_("Fix in the letter"),
    api=ApiText(
        "The HTML part; a fragment gets the letter’s frame.",
        example="<p>Dear {{ name|reader }}, the tables are here.</p>",
    ),
)
TEXT = IssueAttribute(
    name="text",
    kind=Kind.TEXT,
    control="text_content",
    label=_("Plain text"),
    content="text",
    column="text_content",
    option="--text-file",
    option_help="the plain text, in UTF-8; required without --html-file",
    file="letter.txt",
    longest=LONGEST_PART,
    too_long=_("The plain text has {length} characters; the limit is {most}."),
    fix=_("Fix in the plain text"),
    api=ApiText("The plain text part.", example="Dear {{ name|reader }}, the tables are here."),
)
# In the comparison of two drafts, the row “Goes to” includes the tags.
GOES_TO = IssueAttribute(name="goes_to", kind=Kind.CHOICE, control="goes_to", label=_("Goes to"))
ARCHIVE = IssueAttribute(name="archive", kind=Kind.CHOICE, control="unlisted", label=_("Listing"))
WITHOUT_NOTE = IssueAttribute(name="without_note", kind=Kind.CHOICE, control="without_note")
WITH_TAGS = IssueAttribute(name="with_tags", kind=Kind.CHOICE, control="with_tags")
WITHOUT_TAGS = IssueAttribute(name="without_tags", kind=Kind.CHOICE, control="without_tags")

ISSUE_ATTRIBUTES = (
    *(TITLE, PREVIEW_TEXT, REPLY_TO, FORMAT, LETTER, TEXT),
    *(GOES_TO, ARCHIVE, WITHOUT_NOTE, WITH_TAGS, WITHOUT_TAGS),
)
# The attributes that readers get. These attributes never change in an edition.
CONTENT_ATTRIBUTES = tuple(one for one in ISSUE_ATTRIBUTES if one.content)
