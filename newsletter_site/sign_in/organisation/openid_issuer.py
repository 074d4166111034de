"""The conversation with the operator's OpenID Connect issuer, through Authlib.

Authlib makes state, nonce and the secret of PKCE, and checks them and the signature. The views
import this module when they need it: Authlib takes 25 MB, which workers do not need.
"""

import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from authlib.integrations.base_client.errors import MismatchingStateError
from authlib.integrations.django_client import DjangoIntegration, DjangoOAuth2App
from authlib.integrations.requests_client import OAuth2Session
from django.conf import settings
from django.http import HttpRequest
from requests import Response

R = TypeVar("R")

NAME = "organisation"
WELL_KNOWN = "/.well-known/openid-configuration"
# No answer takes longer, and no answer is larger.
DEADLINE_S = 10.0
LARGEST_ANSWER = 1_000_000
# How far the issuer's clock may differ from ours.
CLOCK_SKEW_S = 60
# Signatures with a private key. The issuer's own list may also have signatures with a password.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]


class IssuerError(Exception):
    """The issuer did not answer, or its answer proves nothing."""


class SignInExpiredError(Exception):
    """The visitor came back too late, or with another browser."""


class SignInRefusedError(Exception):
    """The issuer refused the sign-in, or the visitor cancelled it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """An account at the issuer. `email` is empty unless the issuer verified it."""

    issuer: str
    subject: str
    email: str


class _Session(OAuth2Session):
    """HTTP calls with a deadline and a largest answer, without redirects."""

    def request(self, method: str, url: str, *args: Any, **options: Any) -> Response:
        if not url.startswith("https://") and settings.OIDC_ISSUER.startswith("https://"):
            raise IssuerError(f"the issuer named an address without https: {url}")
        until = time.monotonic() + DEADLINE_S
        options |= {"timeout": DEADLINE_S, "stream": True, "allow_redirects": False}
        options["headers"] = {**(options.get("headers") or {}), "Accept-Encoding": "identity"}
        response: Response = super().request(method, url, *args, **options)
        with response.raw as connection:
            body = bytearray()
            while part := connection.read1(65_536):
                body += part
                if len(body) > LARGEST_ANSWER or time.monotonic() > until:
                    raise IssuerError("an answer of the issuer is too large or too slow")
        response.raw = io.BytesIO(body)
        return response


class _Client(DjangoOAuth2App):
    client_cls = _Session


def address_to_sign_in(request: HttpRequest, come_back_to: str) -> str:
    """Return the issuer's address for this visitor, or raise `IssuerError`.

    The session keeps state, nonce and the secret of PKCE.
    """
    address: str = _trusted(lambda: _client().authorize_redirect(request, come_back_to).url)
    if not address.startswith(("https://", settings.OIDC_ISSUER)):
        raise IssuerError(f"the issuer named an address without https: {address}")
    return address


def read_identity(request: HttpRequest) -> Identity:
    """Exchange the code in the address for the visitor's identity.

    Raise `SignInExpiredError`, `SignInRefusedError` or `IssuerError`.
    """
    if "error" in request.GET:
        raise SignInRefusedError(request.GET["error"])
    try:
        claims = _trusted(lambda: _read_claims(request))
    except MismatchingStateError as error:
        raise SignInExpiredError from error
    email = claims.get("email") if claims.get("email_verified") is True else ""
    return Identity(settings.OIDC_ISSUER, claims["sub"], email if isinstance(email, str) else "")


def _read_claims(request: HttpRequest) -> dict[str, Any]:
    client = _client()
    metadata = client.load_server_metadata()
    token = client.authorize_access_token(
        request,
        leeway=CLOCK_SKEW_S,
        claims_options={
            "iss": {"essential": True, "value": metadata["issuer"]},
            "aud": {"essential": True, "value": settings.OIDC_CLIENT_ID},
        },
    )
    claims: dict[str, Any] = dict(token["userinfo"])
    # Some issuers put the address only into the answer of this endpoint.
    if "email" not in claims and "userinfo_endpoint" in metadata:
        more = client.userinfo(token=token)
        if more["sub"] == claims["sub"]:
            claims = {**more, **claims}
    return claims


def _client() -> Any:
    """Return a client that knows the issuer's current addresses."""
    client = _Client(
        DjangoIntegration(NAME),
        NAME,
        client_id=settings.OIDC_CLIENT_ID,
        client_secret=settings.OIDC_CLIENT_SECRET,
        server_metadata_url=settings.OIDC_ISSUER + WELL_KNOWN,
        client_kwargs={"scope": "openid email", "code_challenge_method": "S256"},
    )
    metadata = client.load_server_metadata()
    if str(metadata.get("issuer")).rstrip("/") != settings.OIDC_ISSUER:
        raise IssuerError("the issuer calls itself by another address than OIDC_ISSUER")
    metadata["id_token_signing_alg_values_supported"] = ALGORITHMS
    methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    if "client_secret_basic" not in methods:
        client.client_kwargs["token_endpoint_auth_method"] = "client_secret_post"  # noqa: S105
    return client


def _trusted(ask: Callable[[], R]) -> R:
    """Return the result, or raise `IssuerError` for any error of Authlib or HTTP."""
    try:
        return ask()
    except (IssuerError, MismatchingStateError):
        raise
    except Exception as error:
        raise IssuerError(f"{type(error).__name__}: {error}") from error
