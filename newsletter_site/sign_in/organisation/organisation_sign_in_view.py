"""Sign-in with the organisation's account: to the issuer, and back."""

import logging

from django.conf import settings
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from delivery.monitoring.metrics_storage import metrics_buffer
from newsletter_site.operations.metrics.site_metrics import SIGN_INS, SignInResult
from newsletter_site.sign_in.finish_sign_in import TEN_MINUTES_S, Proof, expire_soon
from newsletter_site.sign_in.organisation.organisation_accounts import NoAuthor, find_author
from newsletter_site.sign_in.sign_in_methods import SignInMethod
from newsletter_site.sign_in.sign_in_view import address_after_sign_in, after_first_step

logger = logging.getLogger(__name__)

_KEY = "organisation.go-to"


@never_cache
@require_safe
def organisation_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect the visitor to the issuer."""
    from newsletter_site.sign_in.organisation import openid_issuer

    if not settings.OIDC_ISSUER:
        raise Http404
    expire_soon(request)
    request.session[_KEY] = signing.dumps(address_after_sign_in(request), salt=_KEY)
    try:
        return HttpResponseRedirect(openid_issuer.address_to_sign_in(request, _come_back_to()))
    except openid_issuer.IssuerError as error:
        return _no_answer(request, error)


@never_cache
@require_safe
def organisation_return(request: HttpRequest) -> HttpResponse:
    """Sign in the author whom the issuer identified from the issuer."""
    from newsletter_site.sign_in.organisation import openid_issuer

    if not settings.OIDC_ISSUER:
        raise Http404
    try:
        # The note is deleted, so one visit to the issuer comes back once.
        note = request.session.pop(_KEY, "")
        go_to = signing.loads(note, salt=_KEY, max_age=TEN_MINUTES_S)
        identity = openid_issuer.read_identity(request)
    except (signing.BadSignature, openid_issuer.SignInExpiredError):
        return _refused(
            request,
            "expired",
            _("The sign-in took longer than ten minutes or began in another browser. Start again."),
            status=400,
        )
    except openid_issuer.SignInRefusedError:
        return _refused(
            request,
            "cancelled",
            _("{name} did not sign you in, or you cancelled.").format(name=settings.OIDC_NAME),
        )
    except openid_issuer.IssuerError as error:
        return _no_answer(request, error)
    author = find_author(identity.issuer, identity.subject, identity.email)
    if isinstance(author, NoAuthor):
        return _refused(request, author.value, _no_author(author))
    proof = Proof(SignInMethod.ORGANISATION, is_two_steps=settings.OIDC_IS_TWO_STEP)
    return after_first_step(request, author, proof, go_to)


def _come_back_to() -> str:
    return f"{settings.SITE_URL}{reverse('organisation_return')}"


def _no_author(reason: NoAuthor) -> str:
    match reason:
        case NoAuthor.UNVERIFIED:
            return _(
                "{name} did not confirm your email address, so this site cannot find your "
                "account. Ask the people who run {name}."
            ).format(name=settings.OIDC_NAME)
        case NoAuthor.AMBIGUOUS:
            return _(
                "Several accounts here have your email address. Ask the operator of this site to "
                "give each account its own address."
            )
        case NoAuthor.UNKNOWN:
            return _(
                "{name} knows you, but no account that may sign in here belongs to you. Ask the "
                "people who write this newsletter to invite you, or to enable your account."
            ).format(name=settings.OIDC_NAME)


def _no_answer(request: HttpRequest, error: Exception) -> HttpResponse:
    logger.error("the OpenID Connect issuer cannot be used: %s", error)
    sentence = _(
        "{name} did not answer as it should. Try again in a few minutes, or sign in another way."
    ).format(name=settings.OIDC_NAME)
    return _refused(request, "no answer", sentence, status=502)


def _refused(request: HttpRequest, why: str, sentence: str, status: int = 403) -> HttpResponse:
    metrics_buffer.add(SIGN_INS, result=SignInResult.FAILED)
    logger.warning("a sign-in with the organisation’s account failed: %s", why)
    context = {"sentence": sentence, "name": settings.OIDC_NAME}
    return render(request, "sign_in/organisation_refused.html", context, status=status)
