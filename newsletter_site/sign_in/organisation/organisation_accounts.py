"""Find the author of an account at the organisation, and link both."""

from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from newsletter_site.models import OrganisationAccount, User
from newsletter_site.sign_in.sign_in_methods import (
    SignInMethod,
    remove_method,
)
from subscribers.record_activity import record_activity


class NoAuthor(StrEnum):
    """Why an account signs nobody in."""

    UNKNOWN = "unknown"  # also for disabled authors
    UNVERIFIED = "unverified"
    AMBIGUOUS = "ambiguous"


def find_author(issuer: str, subject: str, email: str) -> User | NoAuthor:
    """Return the author of an account, or why there is none.

    An account that signs in for the first time is linked to the author with its verified address.
    From then on only the issuer's id counts, even if an address changes. An author who has another
    account at this issuer is not linked: the address may have been given to somebody else.
    """
    linked = OrganisationAccount.objects.filter(issuer=issuer, subject=subject)
    if account := linked.select_related("user").first():
        is_allowed = account.user.is_active and account.user.is_staff
        return account.user if is_allowed else NoAuthor.UNKNOWN
    if not email:
        return NoAuthor.UNVERIFIED
    rows = User.objects.filter(email__iexact=email, is_active=True, is_staff=True)
    match [one for one in rows if _ascii_lower(one.email) == _ascii_lower(email)]:
        case [author] if _link(author, issuer, subject):
            return author
        case [_, _, *_]:
            return NoAuthor.AMBIGUOUS
        case _:
            return NoAuthor.UNKNOWN


def _ascii_lower(address: str) -> str:
    """Ignore the case of ASCII letters only.

    “ı” and “ſ” are other letters than “i” and “s”, but have the same upper case.
    """
    return "".join(sign.lower() if sign.isascii() else sign for sign in address)


def _link(author: User, issuer: str, subject: str) -> bool:
    """Link both. Return False if the author has another account at this issuer."""
    try:
        with transaction.atomic():
            author.organisation_accounts.create(issuer=issuer, subject=subject)
            record_activity("link_organisation", author.pk, author, issuer=issuer)
    except IntegrityError:
        return OrganisationAccount.objects.filter(
            user=author, issuer=issuer, subject=subject
        ).exists()
    return True


def linked_account(author: Any) -> OrganisationAccount | None:
    """Return the author's account at the issuer that this site uses, or None."""
    accounts = author.organisation_accounts.filter(issuer=settings.OIDC_ISSUER)
    found: OrganisationAccount | None = accounts.first()
    return found


def unlink(author: Any) -> bool:
    """Remove the link and end all sessions, unless it is the last method."""
    issuer = settings.OIDC_ISSUER
    rows = author.organisation_accounts.filter(issuer=issuer)
    return remove_method(
        author, SignInMethod.ORGANISATION, rows, "unlink_organisation", issuer=issuer
    )
