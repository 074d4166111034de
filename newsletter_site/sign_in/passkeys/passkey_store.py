"""Add, rename, remove and check the passkeys of an author."""

import logging
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from delivery.control_characters import CONTROL_CHARACTERS, clean_name
from newsletter_site.models import LONGEST_NAME, Passkey, User
from newsletter_site.sign_in.operator_record import record_operator
from newsletter_site.sign_in.passkeys import webauthn
from newsletter_site.sign_in.passkeys.webauthn import ResponseRefusedError
from newsletter_site.sign_in.sign_in_methods import (
    SignInMethod,
    invalidate_sessions,
    locked_author,
    remove_method,
)
from subscribers.record_activity import record_activity

logger = logging.getLogger(__name__)

# More passkeys than an author has devices. The browser gets the ids of all of them.
MOST_PASSKEYS = 20


def named(typed: str) -> str:
    """Return the typed name of a passkey as it is stored."""
    return clean_name(CONTROL_CHARACTERS.sub(" ", typed))[:LONGEST_NAME]


def add(author: Any, name: str, state: dict[str, Any], response: str) -> bool:
    """Add the passkey that a device created, and end all sessions.

    Return False if the response is refused.
    """
    try:
        new = webauthn.check_created(state, response)
        with locked_author(author):
            if author.passkeys.count() >= MOST_PASSKEYS:
                return False
            author.passkeys.create(
                name=name,
                credential_id=new.credential_id,
                public_key=new.public_key,
                sign_count=new.sign_count,
            )
            invalidate_sessions(author)
            record_activity("add_passkey", author.pk, author, passkey=name)
    except (ResponseRefusedError, IntegrityError):
        # The error of the database means that this passkey is stored already.
        return False
    return True


def rename(author: Any, passkey: Passkey, name: str) -> bool:
    """Give a passkey another name. Return False if it was deleted."""
    with transaction.atomic():
        if not author.passkeys.filter(pk=passkey.pk).update(name=name):
            return False
        record_activity("rename_passkey", author.pk, author, passkey=passkey.name, new_name=name)
    return True


def remove(author: Any, passkey: Passkey) -> bool:
    """Remove a passkey and end all sessions, unless it is the last method."""
    rows = author.passkeys.filter(pk=passkey.pk)
    return remove_method(author, SignInMethod.PASSKEY, rows, "remove_passkey", passkey=passkey.name)


def remove_all_by_operator(author: User) -> bool:
    """Remove all passkeys and end all sessions. Return False if there was none."""
    with locked_author(author):
        if not author.passkeys.all().delete()[0]:
            return False
        invalidate_sessions(author)
        record_operator("remove_passkeys_by_operator", author)
    return True


def author_of(credential_id: bytes) -> User | None:
    """Return the author to whom a passkey belongs, or None."""
    return User.objects.filter(passkeys__credential_id=credential_id).first()


def check(credential_id: bytes, state: dict[str, Any], response: str) -> User | None:
    """Return the author whose passkey signed this request, or None if it is refused.

    A device that counts its signatures must send a higher number each time. A number that was used
    before shows that somebody copied the passkey.
    """
    with transaction.atomic():
        passkeys = Passkey.objects.select_for_update(of=("self",)).select_related("user")
        passkey = passkeys.filter(credential_id=credential_id).first()
        if passkey is None or not state:
            return None
        author = passkey.user
        try:
            count = webauthn.check_signature(
                state, bytes(passkey.public_key), author.pk.bytes, response
            )
        except ResponseRefusedError:
            return None
        if (count or passkey.sign_count) and count <= passkey.sign_count:
            logger.warning("a passkey was refused, because its count shows that it was copied")
            return None
        if not (author.is_active and author.is_staff):
            return None
        Passkey.objects.filter(pk=passkey.pk).update(sign_count=count, last_used_at=Now())
    return author
