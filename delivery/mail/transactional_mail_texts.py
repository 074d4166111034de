"""Transactional mail (docs/decisions/0015-mail-on-request.md).

Each kind is one issue, with the same id in every database. The n-th mail of a kind to a reader is
version n of this issue. An invitation goes to an author, who is not a reader: each has a version of
its own, and its recipient is 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from delivery.humanise import digits
from delivery.mail.mark_test_letter import TEST_RECIPIENT
from delivery.models import Edition, Newsletter
from delivery.short_markdown import plain_lines

CONFIRMATION_ISSUE = UUID("e93348ef-096e-4c6c-a194-8c9e51f5b825")
RECORD_ISSUE = UUID("5746c21d-e5f7-4e1a-a220-cf610df36c6d")
INVITATION_ISSUE = UUID("9a6f0f5e-5d8b-4a2c-8f53-3b1f6f0c7d24")
NO_READER = TEST_RECIPIENT
INVITATION_DAYS = 7

ISSUE_BY_KIND: Mapping[str, UUID] = {
    Edition.Kind.CONFIRMATION: CONFIRMATION_ISSUE,
    Edition.Kind.RECORD: RECORD_ISSUE,
    Edition.Kind.INVITATION: INVITATION_ISSUE,
}
KIND_BY_ISSUE: Mapping[UUID, str] = {issue: kind for kind, issue in ISSUE_BY_KIND.items()}


@dataclass(frozen=True, slots=True)
class TransactionalText:
    """The text of a transactional mail, without anything a stranger may have typed."""

    title: str
    before: tuple[str, ...]
    button: str
    after: tuple[str, ...]
    why: str


def transactional_text(kind: str) -> TransactionalText:
    """Write the text of a transactional mail in the active language.

    The text contains merge fields that are not filled in yet.
    """
    if kind == Edition.Kind.CONFIRMATION:
        return TransactionalText(
            title=_("Confirm your subscription to {{ newsletter }}"),
            before=(
                _("Someone, most likely you, signed up for {{ newsletter }} with {{ email }}."),
                _("Press “Confirm”, then once more on the page that opens."),
            ),
            button=_("Confirm"),
            after=(_("If it wasn’t you, do nothing. You will not be subscribed."),),
            why=_(
                "You get this one email because someone entered your address to sign up for "
                "{{ newsletter }}."
            ),
        )
    if kind == Edition.Kind.INVITATION:
        return TransactionalText(
            title=_("Your invitation to {{ newsletter }}"),
            before=(
                _("You are invited to work on {{ newsletter }}, with the address {{ email }}."),
                _("Open the link and choose a user name and a password."),
            ),
            button=_("Accept the invitation"),
            after=(
                _(
                    "The link works once, for {days} days. After that, ask for another invitation."
                ).format(days=digits(INVITATION_DAYS)),
                _("Keep the link to yourself. Anyone with it can accept the invitation."),
                _("If you don’t know {{ newsletter }}, ignore this email."),
            ),
            why=_("You get this email because an author of {{ newsletter }} invited you."),
        )
    return TransactionalText(
        title=_("Unsubscribe, or see your data: {{ newsletter }}"),
        before=(
            _("Someone, most likely you, entered {{ email }} to request this link."),
            _("Open it to unsubscribe, or to see, download or erase your data."),
        ),
        button=_("Unsubscribe or see your data"),
        after=(
            _("Keep the link to yourself. Anyone with it can see and erase your data."),
            _("If it wasn’t you, do nothing. Only you have the link."),
        ),
        why=_(
            "You get this one email because someone requested this link from {{ newsletter }} for "
            "your address."
        ),
    )


def provider_tag(issue: UUID) -> str:
    """Return the tag of an issue's mails at the provider."""
    return KIND_BY_ISSUE.get(issue) or f"issue-{issue.hex}"


def edition_name(kind: str, version: int) -> str:
    """Name a transactional edition for operators, because its title has merge fields."""
    names = {
        Edition.Kind.WELCOME: (_("Welcome letter"), _("Welcome letter (opt-in {number})")),
        Edition.Kind.CONFIRMATION: (
            _("Confirmation mail"),
            _("Confirmation mail (request {number})"),
        ),
        Edition.Kind.RECORD: (_("Data request mail"), _("Data request mail (request {number})")),
        Edition.Kind.TEST: (_("Test letter {number}"), _("Test letter {number}")),
        Edition.Kind.INVITATION: (_("Invitation {number}"), _("Invitation {number}")),
    }
    return names[Edition.Kind(kind)][version > 1].format(number=digits(version))


def newsletter_values(newsletter: Newsletter) -> dict[str, str]:
    """Return the newsletter's values for the merge fields of transactional mail."""
    name, address = newsletter.name, newsletter.postal_address
    return {
        "newsletter": name,
        "language": newsletter.language,
        "imprint": " · ".join(filter(None, (name, address, *plain_lines(newsletter.footer)))),
    }
