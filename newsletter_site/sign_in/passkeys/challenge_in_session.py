"""A challenge in the session, which is valid once and for five minutes."""

from typing import Any

from django.contrib.sessions.models import Session
from django.core import signing
from django.db import transaction
from django.http import HttpRequest

from newsletter_site.sign_in.finish_sign_in import expire_soon

_KEY = "passkey.challenge"
_FIVE_MINUTES_S = 300


def keep_challenge(request: HttpRequest, **state: Any) -> None:
    """Store the state of a request to the browser, in place of an earlier one."""
    expire_soon(request)
    request.session[_KEY] = signing.dumps(state, salt=_KEY)


def read_challenge(request: HttpRequest) -> dict[str, Any]:
    """Return the stored state and keep it, or {} if there is none or it is too old."""
    return _unsigned(request.session.get(_KEY, ""))


def take_challenge(request: HttpRequest) -> dict[str, Any]:
    """Return the stored state and delete it, or {} if there is none or it is too old.

    A second request with the same session waits for the first, and gets {}.
    """
    with transaction.atomic():
        sessions = Session.objects.select_for_update().filter(pk=request.session.session_key)
        stored = sessions.first()
        if stored is None or not request.session.pop(_KEY, None):
            return {}
        request.session.save()
    return _unsigned(stored.get_decoded().get(_KEY, ""))


def _unsigned(signed: str) -> dict[str, Any]:
    try:
        state = signing.loads(signed, salt=_KEY, max_age=_FIVE_MINUTES_S)
    except signing.BadSignature:
        return {}
    return state if isinstance(state, dict) else {}
