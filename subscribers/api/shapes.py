"""The bodies of calls about readers and imports, and of their responses."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pydantic import Field, create_model

from api.schema import RequestBody, ResponseBody
from delivery.reader_fields import READER_FIELDS
from subscribers.models.subscriber_import import LONGEST_STATEMENT
from subscribers.models.suppression import LONGEST_ADDRESS

State = Literal["pending", "confirmed", "unsubscribed", "bounced", "complained"]
ImportState = Literal["checking", "checked", "waiting", "running", "finished", "refused", "expired"]
ADDRESS = "ada@posthouse.example.org"
WHERE = Field(
    default="",
    max_length=LONGEST_STATEMENT,
    description="Where and how they gave it; needed with `confirmed`, and put on record.",
    examples=[""],
)


if TYPE_CHECKING:

    class ReaderFieldsBody(RequestBody):
        """The reader's fields as they are posted."""

    class ReaderFieldsResponse(ResponseBody):
        """The reader's fields in a response."""
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


class ReaderLookup(RequestBody):
    """Whom to look up. In the body, because URLs are written into logs."""

    address: str = Field(min_length=1, max_length=LONGEST_ADDRESS, examples=[ADDRESS])


class NewReader(ReaderFieldsBody):
    """A reader to be added to the list."""

    address: str = Field(min_length=1, max_length=LONGEST_ADDRESS, examples=[ADDRESS])
    confirmed: bool = Field(
        default=False,
        description="Whether you state that they gave their consent elsewhere. Otherwise they get "
        "one mail that asks them, and no letter before they have pressed its button.",
    )
    where: str = WHERE


class Reader(ReaderFieldsResponse):
    """A reader on the list."""

    reader: int = Field(examples=[17], description="Their number.")
    address: str = Field(examples=[ADDRESS])
    state: State
    since: datetime = Field(description="Since when they have been in this state.")
    known_since: datetime
    came_by: str = Field(
        examples=["sign-up"], description="sign-up, API, or import and the name of the file."
    )


class ReaderPage(ResponseBody):
    """Readers, the newest first."""

    readers: list[Reader]
    next: int | None = Field(description="`before` of the next page; null on the last.")


class ReaderAdded(ResponseBody):
    """What became of a reader who was to be added, in the words of imports."""

    result: Literal["added", "known", "skipped"]
    reader: int | None = Field(examples=[17], description="Their number, where one is held.")
    state: State | None
    reason: str = Field(description="Why they were skipped; empty if they were not.")


class ReaderActedOn(ResponseBody):
    """What was done about a reader."""

    reader: int = Field(examples=[17])
    done: bool = Field(description="False where it was so already.")
    state: State | None = Field(description="As it is now; null once they are erased.")


class Import(ResponseBody):
    """The status of an import, in the words of `./homing import_subscribers`."""

    id: int = Field(serialization_alias="import", examples=[3])
    state: ImportState
    filename: str = Field(examples=["readers.csv"])
    confirmed: bool
    rows: int = Field(examples=[5141])
    added: int = Field(examples=[5060], description="Or to be added, while it is only checked.")
    known: int = Field(examples=[0])
    duplicates: int = Field(examples=[64])
    skipped: int = Field(examples=[0])
    rejected: int = Field(examples=[17])
    skipped_because: dict[str, int] = Field(description="How many for which reason.")
    percent: int = Field(ge=0, le=100, description="How much of the file was read.")
    read_as: str = Field(description="How the file was understood: look before you import.")
    said: str = Field(description="The status in one sentence.")


class ImportPage(ResponseBody):
    """Imports, the newest first."""

    imports: list[Import]
    next: int | None = Field(description="`before` of the next page; null on the last.")


class ImportReceived(Import):
    """The import that the content of a file leads to."""

    created: bool = Field(description="False where the same content had been uploaded before.")


class ImportDropped(ResponseBody):
    """A file that was deleted. Nobody was imported from it."""

    id: int = Field(serialization_alias="import", examples=[3])
    dropped: bool


class Decision(RequestBody):
    """Have what was checked imported."""

    confirmed: bool = Field(
        description="Whether you state that these people gave their consent elsewhere. Otherwise "
        "each of them is asked by mail."
    )
    where: str = WHERE
