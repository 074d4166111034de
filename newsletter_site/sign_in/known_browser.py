"""The cookie that marks a browser as known for an author.

Failed sign-ins in such a browser are counted separately, so strangers cannot lock the author out.
"""

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import get_random_string, salted_hmac

_COOKIE_SALT = "homing.sign-in.known-browser"
_LINK_SALT = "homing.sign-in.let-in"
_YEAR_S = 365 * 24 * 3600


def read_browser_number(request: HttpRequest, name: str) -> str:
    """Return the random number of this author's known browser, or an empty text."""
    author = _hash(name)
    cookie = request.COOKIES.get(_cookie_name(author), "")
    cookie_author, number = _read(cookie, _COOKIE_SALT, _YEAR_S)
    return number if cookie_author == author else ""


def set_cookie(response: HttpResponse, name: str) -> None:
    """Mark this browser as known for the author who signed in."""
    _write_cookie(response, _hash(name), get_random_string(22))


def link_token(name: str) -> str:
    """Return the token for an operator's link that makes one browser known."""
    return signing.dumps([_hash(name), get_random_string(22)], salt=_LINK_SALT)


def set_cookie_by_link(response: HttpResponse, token: str) -> bool:
    """Mark this browser as known by an operator's link.

    Return False if the link's token is invalid or expired.
    """
    author, number = _read(token, _LINK_SALT, 3600)
    if number:
        _write_cookie(response, author, number)
    return bool(number)


def _read(signed: str, salt: str, max_age_s: int) -> tuple[str, str]:
    try:
        author, number = signing.loads(signed, salt=salt, max_age=max_age_s)
    except (signing.BadSignature, ValueError, TypeError):
        return "", ""
    return str(author), str(number)


def _write_cookie(response: HttpResponse, author: str, number: str) -> None:
    response.set_cookie(
        _cookie_name(author),
        signing.dumps([author, number], salt=_COOKIE_SALT),
        max_age=_YEAR_S,
        # Send the cookie only below this path, because all pages that ask for a password are there.
        path=reverse("admin:index"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _cookie_name(author: str) -> str:
    return f"browser_{author[:12]}"


def _hash(name: str) -> str:
    return salted_hmac("homing.sign-in.name", name, algorithm="sha256").hexdigest()
