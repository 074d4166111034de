"""Sign-in with a passkey: what the browser needs, and the check of its response."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from newsletter_site.sign_in.finish_sign_in import Proof, finish_sign_in
from newsletter_site.sign_in.passkeys import passkey_store, webauthn
from newsletter_site.sign_in.passkeys.challenge_in_session import keep_challenge, take_challenge
from newsletter_site.sign_in.sign_in_methods import SignInMethod
from newsletter_site.sign_in.sign_in_view import address_after_sign_in, back_to_sign_in
from newsletter_site.sign_in.throttle import count_failure, may_try


@never_cache
@require_POST
def passkey_options(request: HttpRequest) -> HttpResponse:
    """Return what the browser needs to ask for a passkey. Any visitor gets the same."""
    options, state = webauthn.ask_to_sign_in()
    keep_challenge(request, for_sign_in=state)
    return JsonResponse(options)


@never_cache
@require_POST
def passkey_sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in the author whose passkey signed the request.

    A refused passkey counts as a failed sign-in of its author. For every refusal the page is the
    same, so it does not show which passkeys and authors exist.
    """
    response = request.POST.get("credential", "")
    state = take_challenge(request).get("for_sign_in", {})
    try:
        credential_id = webauthn.read_credential_id(response)
    except webauthn.ResponseRefusedError:
        credential_id = b""
    author = passkey_store.author_of(credential_id)
    name = author.get_username() if author else f"passkey {credential_id.hex()}"
    if not may_try(request, name):
        return HttpResponse(status=429)
    author = passkey_store.check(credential_id, state, response)
    go_to = address_after_sign_in(request)
    if author is None:
        count_failure(request, name)
        refused = _(
            "The passkey was not accepted. Try again. If it is refused again, sign in with your "
            "password and add a new passkey."
        )
        return back_to_sign_in(request, refused, go_to)
    return finish_sign_in(request, author, Proof(SignInMethod.PASSKEY, is_two_steps=True), go_to)
