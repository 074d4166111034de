"""The bodies of requests and responses of the calls about issues."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, create_model

from api.problem import FieldError, ProblemError, ProblemType
from api.schema import RequestBody, ResponseBody
from delivery.issue_attributes import CONTENT_ATTRIBUTES, TITLE
from publishing.content.edition_content import Content, find_problems
from publishing.editions.find_edition import HIGHEST_VERSION
from publishing.editions.issue_address import LONGEST_OLD_SLUG
from subscribers.fields.own_fields import load_own_fields

# Seconds. The longest hold. A caller that wants to wait longer must schedule the issue.
LONGEST_HOLD_S = 86_400
MOST_TAGS = 200

Version = Annotated[
    int, Field(ge=1, le=HIGHEST_VERSION, description="The version of the issue.", examples=[2])
]
State = Literal[
    "scheduled", "held", "sending", "paused", "needs_attention", "succeeded", "cancelled", "closed"
]
Outcome = Literal["waiting", "sent", "unknown", "suppressed", "withdrawn", "failed"]
ISSUE = "5b7c0f4e-3b0a-4c39-9d0e-0d1b8c1c7a11"


def _content_fields() -> dict[str, Any]:
    """Return a field of the body for each attribute; only the title is required."""
    return {
        one.api_name: (
            str,
            Field(
                default=... if one is TITLE else "",
                max_length=one.longest,
                description=one.api.description,
                examples=[one.api.example],
            ),
        )
        for one in CONTENT_ATTRIBUTES
    }


if TYPE_CHECKING:

    class ContentBody(RequestBody): ...

else:
    ContentBody = create_model("ContentBody", __base__=RequestBody, **_content_fields())


def content_in(body: ContentBody) -> Content:
    """Build the content from the body of a call."""
    return Content.from_input(
        **{one.content: getattr(body, one.api_name) for one in CONTENT_ATTRIBUTES}
    )


def refuse_problems(content: Content) -> None:
    """Raise `ProblemError` for content that cannot be published."""
    errors = [
        FieldError(problem.attribute.api_name, problem.sentence)
        for problem in find_problems(content, load_own_fields())
    ]
    if errors:
        raise ProblemError(ProblemType.NOT_VALID, errors[0].detail, errors=errors)


def _optional(description: str, example: Any = None, **limits: Any) -> Any:
    """Return a field that may be null or omitted."""
    return Field(default=None, description=description, examples=[example], **limits)


class Clock(RequestBody):
    """The time zone of a local time, and which of two equal local times is meant."""

    zone: str | None = _optional(
        "The zone of that time; null: the newsletter’s zone.", max_length=64
    )
    which: Literal["first", "second"] | None = _optional(
        "Which one, if the clocks go back and the time occurs twice."
    )


class NewTime(Clock):
    """A new time for a scheduled issue."""

    at: str = Field(
        max_length=40,
        description="When it goes out, as a local time such as 2026-10-25T07:30.",
        examples=["2026-10-25T07:30"],
    )


class Words(ContentBody, Clock):
    """The content of an issue and its time. The content needs text, HTML or both."""

    tags: list[str] | None = _optional(
        "Only readers with any of these tags; null: as before, or everyone.", max_length=MOST_TAGS
    )
    without_tags: list[str] | None = _optional(
        "No readers with any of these tags; null: as before, or no limit.", max_length=MOST_TAGS
    )
    unlisted: bool | None = _optional(
        "True: hidden from archive, feed and search engines. False: in the archive. Null: as "
        "`archive` says."
    )
    archive: Literal["public", "unlisted", "none"] | None = _optional(
        "public: in the archive and the feed. unlisted: only people with the link can read it. "
        "none: no page on the web. Null: unlisted if tags limit the readers, else public; a "
        "correction keeps it."
    )
    address: str | None = _optional(
        "The last part of the issue’s address: lower-case letters of any script, digits, hyphens "
        "and underscores. Until a copy leads to it, a version can change it. Null: from the title.",
        max_length=LONGEST_OLD_SLUG,
    )
    hold_s: float | None = _optional(
        "Seconds in which it can be called back; null: PUBLISH_HOLD_S.", 30, ge=0, le=LONGEST_HOLD_S
    )
    at: str | None = _optional(
        "When it goes out, as a local time such as 2026-10-25T07:30; null: now.", max_length=40
    )


class NewIssue(Words):
    """A new issue; the call publishes its version 1."""

    goes_to: Literal["everyone", "nobody"] = Field(
        default="everyone",
        description="everyone: all readers confirmed now. nobody: only in the archive.",
    )


class NewVersion(Words):
    """The next version of an issue.

    The version is a correction if any reader got an earlier version.
    """

    version: Version
    goes_to: Literal["everyone", "reached", "unreached", "nobody"] | None = _optional(
        "everyone: all readers confirmed now. reached: only those who were sent an earlier "
        "version. unreached: only those who got no version. nobody: only the archive changes. "
        "Null: everyone, or unreached after a cancelled version.",
        "everyone",
    )
    note: bool = Field(
        default=True,
        description="False, with goes_to nobody: readers see no “Corrected on …”.",
    )


class Published(ResponseBody):
    """A published edition, as `./homing publish` prints it."""

    issue: UUID = Field(examples=[ISSUE])
    version: int = Field(examples=[1])
    audience: int = Field(examples=[5060], description="How many readers; 0 while scheduled.")
    created: bool = Field(description="True if this call created it; false if it already existed.")


class IssueStatus(ResponseBody):
    """The status of an edition, as in `./homing issue_status`.

    The other counts add up to `audience`.
    """

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
    """The status of an edition after an action, and the result of the action."""

    done: str = Field(
        examples=["Paused. 268 copies wait until you resume."],
        description="The result in one sentence, with exact numbers.",
    )


class Listed(IssueStatus):
    """An issue in the list, with its last mailed edition or else its newest edition."""

    title: str = Field(examples=["Tide tables for October"])
    published_at: datetime = Field(description="When it was published, or will be sent.")
    page_corrected_at: datetime | None = Field(
        description="When a newer version corrected only the page; else null."
    )


class IssuePageBody(ResponseBody):
    """One page of the list of issues, the newest first."""

    issues: list[Listed]
    next: int | None = Field(description="`before` of the next page; null on the last.")


class Copy(ResponseBody):
    """One reader’s copy and its outcome."""

    reader: int = Field(examples=[17], description="The reader’s number.")
    address: str = Field(examples=["ada@posthouse.example.org"], description="Empty once erased.")
    name: str = Field(examples=["Ada"])
    outcome: Outcome
    sent_at: datetime | None = Field(description="When the provider accepted it.")
    message_id: str | None = Field(description="The provider’s id of the copy.")
    evidence: str | None = Field(description="The proof that it was accepted.")
    reason: str = Field(description="Why it was not sent; empty if it was sent.")


class CopyPage(ResponseBody):
    """Copies of one edition, batch by batch."""

    issue: UUID = Field(examples=[ISSUE])
    version: int = Field(examples=[1])
    copies: list[Copy]
    next: str | None = Field(description="`after` of the next page; null on the last.")


class ReceiptBody(ResponseBody):
    """The receipt of a finished edition, and its signature."""

    receipt: dict[str, Any] = Field(description="The facts of the receipt.")
    signature: str = Field(examples=["9f86d081884c7d65"])
