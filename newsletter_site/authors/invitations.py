"""Invite authors by mail, send invitations again, withdraw and accept them.

The link in a mail has the number of the mail, sealed with the secret key. The invitation stores the
number of its last mail, so that each new mail ends the link of the mail before.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from django.contrib.admin.models import ADDITION, DELETION
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from delivery.humanise import counted
from delivery.interface import next_number, request_mail
from delivery.mail.transactional_mail_texts import INVITATION_DAYS, INVITATION_ISSUE, NO_READER
from delivery.models import Delivery, Edition
from delivery.models.delivery import Outcome
from newsletter_site.authors.change_author import group_of
from newsletter_site.authors.lock_accounts import AccountRefusedError, accounts_locked
from newsletter_site.models import Invitation, User
from publishing.desk_roles import ROLES, Role
from publishing.display_name import called
from subscribers.links import request_token
from subscribers.links.request_token import Request
from subscribers.record_activity import record_activity
from subscribers.suppression.manual_suppression import is_blocked

MAILS_PER_HOUR = 30
NOT_DELIVERED = {Outcome.FAILED, Outcome.SUPPRESSED, Outcome.WITHDRAWN}


@dataclass(frozen=True, slots=True)
class Accepted:
    """What an invited person typed."""

    username: str
    name: str
    password: str


def invite(address: str, name: str, role: Role, by: User) -> Invitation:
    """Invite an author, and queue the mail in the same transaction.

    Raise `AccountRefusedError` if the address has an account or an invitation, or is blocked.
    """
    with accounts_locked():
        account = User.objects.filter(email__iexact=address).first()
        if account is not None:
            reason = _("{address} already has an account: {name}.")
            raise AccountRefusedError(reason.format(address=address, name=called(account)))
        if Invitation.objects.filter(address__iexact=address).exists():
            reason = _("{address} is invited already. Press “Invite again” in the list above.")
            raise AccountRefusedError(reason.format(address=address))
        if is_blocked(address.lower()):
            reason = _(
                "{address} is blocked, so Homing sends no mail to it. Unblock it under Readers."
            )
            raise AccountRefusedError(reason.format(address=address))
        group_of(role)
        invitation = Invitation(address=address, name=name, role=role.name, invited_by=by)
        _send(invitation)
        record_activity("invite_author", by.pk, invitation, flag=ADDITION, role=role.name)
    return invitation


def invite_again(invitation: int, number: int, by: User) -> Invitation | None:
    """Send a new mail, whose link replaces the link of the mail with this number.

    Return None if the invitation has ended, or if another mail was sent since.
    """
    with accounts_locked():
        row = Invitation.objects.select_for_update().filter(pk=invitation, number=number).first()
        if row is not None:
            _send(row)
            record_activity("invite_again", by.pk, row, role=row.role)
    return row


def withdraw(invitation: int, by: User) -> Invitation | None:
    """End an invitation and its link. Return None if it has ended already."""
    with accounts_locked():
        row = Invitation.objects.select_for_update().filter(pk=invitation).first()
        if row is not None:
            record_activity("withdraw_invitation", by.pk, row, flag=DELETION)
            Invitation.objects.filter(pk=invitation).delete()
    return row


def open_invitation(token: str) -> Invitation | None:
    """Return the invitation of a link.

    Return None if the link is unknown, was replaced, or has expired, or if the invitation was
    accepted or withdrawn.
    """
    request = request_token.read(Edition.Kind.INVITATION, token)
    if request is None:
        return None
    return Invitation.objects.filter(number=request.number, expires_at__gt=Now()).first()


def accept(number: int, typed: Accepted) -> User | None:
    """Create the account of the invitation whose last mail has this number.

    Return None if the invitation has ended, or if its address got an account since. Raise
    `ValidationError`, with the name of the field, and `AccountRefusedError`.
    """
    with accounts_locked():
        found = Invitation.objects.select_for_update().filter(number=number, expires_at__gt=Now())
        invitation = found.first()
        if invitation is None:
            return None
        if (role := ROLES.get(invitation.role)) is None:
            raise AccountRefusedError(
                _("No account was made: the role no longer exists. Ask for another invitation.")
            )
        author = User(
            # The form of Unicode in which the name is stored may be longer.
            username=User.normalize_username(typed.username),
            first_name=typed.name,
            email=invitation.address,
            is_staff=True,
        )
        # The address has received the mail, so it is usable.
        author.full_clean(exclude=["password", "email"])
        if User.objects.filter(email__iexact=invitation.address).exists():
            return None
        if User.objects.filter(username__iexact=author.username).exists():
            raise ValidationError({"username": author.unique_error_message(User, ("username",))})
        try:
            validate_password(typed.password, author)
        except ValidationError as error:
            raise ValidationError({"password": error.messages}) from None
        author.set_password(typed.password)
        try:
            with transaction.atomic():
                author.save()
        except IntegrityError:  # the command line added the name at the same time
            message = author.unique_error_message(User, ("username",))
            raise ValidationError({"username": message}) from None
        author.groups.set([group_of(role)])
        invitation.delete()
        record_activity("accept_invitation", author.pk, author, role=invitation.role)
    return author


def invitation_link_path(number: int) -> str:
    """Return the path of the link in the mail with this number."""
    token = request_token.token_for(Edition.Kind.INVITATION, Request(NO_READER, number))
    return f"/admin/join/{token}/"


def undelivered_among(invitations: list[Invitation]) -> set[int]:
    """Return the numbers of the mails that the provider refused."""
    mails = Delivery.objects.filter(
        issue=INVITATION_ISSUE,
        recipient=NO_READER,
        version__in=[one.number for one in invitations],
        outcome__in=NOT_DELIVERED,
    )
    return set(mails.values_list("version", flat=True))


def _send(invitation: Invitation) -> None:
    """Queue the mail of an invitation under a new number, and save the invitation."""
    hour_ago = cast("Any", Now()) - timedelta(hours=1)
    sent = Edition.objects.filter(issue_id=INVITATION_ISSUE, published_at__gt=hour_ago).count()
    if sent >= MAILS_PER_HOUR:
        raise AccountRefusedError(
            counted(
                "Homing sends at most {n} invitation in an hour. Wait, and try again.",
                "Homing sends at most {n} invitations in an hour. Wait, and try again.",
                MAILS_PER_HOUR,
            )
        )
    invitation.number = next_number()
    invitation.sent_at = cast("Any", Now())
    invitation.expires_at = cast("Any", Now()) + timedelta(days=INVITATION_DAYS)
    invitation.save()
    request_mail(
        Edition.Kind.INVITATION, invitation.number, [(NO_READER, invitation.address)], ahead=True
    )
