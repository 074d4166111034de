"""If a form is posted after the author's session ended, save its text as a draft.

A signed field in the form names the author of the text.
"""

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django import forms
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.urls import reverse

from idempotency.key import FIELD, InvalidKey, read_key
from publishing.desk_permissions import PUBLISH, WRITE, may
from publishing.drafts import save_draft
from publishing.drafts.draft_form import DraftForm
from subscribers.desk_frame import wants_json

_SALT = "publishing.drafts.keep_signed_out"
# Seconds. A number of seconds: an author may leave the form open during a long holiday.
_MAX_AGE_S = 90 * 24 * 3600

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


class KeptForm(DraftForm):
    """The composer's form, with a signed field that names its author."""

    writer = forms.CharField(required=False)

    @property
    def author(self) -> uuid.UUID | None:
        """The author whom the form names; None if the signature is invalid or too old."""
        note = self.cleaned_data.get("writer", "")
        try:
            return uuid.UUID(signing.loads(note, salt=_SALT, max_age=_MAX_AGE_S))
        except signing.BadSignature:
            return None


def sign_writer(user: AbstractBaseUser | AnonymousUser) -> str:
    """Return the signed id of a form's author, for a hidden field of the form."""
    return signing.dumps(str(user.pk), salt=_SALT)


def keep_when_signed_out(view: View[P]) -> View[P]:
    """Make a view save posts without a session as drafts.

    A post by the composer's script is not saved here, because the script keeps the text in the
    page.
    """

    @wraps(view)
    def kept(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if request.method != "POST" or request.user.is_authenticated or wants_json(request):
            return view(request, *args, **kwargs)
        form = KeptForm(request.POST)
        form.full_clean()
        writer, key = form.author, read_key(request.POST.getlist(FIELD), None)
        if (
            writer is None
            or not (may(writer, WRITE) or may(writer, PUBLISH))
            or isinstance(key, InvalidKey)
            or form.written.is_empty
            or form.has_too_long_text
        ):
            return view(request, *args, **kwargs)
        try:
            draft = save_draft.keep_signed_out(
                writer,
                key,
                form.written,
                issue=form.published_issue,
                shown=draft_in_url(request),
            )
        except save_draft.TooManyUntouchedError as error:
            return _not_kept(request, str(error))
        address = reverse("desk:draft", args=[draft.pk])
        return redirect_to_login(f"{address}?signed_out=", resolve_url(settings.LOGIN_URL))

    return kept


def draft_in_url(request: HttpRequest) -> uuid.UUID | None:
    """Return the draft that the URL names, if any."""
    return request.resolver_match.kwargs.get("draft") if request.resolver_match else None


def _not_kept(request: HttpRequest, sentence: str) -> HttpResponse:
    """Answer 429 with a form that can post the same fields again after signing in."""
    page = render(
        request,
        "publishing/drafts/signed_out_not_kept.html",
        {
            "sentence": sentence,
            "action": request.get_full_path(),
            "login": resolve_url(settings.LOGIN_URL),
            "fields": [
                (name, value)
                for name, values in request.POST.lists()
                for value in values
                if name != "csrfmiddlewaretoken"
            ],
        },
        status=429,
    )
    page.headers["Cache-Control"] = "private, no-cache"
    return page
