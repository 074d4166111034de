"""The desk's page of tokens. A new one is shown only once, and after a password or a code."""

import uuid

from django.contrib import messages
from django.contrib.admin.views.decorators import staff_member_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from delivery.interface import database_time
from newsletter_site.sign_in.reauthenticate import identity_error
from newsletter_site.tokens import manage
from newsletter_site.tokens.manage import NewToken, TokenRefusedError
from subscribers.desk_access import desk_page, user_id_of
from subscribers.links.see_other import see_other

# How long a token may last; the author has to choose the last one.
DAYS = {"30": "30 days", "90": "90 days", "365": "a year", "": "without an end"}
DEFAULT_DAYS = "90"
MOST_SHOWN = 200


@staff_member_required
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """GET shows the tokens and a form; POST makes a token and shows it this once."""
    if request.method != "POST":
        return _page(request)
    try:
        form_key = _form_key(request.POST.get("form", ""))
        manage.refuse_second_post(form_key)
        if error := identity_error(request):
            raise TokenRefusedError("password_or_code", error)
        new = manage.create_token(
            request.user,
            request.POST.get("name", ""),
            request.POST.getlist("scope"),
            expires_days=_days(request.POST.get("days", DEFAULT_DAYS)),
            form_key=form_key,
        )
    except TokenRefusedError as error:
        return _page(request, refused=error)
    return _page(request, new=new)


@staff_member_required
@require_http_methods(["GET", "HEAD", "POST"])
def revoke_token(request: HttpRequest, token: int) -> HttpResponse:
    """GET asks for confirmation, POST revokes. Pressing twice is safe."""
    row = manage.visible_tokens(request.user).filter(pk=token).first()
    if row is None:
        raise Http404("There is no token of this number.")
    if request.method != "POST":
        state = manage.describe_state(row, database_time())
        return desk_page(request, "tokens/revoke.html", {"token": row, "state": state})
    manage.revoke(token, user_id_of(request), among=manage.visible_tokens(request.user))
    messages.success(request, f"“{row.name}” is not accepted any more.")
    return see_other(reverse("tokens"))


def _page(
    request: HttpRequest, *, new: NewToken | None = None, refused: TokenRefusedError | None = None
) -> HttpResponse:
    now = database_time()
    posted = request.POST if refused else {}
    context = {
        "new": new,
        "refused": refused,
        "rows": [
            (token, manage.is_accepted(token, now), manage.describe_state(token, now))
            for token in manage.visible_tokens(request.user)[:MOST_SHOWN]
        ],
        "scopes": manage.scopes_allowed_for(request.user),
        "chosen_scopes": request.POST.getlist("scope") if refused else [],
        "days": DAYS.items(),
        "chosen_days": posted.get("days", DEFAULT_DAYS),
        "name": posted.get("name", ""),
        "form_key": uuid.uuid4(),
    }
    page = desk_page(request, "tokens/tokens.html", context)
    if new is not None:
        page.headers["Cache-Control"] = "no-store"
    return page


def _days(posted: str) -> int | None:
    if posted not in DAYS:
        raise TokenRefusedError("days", "Choose for how long it is good.")
    return int(posted) if posted else None


def _form_key(posted: str) -> uuid.UUID:
    try:
        return uuid.UUID(posted)
    except ValueError:
        raise TokenRefusedError("form", "The form came without its key; send it again.") from None
