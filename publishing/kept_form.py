"""
Keeps what an author posted when their session had ended meanwhile, until they are signed in again.

The words wait in the new session of the same browser, which outlives signing in. Only a form that
was shown to somebody signed in is kept: it carries a signed note of whose it is, so that nobody
else can fill the table of sessions, and only its author gets it back.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core import signing
from django.http import HttpRequest

from idempotency.key import FIELD, BadKey, key_given

WRITER_FIELD = "writer"
_SESSION = "kept_form"
_SALT = "publishing.kept_form"
# A form may lie open over a long holiday, and no longer.
_LONGEST_S = 90 * 24 * 3600


@dataclass(frozen=True, slots=True)
class KeptForm:
    """What was posted, word for word, with the key it was posted under."""

    writer: str
    key: str
    title: str
    html_content: str
    text_content: str


def signed_writer(user: AbstractBaseUser | AnonymousUser) -> str:
    """Whose form this is, for its hidden field."""
    return signing.dumps(str(user.pk), salt=_SALT)


def keep(request: HttpRequest) -> None:
    """Keep the posted form in the session; anything else that was posted is let go."""
    key = key_given(request.POST.getlist(FIELD), None)
    if isinstance(key, BadKey):
        return
    try:
        writer = signing.loads(request.POST.get(WRITER_FIELD, ""), salt=_SALT, max_age=_LONGEST_S)
    except signing.BadSignature:
        return
    form = KeptForm(
        writer=str(writer),
        key=key,
        title=request.POST.get("title", ""),
        html_content=request.POST.get("html_content", ""),
        text_content=request.POST.get("text_content", ""),
    )
    request.session[_SESSION] = asdict(form)


def take(request: HttpRequest) -> KeptForm | None:
    """The form that was kept for whoever is signed in now, once."""
    if _SESSION not in request.session:
        return None
    form = KeptForm(**request.session.pop(_SESSION))
    return form if form.writer == str(request.user.pk) else None
