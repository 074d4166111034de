"""The bodies of requests and responses of the calls about issues."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from api.schema import RequestBody, ResponseBody
from delivery.mail.merge_fields import TITLE_FIELDS_SHOWN
from publishing.content.edition_content import LONGEST_PART, LONGEST_PREHEADER, LONGEST_TITLE
from publishing.editions.edition_name import HIGHEST_VERSION

# Anything longer is a schedule.
LONGEST_HOLD_S = 86_400

Version = Annotated[
    int, Field(ge=1, le=HIGHEST_VERSION, description="The version of the issue.", examples=[2])
]
State = Literal[
    "scheduled", "held", "sending", "paused", "needs_attention", "succeeded", "cancelled", "closed"
]
Outcome = Literal["waiting", "sent", "unknown", "suppressed", "withdrawn", "failed"]
ISSUE = "5b7c0f4e-3b0a-4c39-9d0e-0d1b8c1c7a11"


class Clock(RequestBody):
    """How a local time is read."""

    zone: str | None = Field(
        default=None,
        max_length=64,
        description="The zone of that time; null: the newsletter’s own.",
        examples=[None],
    )
    which: Literal["first", "second"] | None = Field(
        default=None,
        description="Which of two, where the clocks go back and that time comes twice.",
        examples=[None],
    )


class NewTime(Clock):
    """Another time for an issue that is scheduled."""

    at: str = Field(
        max_length=40,
        description="When it goes out, as a local time such as 2026-10-25T07:30.",
        examples=["2026-10-25T07:30"],
    )


class Words(Clock):
    """The words of an issue and when it goes out. Text or HTML is needed, or both."""

    title: str = Field(
        max_length=LONGEST_TITLE,
        description=f"The subject. You can use {TITLE_FIELDS_SHOWN} in it.",
        examples=["Tide tables for October"],
    )
    html: str = Field(
        default="",
        max_length=LONGEST_PART,
        description="The HTML part; a fragment gets the letter’s frame.",
        examples=["<p>Dear {{ name|reader }}, the tables are here.</p>"],
    )
    text: str = Field(
        default="",
        max_length=LONGEST_PART,
        description="The plain text part.",
        examples=["Dear {{ name|reader }}, the tables are here."],
    )
    preheader: str = Field(
        default="",
        max_length=LONGEST_PREHEADER,
        description="What an inbox shows beside the subject; empty: the letter’s first words.",
        examples=["High water on the 12th"],
    )
    unlisted: bool = Field(
        default=False, description="Whether it is kept out of the archive’s lists."
    )
    hold_s: float | None = Field(
        default=None,
        ge=0,
        le=LONGEST_HOLD_S,
        description="Seconds in which it can still be called back; null: PUBLISH_HOLD_S.",
        examples=[30],
    )
    at: str | None = Field(
        default=None,
        max_length=40,
        description="When it goes out, as a local time such as 2026-10-25T07:30; null: now.",
        examples=[None],
    )


class NewIssue(Words):
    """A new issue, to be published as its version 1."""

    goes_to: Literal["everyone", "nobody"] = Field(
        default="everyone",
        description="Everyone confirmed now; or nobody: then it appears in the archive only.",
    )


class NewVersion(Words):
    """The next version of an issue: a correction, if an earlier one reached somebody."""

    version: Version
    goes_to: Literal["everyone", "reached", "unreached", "nobody"] | None = Field(
        default=None,
        description="everyone: all readers confirmed now. reached: those of them who were sent an "
        "earlier version. unreached: those whom no version has reached. nobody: only the archive "
        "changes. Null: everyone, or unreached after a cancelled version.",
        examples=["everyone"],
    )


class Published(ResponseBody):
    """What was published, as `./homing publish` prints it."""

    issue: UUID = Field(examples=[ISSUE])
    version: int = Field(examples=[1])
    audience: int = Field(examples=[5060], description="How many readers; 0 while scheduled.")
    created: bool = Field(
        description="Whether it was made by this call; false where it was there before."
    )


class IssueStatus(ResponseBody):
    """The status of an edition, as `./homing issue_status` prints it. The counts add up."""

    issue: UUID = Field(examples=[ISSUE])
    version: int = Field(examples=[1])
    state: State
    audience: int = Field(examples=[5060])
    sent: int = Field(examples=[5059])
    suppressed: int = Field(examples=[1])
    withdrawn: int = Field(examples=[0])
    failed: int = Field(examples=[0])
    unknown: int = Field(examples=[0])
    waiting: int = Field(examples=[0])
    reason: str = Field(examples=[""], description="The reason for the state, in one sentence.")


class ActionDone(IssueStatus):
    """The status of an edition after an action, and what the action did."""

    done: str = Field(
        examples=["Paused. 268 copies wait until you resume."],
        description="What was done, in one sentence with exact numbers.",
    )


class Listed(IssueStatus):
    """The newest edition of an issue in the list, with its title."""

    title: str = Field(examples=["Tide tables for October"])
    published_at: datetime = Field(description="When it was published, or is to go out.")


class IssuePageBody(ResponseBody):
    """Issues, the newest first."""

    issues: list[Listed]
    next: int | None = Field(description="`before` of the next page; null on the last.")


class Copy(ResponseBody):
    """One reader’s copy, and what became of it."""

    reader: int = Field(examples=[17], description="The reader’s number.")
    address: str = Field(examples=["ada@posthouse.example.org"], description="Empty once erased.")
    name: str = Field(examples=["Ada"])
    outcome: Outcome
    sent_at: datetime | None = Field(description="When the provider accepted it.")
    message_id: str | None = Field(description="The provider’s id of it.")
    evidence: str | None = Field(description="What proves that it was accepted.")
    reason: str = Field(description="Why it was not sent; empty for what was.")


class CopyPage(ResponseBody):
    """Copies of one edition, batch by batch."""

    issue: UUID = Field(examples=[ISSUE])
    version: int = Field(examples=[1])
    copies: list[Copy]
    next: str | None = Field(description="`after` of the next page; null on the last.")


class ReceiptBody(ResponseBody):
    """The receipt of an edition that has come to rest: what it says, and our signature of that."""

    receipt: dict[str, Any] = Field(description="What it says.")
    signature: str = Field(examples=["9f86d081884c7d65"])
