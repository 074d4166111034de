"""
The desk's page of tokens: one's own, and a form for another. Superusers see everybody's.

A token outlives the session in which it was made, so whoever makes one proves who they are.

A new token is shown in the answer to the form that made it and nowhere else, so that answer is kept
by nobody: no store, no saved answer. The same form posted twice makes one token and shows it once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TypeVar

from django.contrib import messages
from django.contrib.admin.views.decorators import staff_member_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from delivery.interface import database_time
from newsletter_site.sign_in.reauthenticate import identity_error
from newsletter_site.tokens.manage import (
    Made,
    TokenRefusedError,
    make,
    refuse_a_second_post,
    revoke,
    tokens_of,
)
from newsletter_site.tokens.scopes import open_to
from newsletter_site.tokens.token_state import standing_of
from subscribers.desk_access import desk_page, operator_of
from subscribers.links.see_other import see_other

# For how long a token may be made; none is the last, because it has to be chosen.
DAYS = {"30": "30 days", "90": "90 days", "365": "a year", "": "without an end"}
USUAL_DAYS = "90"
MOST_SHOWN = 200

View = TypeVar("View", bound=Callable[..., HttpResponse])


def _for_staff(view: View) -> View:
    """Who is not signed in is led to the login and back."""
    return staff_member_required(view, login_url="admin:login")


@_for_staff
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """GET shows the tokens and a form, POST makes one and shows it, this once."""
    if request.method != "POST":
        return _page(request)
    try:
        form = _form(request.POST.get("form", ""))
        refuse_a_second_post(form)
        if error := identity_error(request, request.POST.get("proof", "")):
            raise TokenRefusedError("proof", error)
        made = make(
            request.user,
            request.POST.get("name", ""),
            request.POST.getlist("scope"),
            expires_days=_days(request.POST.get("days", USUAL_DAYS)),
            form=form,
        )
    except TokenRefusedError as error:
        return _page(request, refused=error)
    return _page(request, made=made)


@_for_staff
@require_http_methods(["GET", "HEAD", "POST"])
def revoke_token(request: HttpRequest, token: int) -> HttpResponse:
    """GET asks, POST has it not be accepted any more. Pressing twice is pressing once."""
    row = tokens_of(request.user).filter(pk=token).first()
    if row is None:
        raise Http404("There is no token of this number.")
    if request.method != "POST":
        standing = standing_of(row)
        return desk_page(request, "tokens/revoke.html", {"token": row, "standing": standing})
    revoke(token, operator_of(request), among=tokens_of(request.user))
    messages.success(request, f"“{row.name}” is not accepted any more.")
    return see_other(reverse("tokens"))


def _page(
    request: HttpRequest, *, made: Made | None = None, refused: TokenRefusedError | None = None
) -> HttpResponse:
    now = database_time()
    again = request.POST if refused else {}
    chosen = set(request.POST.getlist("scope")) if refused else set()
    page = desk_page(
        request,
        "tokens/tokens.html",
        {
            "made": made,
            "refused": refused,
            "rows": [
                (token, standing_of(token, now)) for token in tokens_of(request.user)[:MOST_SHOWN]
            ],
            "scopes": [(scope, scope.name in chosen) for scope in open_to(request.user)],
            "days": [
                (value, words, value == again.get("days", USUAL_DAYS))
                for value, words in DAYS.items()
            ],
            "name": again.get("name", ""),
            "form": uuid.uuid4(),
        },
        status=200,
    )
    if made is not None:
        page.headers["Cache-Control"] = "no-store"
    return page


def _days(said: str) -> int | None:
    if said not in DAYS:
        raise TokenRefusedError("days", "Choose for how long it is good.")
    return int(said) if said else None


def _form(said: str) -> uuid.UUID:
    try:
        return uuid.UUID(said)
    except ValueError:
        raise TokenRefusedError("form", "The form came without its key; send it again.") from None
