"""Requests to create and use a passkey, and checks of the responses (WebAuthn).

The functions import fido2 when they are called. It takes 20 MB, which workers do not need.
"""

import ipaddress
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from django.conf import settings

if TYPE_CHECKING:
    from fido2.server import Fido2Server
    from fido2.webauthn import AuthenticationResponse

R = TypeVar("R")

LONGEST_RESPONSE = 20_000
LONGEST_ID = 1023  # the limit of WebAuthn
LONGEST_KEY = 5_000


class ResponseRefusedError(Exception):
    """The browser's response is damaged, or does not fit the request."""


@dataclass(frozen=True, slots=True)
class NewPasskey:
    """The public part of a passkey that a device created."""

    credential_id: bytes
    public_key: bytes
    sign_count: int


def are_possible() -> bool:
    """Return whether browsers allow passkeys at SITE_URL: its host must be a name."""
    with suppress(ValueError):
        ipaddress.ip_address(urlsplit(settings.SITE_URL).hostname or "")
        return False
    return True


def ask_to_create(
    user_handle: bytes, name: str, known: Iterable[bytes]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options for the browser, and the state for `check_created`.

    `known` are the ids of the passkeys that the author has already. A device that has one of them
    creates no other.
    """
    from fido2.webauthn import ResidentKeyRequirement, UserVerificationRequirement

    options, state = _server().register_begin(
        {"id": user_handle, "name": name, "displayName": name},  # type: ignore[arg-type]
        [{"type": "public-key", "id": one} for one in known],  # type: ignore[misc]
        ResidentKeyRequirement.REQUIRED,
        UserVerificationRequirement.REQUIRED,
    )
    return dict(options.public_key), state


def check_created(state: dict[str, Any], response: str) -> NewPasskey:
    """Return the passkey of a response, or raise `ResponseRefusedError`."""
    from fido2 import cbor

    data = _checked(lambda: _server().register_complete(state, _parsed(response)))
    credential = data.credential_data
    if credential is None:
        raise ResponseRefusedError
    key = cbor.encode(credential.public_key)
    if len(credential.credential_id) > LONGEST_ID or len(key) > LONGEST_KEY:
        raise ResponseRefusedError
    return NewPasskey(credential.credential_id, key, data.counter)


def ask_to_sign_in() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options for the browser, and the state for `check_signature`."""
    from fido2.webauthn import UserVerificationRequirement

    options, state = _server().authenticate_begin(
        user_verification=UserVerificationRequirement.REQUIRED
    )
    return dict(options.public_key), state


def read_credential_id(response: str) -> bytes:
    """Return the id of the passkey in a response, or raise `ResponseRefusedError`."""
    return _checked(lambda: _read(response)).raw_id


def check_signature(
    state: dict[str, Any], public_key: bytes, user_handle: bytes, response: str
) -> int:
    """Return the device's count of signatures, or raise `ResponseRefusedError`.

    Besides the signature, the response must be for this site and this request, and the device must
    have verified the author by fingerprint, face or PIN.
    """
    from fido2 import cbor
    from fido2.cose import CoseKey
    from fido2.webauthn import Aaguid, AttestedCredentialData

    given = _checked(lambda: _read(response))
    key = CoseKey.parse(cast("dict[int, Any]", cbor.decode(public_key)))
    credential = AttestedCredentialData.create(Aaguid.NONE, given.raw_id, key)
    _checked(lambda: _server().authenticate_complete(state, [credential], given))
    if given.response.user_handle != user_handle:
        raise ResponseRefusedError
    return given.response.authenticator_data.counter


def _server() -> "Fido2Server":
    from fido2.server import Fido2Server

    site = urlsplit(settings.SITE_URL)
    origin = f"{site.scheme}://{site.netloc.lower()}"
    return Fido2Server(
        {"id": site.hostname or "", "name": "Homing"},  # type: ignore[arg-type]
        verify_origin=lambda given: given == origin,
    )


def _read(response: str) -> "AuthenticationResponse":
    from fido2.webauthn import AuthenticationResponse

    return AuthenticationResponse.from_dict(_parsed(response))


def _parsed(response: str) -> dict[str, Any]:
    if len(response) > LONGEST_RESPONSE:
        raise ResponseRefusedError
    parsed = json.loads(response)
    if not isinstance(parsed, dict):
        raise ResponseRefusedError
    return parsed


def _checked(check: Callable[[], R]) -> R:
    """Return the result of a check of fido2, which raises many kinds of errors."""
    try:
        return check()
    except Exception as error:
        raise ResponseRefusedError from error
