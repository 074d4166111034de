"""The bodies of requests and responses about readers and imports."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, create_model

from api.schema import LARGEST_NUMBER, RequestBody, ResponseBody
from delivery.reader_fields import READER_FIELDS
from subscribers.models.reader_change import LONGEST_REASON
from subscribers.models.subscriber_import import LONGEST_STATEMENT
from subscribers.models.suppression import LONGEST_ADDRESS

State = Literal["pending", "confirmed", "unsubscribed", "bounced", "complained"]
ImportState = Literal[
    "checking",
    "checked",
    "waiting",
    "running",
    "finished",
    "refused",
    "expired",
    "undoing",
    "undone",
]
MOST_TAGS = 100
FIELDS = "The author's own fields, by key."
TAGS = "Names of tags that exist."
ADDRESS = "ada@posthouse.example.org"
WHERE = Field(
    default="",
    max_length=LONGEST_STATEMENT,
    description="Where and how they gave consent. Required with `confirmed`; it is recorded.",
    examples=[""],
)


if TYPE_CHECKING:

    class ReaderFieldsBody(RequestBody): ...

    class ReaderFieldsResponse(ResponseBody): ...
else:
    ReaderFieldsBody = create_model(
        "ReaderFieldsBody",
        __base__=RequestBody,
        **{
            field.name: (str, Field(default="", max_length=field.longest, examples=[field.example]))
            for field in READER_FIELDS
        },
    )
    ReaderFieldsResponse = create_model(
        "ReaderFieldsResponse",
        __base__=ResponseBody,
        **{field.name: (str, Field(examples=[field.example])) for field in READER_FIELDS},
    )


class AddressBody(RequestBody):
    """An address, which is sent in the body because logs contain URLs."""

    address: str = Field(min_length=1, max_length=LONGEST_ADDRESS, examples=[ADDRESS])


class NewReader(ReaderFieldsBody):
    """A reader to add to the list."""

    address: str = Field(min_length=1, max_length=LONGEST_ADDRESS, examples=[ADDRESS])
    confirmed: bool = Field(
        default=False,
        description="Whether you state that they gave their consent elsewhere. Otherwise they get "
        "one confirmation mail, and no letters until they confirm.",
    )
    where: str = WHERE
    fields: dict[str, str] = Field(default={}, examples=[{}], description=FIELDS)
    tags: list[str] = Field(default=[], max_length=MOST_TAGS, examples=[[]], description=TAGS)


class ReaderEdit(RequestBody):
    """Changes of a reader. Values that are left out or null stay as they are."""

    name: str | None = Field(default=None, examples=["Ada Whitlock"])
    fields: dict[str, str] = Field(default={}, examples=[{}], description=FIELDS)
    tags: list[str] | None = Field(default=None, max_length=MOST_TAGS, examples=[[]])


class LiftReason(RequestBody):
    """The reason for lifting a bounce. The reason is recorded."""

    reason: str = Field(
        min_length=1, max_length=LONGEST_REASON, examples=["Their provider refused all our mail."]
    )


class TagChange(RequestBody):
    """Tags to put on readers and to take off."""

    readers: list[Annotated[int, Field(ge=1, le=LARGEST_NUMBER)]] = Field(
        min_length=1, max_length=1000, examples=[[17, 18]], description="Their numbers."
    )
    add: list[str] = Field(default=[], max_length=MOST_TAGS, examples=[[]], description=TAGS)
    remove: list[str] = Field(default=[], max_length=MOST_TAGS, examples=[[]], description=TAGS)


class TagsChanged(ResponseBody):
    """The result of a change of tags."""

    changed: int = Field(examples=[2], description="The number of readers whose tags changed.")


class Reader(ReaderFieldsResponse):
    """A reader on the list."""

    reader: int = Field(examples=[17], description="Their number.")
    address: str = Field(examples=[ADDRESS])
    fields: dict[str, str] = Field(examples=[{}], description="Own fields that have a value.")
    tags: list[str] = Field(examples=[[]])
    state: State
    suppressed: str = Field(
        examples=[""],
        description="Why the address is not mailed: `bounce`, `complaint`, `unsubscribe`, "
        "`manual_at_provider`, `blocked`, or `imported_` and a reason; empty if it is mailed.",
    )
    since: datetime = Field(description="The start of this state.")
    known_since: datetime
    came_by: str = Field(
        examples=["sign-up"], description="sign-up, API, desk, or import and the name of the file."
    )


class ReaderPage(ResponseBody):
    """Readers, newest first."""

    readers: list[Reader]
    next: int | None = Field(description="`before` of the next page; null on the last.")


class ReaderAdded(ResponseBody):
    """The result of adding a reader, in the terms of imports."""

    result: Literal["added", "known", "skipped"]
    reader: int | None = Field(examples=[17], description="Their number, if they are on the list.")
    state: State | None
    reason: str = Field(description="The reason for skipping them; empty if they were not skipped.")


class ReaderMoved(ResponseBody):
    """A reader at a new address. Saved answers must not contain the address."""

    reader: int = Field(examples=[18])


class ReaderActedOn(ResponseBody):
    """The result of an action on a reader."""

    reader: int = Field(examples=[17])
    done: bool = Field(description="False if nothing changed.")
    state: State | None = Field(description="The state now; null after they are erased.")


class UndoCounts(ResponseBody):
    """What an undo did with the added readers.

    When the undo has ended, the sum of these counts is `added`.
    """

    undone: int = Field(examples=[5011], description="Readers who are off the list again.")
    kept_mailed: int = Field(examples=[40])
    kept_opted_in: int = Field(examples=[7], description="Signed up or confirmed themselves.")
    kept_changed: int = Field(examples=[2])
    deleted: int = Field(examples=[0], description="Erased, or never confirmed, before the undo.")


class MadeByImport(ResponseBody):
    """The tags and fields that an import made, by what its undo did with them."""

    deleted: list[str] = Field(examples=[["Fair"]])
    kept: list[str] = Field(examples=[[]], description="Something else uses them.")


class OfferedTag(ResponseBody):
    """A column that can be read as a tag, such as a column of paying readers."""

    map: str = Field(examples=["7=tag:paid"], description="The value of `map` that reads it so.")
    tag: str = Field(examples=["paid"])
    rows: int = Field(examples=[12], description="The rows that would get the tag.")


class Import(ResponseBody):
    """The status of an import, in the terms of `./homing import_subscribers`."""

    id: int = Field(serialization_alias="import", examples=[3])
    state: ImportState
    filename: str = Field(examples=["readers.csv"])
    confirmed: bool
    list_is_confirmed: bool
    rows: int = Field(examples=[5141])
    added: int = Field(
        examples=[5060], description="Added readers; during and after the check, readers to add."
    )
    known: int = Field(examples=[0])
    duplicates: int = Field(examples=[64])
    skipped: int = Field(examples=[0])
    rejected: int = Field(examples=[17])
    skipped_because: dict[str, int] = Field(description="The number of skipped rows by reason.")
    lost_values: int = Field(
        examples=[0], description="Values that cannot be read, in rows that can be imported."
    )
    statuses: dict[str, int] = Field(
        examples=[{"subscribed": 5060}],
        description="The rows of the file by status; `unstated` says nothing about the "
        "subscription.",
    )
    unstated: int = Field(
        examples=[0],
        description="During and after the check: readers to add whom only `list_is_confirmed` "
        "confirms.",
    )
    undo: UndoCounts | None = Field(description="The undo so far; null for others.")
    tags_and_fields: MadeByImport | None = Field(
        description="After an undo that deletes `tags_and_fields`; null for others."
    )
    tags: dict[str, int] = Field(examples=[{}], description="The rows of the file by tag.")
    offered: list[OfferedTag] = Field(
        description="Columns that can be read as a tag, if you upload the file again with `map`."
    )
    posts: int = Field(
        examples=[0],
        description="Posts in the same ZIP file, drafts included. `past-issues/` moves them in.",
    )
    percent: int = Field(ge=0, le=100, description="The part of the file or undo that is done.")
    read_as: str = Field(description="How the file was read. Check this before you import.")
    notes: list[str] = Field(
        description="Columns and values that are not used, with the reason, and what the file does "
        "not say."
    )
    said: str = Field(description="The status in a sentence or two.")


class ImportPage(ResponseBody):
    """Imports, newest first."""

    imports: list[Import]
    next: int | None = Field(description="`before` of the next page; null on the last.")


class ImportReceived(Import):
    """The import of an uploaded file."""

    created: bool = Field(description="False if the same content was uploaded before.")
    more: list[int] = Field(examples=[[]], description="The imports of a ZIP file's other lists.")


class UndoChoice(RequestBody):
    """What an undo does in addition to removing readers."""

    tags_and_fields: bool = Field(
        default=False,
        description="Whether to delete the tags and fields that the import made, if nothing else "
        "uses them.",
    )


class ImportDropped(ResponseBody):
    """A discarded file. No reader was imported from it."""

    id: int = Field(serialization_alias="import", examples=[3])
    dropped: bool


class Decision(RequestBody):
    """The decision to import a checked file."""

    confirmed: bool = Field(
        description="Whether you state that these readers gave their consent elsewhere. Otherwise "
        "each gets a confirmation mail."
    )
    where: str = WHERE
    list_is_confirmed: bool = Field(
        default=False,
        description="With `confirmed`, for files whose status says nothing about the subscription, "
        "such as those of listmonk: whether you state that the exported list held confirmed "
        "subscriptions only. Otherwise these readers get a confirmation mail.",
    )
    tags: list[str] = Field(
        default=[],
        max_length=MOST_TAGS,
        examples=[[]],
        description="Tags for all valid rows, known readers included. Missing tags are added.",
    )
    welcome: bool = Field(
        default=False,
        description="Whether added readers who are confirmed get the welcome letter, if one is on.",
    )
