"""Transactional mail. Each kind is one issue with the same id in every database; the n-th mail to a
reader is its version n (docs/decisions/0015-mail-on-request.md). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from delivery.models import Edition, Newsletter

CONFIRMATION_ISSUE = UUID("e93348ef-096e-4c6c-a194-8c9e51f5b825")
RECORD_ISSUE = UUID("5746c21d-e5f7-4e1a-a220-cf610df36c6d")

ISSUE_BY_KIND: Mapping[str, UUID] = {
    Edition.Kind.CONFIRMATION: CONFIRMATION_ISSUE,
    Edition.Kind.RECORD: RECORD_ISSUE,
}
KIND_BY_ISSUE: Mapping[UUID, str] = {issue: kind for kind, issue in ISSUE_BY_KIND.items()}


@dataclass(frozen=True, slots=True)
class TransactionalText:
    """The text of such a mail. It holds nothing that a stranger may have typed."""

    title: str
    before: tuple[str, ...]
    button: str
    after: tuple[str, ...]
    why: str


TRANSACTIONAL_TEXTS: Mapping[str, TransactionalText] = {
    Edition.Kind.CONFIRMATION: TransactionalText(
        title="Confirm that you want {{ newsletter }}",
        before=(
            "Someone, most likely you, signed up for {{ newsletter }} with {{ email }}.",
            "Open the link and press the button to confirm.",
        ),
        button="Confirm",
        after=("If it was not you, do nothing: you will not be subscribed.",),
        why="You get this one mail because your address was entered to sign up for "
        "{{ newsletter }}.",
    ),
    Edition.Kind.RECORD: TransactionalText(
        title="Unsubscribe, or see your data: {{ newsletter }}",
        before=(
            "Someone, most likely you, asked {{ newsletter }} for this link for {{ email }}.",
            "Open it to unsubscribe, or to see, download or erase your data.",
        ),
        button="Unsubscribe or see your data",
        after=(
            "Keep the link to yourself: anyone with it can see your data.",
            "If it was not you, do nothing: only you have the link.",
        ),
        why="You get this one mail because your address was entered to unsubscribe "
        "from {{ newsletter }}, or to see what it holds about you.",
    ),
}


def provider_tag(issue: UUID) -> str:
    """The tag of an issue's mails at the provider."""
    return KIND_BY_ISSUE.get(issue) or f"issue-{issue.hex}"


def edition_name(kind: str, version: int) -> str:
    """The name of an edition whose title has merge fields, for operators."""
    if kind == Edition.Kind.TEST:
        return f"Test letter number {version:,}"
    name = "Confirmation mail" if kind == Edition.Kind.CONFIRMATION else "Record mail"
    return name if version == 1 else f"{name} for a request number {version:,}"


def newsletter_values(newsletter: Newsletter) -> dict[str, str]:
    """The newsletter's values of the merge fields of such a mail."""
    name, address = newsletter.name, newsletter.postal_address
    return {
        "newsletter": name,
        "language": newsletter.language,
        "imprint": f"{name}, {address}" if address else name,
    }
