"""The pages where authors see, add, rename and delete their passkeys."""

import json
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from newsletter_site.models import LONGEST_NAME, Passkey
from newsletter_site.sign_in.finish_sign_in import count_as_two_steps, recount_two_steps
from newsletter_site.sign_in.organisation import organisation_accounts
from newsletter_site.sign_in.passkeys import passkey_store, webauthn
from newsletter_site.sign_in.passkeys.challenge_in_session import (
    keep_challenge,
    read_challenge,
    take_challenge,
)
from newsletter_site.sign_in.reauthenticate import identity_error
from newsletter_site.sign_in.sign_in_methods import SignInMethod
from subscribers.links.see_other import see_other


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def passkeys_page(request: HttpRequest) -> HttpResponse:
    """Show the author's passkeys. The posted field `do` names an action."""
    actions = {"begin": _start_to_add, "finish": _finish_to_add, "unlink": _unlink}
    if action := actions.get(request.POST.get("do", "")):
        return action(request)
    if "again" in request.GET:
        take_challenge(request)
    return _page(request)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def passkey_page(request: HttpRequest, passkey: int) -> HttpResponse:
    """Rename or delete one passkey, after the author typed the password or a code."""
    author: Any = request.user
    row = author.passkeys.filter(pk=passkey).first()
    if row is None:
        raise Http404(_("This passkey does not exist."))
    if request.method != "POST":
        return _one_page(request, row)
    do, name = request.POST.get("do", ""), passkey_store.named(request.POST.get("name", ""))
    if do == "rename" and not name:
        return _one_page(request, row, _("Nothing was changed. Give the passkey a name."))
    if error := identity_error(request):
        return _one_page(request, row, "{} {}".format(error, _("Nothing was changed.")), name)
    if do == "rename":
        if not passkey_store.rename(author, row, name):
            raise Http404(_("This passkey does not exist."))
        messages.success(request, _("The passkey is now called “{name}”.").format(name=name))
    elif do == "delete":
        if not passkey_store.remove(author, row):
            return _one_page(request, row, _last_method())
        _keep_this_session(request)
        messages.success(request, _("“{name}” no longer signs you in.").format(name=row.name))
    return see_other(reverse("passkeys"))


def _start_to_add(request: HttpRequest) -> HttpResponse:
    author: Any = request.user
    name = passkey_store.named(request.POST.get("name", ""))
    if not name:
        return _page(request, _("Nothing was added. Give the passkey a name."))
    if error := identity_error(request):
        return _page(request, "{} {}".format(error, _("Nothing was added.")), name)
    ids = [bytes(one) for one in author.passkeys.values_list("credential_id", flat=True)]
    if len(ids) >= passkey_store.MOST_PASSKEYS:
        text = _("You have {most} passkeys. Delete one before you add another.")
        return _page(request, text.format(most=passkey_store.MOST_PASSKEYS))
    options, state = webauthn.ask_to_create(author.pk.bytes, author.get_username(), ids)
    keep_challenge(
        request,
        for_author=str(author.pk),
        session_hash=author.get_session_auth_hash(),
        name=name,
        state=state,
        options=json.dumps(options),
    )
    return see_other(reverse("passkeys"))


def _finish_to_add(request: HttpRequest) -> HttpResponse:
    author: Any = request.user
    kept = _fitting(request, take_challenge(request))
    if not kept:
        return _page(
            request,
            _("No passkey was added. Finish within five minutes, in the browser where you began."),
        )
    name = kept["name"]
    if not passkey_store.add(author, name, kept["state"], request.POST.get("credential", "")):
        refused = _("No passkey was added, because this site could not check it. Try again.")
        return _page(request, refused, name)
    _keep_this_session(request)
    count_as_two_steps(request, SignInMethod.PASSKEY)
    messages.success(request, _("“{name}” can now sign you in.").format(name=name))
    return see_other(reverse("passkeys"))


def _unlink(request: HttpRequest) -> HttpResponse:
    if error := identity_error(request):
        return _page(request, "{} {}".format(error, _("Nothing was changed.")))
    if not organisation_accounts.unlink(request.user):
        return _page(request, _last_method())
    _keep_this_session(request)
    messages.success(request, _("Your organisation’s account is no longer linked."))
    return see_other(reverse("passkeys"))


def _keep_this_session(request: HttpRequest) -> None:
    """Keep this session signed in, although all other sessions have ended."""
    author: Any = request.user
    update_session_auth_hash(request, author)
    recount_two_steps(request)


def _fitting(request: HttpRequest, kept: dict[str, Any]) -> dict[str, Any]:
    """Return the kept state if it is of this author with the same password."""
    author: Any = request.user
    is_ours = kept.get("for_author") == str(author.pk)
    return kept if is_ours and kept["session_hash"] == author.get_session_auth_hash() else {}


def _last_method() -> str:
    return _(
        "Nothing was removed: without it you could no longer sign in. First add another passkey."
    )


def _page(request: HttpRequest, error: str = "", name: str = "") -> HttpResponse:
    author: Any = request.user
    kept = {} if error else _fitting(request, read_challenge(request))
    context = {
        "error": error,
        "are_possible": webauthn.are_possible(),
        "site_url": settings.SITE_URL,
        "passkeys": author.passkeys.order_by("created_at", "pk"),
        "kept": kept,
        "name": name,
        "longest_name": LONGEST_NAME,
        "account": organisation_accounts.linked_account(author),
        "organisation": settings.OIDC_NAME,
    }
    return render(request, "sign_in/passkeys.html", context)


def _one_page(
    request: HttpRequest, passkey: Passkey, error: str = "", name: str = ""
) -> HttpResponse:
    context = {
        "passkey": passkey,
        "error": error,
        "name": name or passkey.name,
        "longest_name": LONGEST_NAME,
    }
    return render(request, "sign_in/passkey.html", context)
