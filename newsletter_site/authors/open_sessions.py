"""List the open sessions of an author, and end them.

A session stores no network address.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from newsletter_site.models import User

BROWSER, SIGNED_IN, LAST_USED = "session.browser", "session.signed_in", "session.last_used"
# A session writes its last use at most this often.
USE_NOTED_EVERY = timedelta(hours=1)
# The first pattern that fits wins: Edge and Opera also name Chrome, and Chrome names Safari.
_BROWSERS = {
    "Edge": r"Edg(e|A|iOS)?/",
    "Opera": r"OPR/",
    "Firefox": r"Firefox/|FxiOS/",
    "Chrome": r"Chrom(e|ium)/|CriOS/",
    "Safari": r"Safari/",
}
_SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac": "Macintosh",
    "ChromeOS": "CrOS",
    "Linux": "Linux",
}


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session in which the author is signed in.

    The times are None if the session began under an earlier release.
    """

    key: str
    browser: str
    signed_in: datetime | None
    last_used: datetime | None
    is_this: bool


def open_sessions(author: User, this: str | None = None) -> list[OpenSession]:
    """List the author's open sessions, this one first, then the last used first."""
    found = [
        OpenSession(
            session.session_key,
            data.get(BROWSER) or _("Unknown browser"),
            _time(data.get(SIGNED_IN)),
            _time(data.get(LAST_USED)),
            session.session_key == this,
        )
        for session, data in _sessions_of(author)
    ]
    oldest = datetime.min.replace(tzinfo=timezone.get_default_timezone())
    found.sort(key=lambda one: one.last_used or oldest, reverse=True)
    return sorted(found, key=lambda one: not one.is_this)


def end_sessions(author: User, besides: str | None = None) -> int:
    """End the author's sessions, except `besides`; return how many ended."""
    keys = [session.session_key for session, _ in _sessions_of(author)]
    ended = Session.objects.filter(session_key__in=keys).exclude(session_key=besides or "")
    return ended.delete()[0]


def note_use(session: SessionBase) -> None:
    """Note in a signed-in session that it is used now, at most once an hour."""
    used = _time(session.get(LAST_USED))
    if used is not None and timezone.now() - used >= USE_NOTED_EVERY:
        session[LAST_USED] = timezone.now().isoformat()


def describe_browser(user_agent: str) -> str:
    """Name the browser and the system of a User-Agent, such as Firefox on Linux."""
    browser, system = (
        next((name for name, pattern in one.items() if re.search(pattern, user_agent)), "")
        for one in (_BROWSERS, _SYSTEMS)
    )
    return " · ".join(filter(None, (browser, system)))


def _sessions_of(author: User) -> Iterator[tuple[Session, dict[str, Any]]]:
    # Only authors have sessions that last, so there are few rows to decode.
    # Sessions that began under an earlier secret key are accepted too.
    hashes = [author.get_session_auth_hash(), *author.get_session_auth_fallback_hash()]
    for session in Session.objects.filter(expire_date__gt=timezone.now()):
        data = session.get_decoded()
        # After a new password, the row stays until it expires, but the session is not accepted.
        stored = data.get(HASH_SESSION_KEY, "")
        is_valid = any(constant_time_compare(stored, one) for one in hashes)
        if data.get(SESSION_KEY) == str(author.pk) and is_valid:
            yield session, data


def _time(stored: object) -> datetime | None:
    with suppress(TypeError, ValueError):
        return datetime.fromisoformat(stored)  # type: ignore[arg-type]
    return None


@receiver(user_logged_in)
def _describe_session(request: HttpRequest, **_: Any) -> None:
    now = timezone.now()
    request.session[BROWSER] = describe_browser(request.headers.get("User-Agent", ""))
    request.session[SIGNED_IN] = request.session[LAST_USED] = now.isoformat()
    # Noting the use saves the session, which must not make it longer.
    request.session.set_expiry(now + timedelta(seconds=settings.SESSION_COOKIE_AGE))
