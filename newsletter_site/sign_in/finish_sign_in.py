"""Start the session of an author who proved who they are, and remember how."""

import time
from dataclasses import dataclass

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from newsletter_site.models import User
from newsletter_site.sign_in import known_browser
from newsletter_site.sign_in.sign_in_methods import SignInMethod, two_step_methods
from subscribers.client_network import network_of
from subscribers.record_activity import record_activity

BACKEND = "newsletter_site.one_query_permissions.PermissionsBackend"
# The session of a visitor who has not signed in yet ends after this time.
TEN_MINUTES_S = 600

# Under these keys, the session stores when the author signed in, and the method that counts as two
# steps.
_SIGNED_IN_AT = "sign-in.at"
_TWO_STEPS_BY = "sign-in.two-steps-by"


@dataclass(frozen=True, slots=True)
class Proof:
    """How an author proved who they are."""

    method: SignInMethod = SignInMethod.PASSWORD
    is_two_steps: bool = False
    is_recovery: bool = False


def finish_sign_in(request: HttpRequest, author: User, proof: Proof, go_to: str) -> HttpResponse:
    """Start the author's session, and redirect to `go_to`, an address of this site."""
    is_known = known_browser.read_browser_number(request, author.get_username())
    # `login` gives the session its end, which replaces that of `expire_soon`.
    login(request, author, backend=BACKEND)
    request.session[_SIGNED_IN_AT] = time.time()
    if proof.is_two_steps:
        count_as_two_steps(request, proof.method)
    if proof.is_recovery or not is_known:
        record_activity(
            "sign_in",
            author.pk,
            author,
            new_browser=not is_known,
            recovery_code=proof.is_recovery,
            method=proof.method,
            network=network_of(request) or "unknown",
        )
    response = HttpResponseRedirect(go_to)
    known_browser.set_cookie(response, author.get_username())
    return response


def expire_soon(request: HttpRequest) -> None:
    """Let a session in which nobody is signed in end after ten minutes."""
    if not request.user.is_authenticated:
        request.session.set_expiry(TEN_MINUTES_S)


def signed_in_recently(request: HttpRequest) -> bool:
    """Return whether this session began less than ten minutes ago."""
    age_s = time.time() - float(request.session.get(_SIGNED_IN_AT, 0))
    return 0 <= age_s < TEN_MINUTES_S


def count_as_two_steps(request: HttpRequest, method: SignInMethod) -> None:
    """Let this session count as two-step sign-in, because of `method`."""
    request.session[_TWO_STEPS_BY] = method


def recount_two_steps(request: HttpRequest) -> None:
    """Let a removed method no longer make this session two-step."""
    if request.session.get(_TWO_STEPS_BY) not in (None, *two_step_methods(request.user)):
        del request.session[_TWO_STEPS_BY]


def has_two_steps(request: HttpRequest) -> bool:
    """Return whether this session began with a passkey or an equal method."""
    return _TWO_STEPS_BY in request.session
