"""Build tokens with a prefix and a check sum, and find callers by a token's hash."""

import hashlib
import re
import zlib
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now

from api.bearer import Caller
from newsletter_site.models import ApiToken
from newsletter_site.one_query_permissions import PermissionsBackend

PREFIX = "homing_"
RANDOM_BYTES = 32
PREFIX_LENGTH = len(PREFIX) + 4  # pages show these characters, so that owners recognise a token

_FORM = re.compile(r"homing_([A-Za-z0-9_-]{43})([0-9a-f]{8})")

_USE_NOTED_EVERY = timedelta(minutes=1)


def build_token(random: str) -> str:
    """Build the token around 43 characters of `secrets.token_urlsafe(RANDOM_BYTES)`."""
    return f"{PREFIX}{random}{_check_sum(random)}"


def is_well_formed(token: str) -> bool:
    """Return whether the prefix, the length and the check sum are those of a token."""
    found = _FORM.fullmatch(token)
    return found is not None and found[2] == _check_sum(found[1])


def hash_token(token: str) -> bytes:
    """Return the hash of a token: the 32 bytes that are stored instead of the token."""
    return hashlib.sha256(token.encode()).digest()


def _check_sum(random: str) -> str:
    return f"{zlib.crc32(random.encode()):08x}"


def find_caller(token: str) -> Caller | None:
    """Return the caller, or None if the token is not accepted.

    A token is not accepted if it is unknown, expired or revoked, or if its user may not sign in.
    """
    if not is_well_formed(token):
        return None
    is_valid = Q(expires_at=None) | Q(expires_at__gt=Now())
    is_due = Q(last_used_at=None) | Q(last_used_at__lt=Now() - _USE_NOTED_EVERY)
    found = ApiToken.objects.filter(is_valid, hash=hash_token(token), revoked_at=None)
    row = found.annotate(is_due=is_due).first()
    if row is None:
        return None
    user = PermissionsBackend().get_user(row.user_id)
    if user is None or not user.is_staff:
        return None
    if row.is_due:
        # Repeat the condition here, so that only one of many simultaneous calls writes the time.
        ApiToken.objects.filter(is_due, pk=row.pk).update(last_used_at=Now())
    return Caller(user, frozenset(row.scopes))
