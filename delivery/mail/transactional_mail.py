"""
Mail on request: the mails that one person gets because of what that person did.

A confirmation goes to whoever signs up, a record's link to whoever asks what is held about them.
Each kind is one issue with an id of its own, the same in every database, and the n-th mail that a
reader asks for is its version n. The words stand here. They hold merge fields for what the
newsletter says of itself, which is filled in when a mail is rendered, because an edition of these
is open for years (docs/decisions/0015-mail-on-request.md). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from uuid import UUID

from delivery.models import Edition, Newsletter

CONFIRMATION_ISSUE = UUID("e93348ef-096e-4c6c-a194-8c9e51f5b825")
RECORD_ISSUE = UUID("5746c21d-e5f7-4e1a-a220-cf610df36c6d")

ISSUE_BY_KIND: Mapping[str, UUID] = MappingProxyType(
    {Edition.Kind.CONFIRMATION: CONFIRMATION_ISSUE, Edition.Kind.RECORD: RECORD_ISSUE}
)
KIND_BY_ISSUE: Mapping[UUID, str] = MappingProxyType(
    {issue: kind for kind, issue in ISSUE_BY_KIND.items()}
)


@dataclass(frozen=True, slots=True)
class TransactionalText:
    """
    What such a mail says, with merge fields: sentences before and after its one link.

    No word of it is the reader's own: a stranger who types somebody's address would otherwise
    write to them through us.
    """

    title: str
    before: tuple[str, ...]
    button: str
    after: tuple[str, ...]
    why: str


TRANSACTIONAL_TEXTS: Mapping[str, TransactionalText] = MappingProxyType(
    {
        Edition.Kind.CONFIRMATION: TransactionalText(
            title="Confirm that you want {{ newsletter }}",
            before=(
                "Somebody, most likely you, asked for {{ newsletter }} to be sent to {{ email }}.",
                "It comes to you once you press the button on the page behind this link.",
            ),
            button="Confirm",
            after=("Was it not you? Then do nothing, and it does not come.",),
            why="You get this one mail because your address was entered to sign up for "
            "{{ newsletter }}.",
        ),
        Edition.Kind.RECORD: TransactionalText(
            title="Unsubscribe, or see your data: {{ newsletter }}",
            before=(
                "Somebody, most likely you, asked {{ newsletter }} for this link for {{ email }}.",
                "Open it to unsubscribe, or to see, download or erase your data.",
            ),
            button="Unsubscribe or see your data",
            after=(
                "The link is for you alone: whoever has it can see your data.",
                "Was it not you? Then do nothing: nobody but you has the link.",
            ),
            why="You get this one mail because your address was entered to unsubscribe "
            "from {{ newsletter }}, or to see what it holds about you.",
        ),
    }
)


def provider_tag(issue: UUID) -> str:
    """The tag that all mails of an issue bear at the provider."""
    return KIND_BY_ISSUE.get(issue) or f"issue-{issue.hex}"


def edition_name(kind: str, version: int) -> str:
    """What an operator calls an edition of mail on request, whose title has merge fields in it."""
    if kind == Edition.Kind.TEST:
        return f"Test letter number {version:,}"
    name = "Confirmation mail" if kind == Edition.Kind.CONFIRMATION else "Record mail"
    return name if version == 1 else f"{name} for a request number {version:,}"


def newsletter_values(newsletter: Newsletter) -> dict[str, str]:
    """What the newsletter fills into such a mail; the reader's address and link come on top."""
    name, address = newsletter.name, newsletter.postal_address
    return {
        "newsletter": name,
        "language": newsletter.language,
        "imprint": f"{name}, {address}" if address else name,
    }
