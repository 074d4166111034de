"""The page of API tokens.

To create a token, the user types the password or a code. The token is shown only once.
"""

import uuid

from django.contrib import messages
from django.contrib.admin.views.decorators import staff_member_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from delivery.interface import database_time
from newsletter_site.sign_in.reauthenticate import identity_error
from newsletter_site.tokens import api_tokens
from newsletter_site.tokens.api_tokens import NewToken, TokenRefusedError
from subscribers.desk_frame import desk_page, user_id_of
from subscribers.links.see_other import see_other

# The choices of days until a token expires. Users must choose explicitly that a token never
# expires.
DAYS = {
    "30": gettext_lazy("30 days"),
    "90": gettext_lazy("90 days"),
    "365": gettext_lazy("1 year"),
    "": gettext_lazy("No expiry"),
}
DEFAULT_DAYS = "90"
MOST_SHOWN = 200


@staff_member_required
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """Show the tokens and a form; on POST, create a token and show it once."""
    if request.method != "POST":
        return _page(request)
    try:
        form_key = _form_key(request.POST.get("form", ""))
        if error := identity_error(request):
            raise TokenRefusedError("password_or_code", error)
        new = api_tokens.create_token(
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
    """Ask for confirmation; on POST, revoke the token. A repeated POST is safe."""
    row = api_tokens.visible_tokens(request.user).filter(pk=token).first()
    if row is None:
        raise Http404(_("This token does not exist."))
    if request.method != "POST":
        state = api_tokens.describe_state(row, database_time())
        return desk_page(request, "tokens/revoke.html", {"token": row, "state": state})
    api_tokens.revoke(token, user_id_of(request), among=api_tokens.visible_tokens(request.user))
    messages.success(request, _("“{name}” was revoked.").format(name=row.name))
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
            (token, api_tokens.is_accepted(token, now), api_tokens.describe_state(token, now))
            for token in api_tokens.visible_tokens(request.user)[:MOST_SHOWN]
        ],
        "scopes": api_tokens.scopes_allowed_for(request.user),
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
        raise TokenRefusedError("days", _("Choose when the token expires."))
    return int(posted) if posted else None


def _form_key(posted: str) -> uuid.UUID:
    try:
        return uuid.UUID(posted)
    except ValueError:
        sentence = _("The form was incomplete. Reload the page and send it again.")
        raise TokenRefusedError("form", sentence) from None
