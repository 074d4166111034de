"""
The mark of a browser in which an author signed in before: the only place that writes and reads it.

Whoever has it is counted apart from strangers when they fail to sign in, and has no other
advantage: it signs nobody in and stands for no password. Every sign-in leaves a new one, so a
stolen copy soon has a count of its own.
"""

from __future__ import annotations

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import get_random_string

from newsletter_site.sign_in.throttle_keys import hashed_name

_MARK = "homing.sign-in.known-browser"
_LINK = "homing.sign-in.let-in"
_YEAR_S = 365 * 24 * 3600
_HOUR_S = 3600


def browser_known_for(name: str, request: HttpRequest) -> str:
    """The browser's own number if the author of this name signed in in it before; or empty."""
    whose, browser = _read(request.COOKIES.get(_cookie_of(hashed_name(name)), ""), _MARK, _YEAR_S)
    return browser if whose == hashed_name(name) else ""


def mark(response: HttpResponse, name: str) -> None:
    """The author of this name signed in in this browser."""
    _mark(response, hashed_name(name), get_random_string(22))


def link_token(name: str) -> str:
    """What a link carries by which an operator makes one browser known for this name."""
    return signing.dumps([hashed_name(name), get_random_string(22)], salt=_LINK)


def mark_by_link(response: HttpResponse, token: str) -> bool:
    """
    An operator vouches for this browser; False where the link is too old or none of ours.

    The number stands in the link: whoever else has it shares one count with them.
    """
    whose, browser = _read(token, _LINK, _HOUR_S)
    if browser:
        _mark(response, whose, browser)
    return bool(browser)


def _read(signed: str, salt: str, age_s: int) -> tuple[str, str]:
    try:
        whose, browser = signing.loads(signed, salt=salt, max_age=age_s)
    except (signing.BadSignature, ValueError, TypeError):
        return "", ""
    return str(whose), str(browser)


def _mark(response: HttpResponse, whose: str, browser: str) -> None:
    response.set_cookie(
        _cookie_of(whose),
        signing.dumps([whose, browser], salt=_MARK),
        max_age=_YEAR_S,
        # Wherever a password is asked for: the sign-in page, and that of the second factor.
        path=reverse("admin:index"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _cookie_of(whose: str) -> str:
    """One for each author, so that two who share a browser are both known. It names neither."""
    return f"browser_{whose[:12]}"
