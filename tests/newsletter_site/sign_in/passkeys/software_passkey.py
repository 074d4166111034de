"""A device with one passkey, which answers as a browser does."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from fido2 import cbor
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode

SITE = "https://letter.example.org"
PRESENT, VERIFIED, WITH_KEY = 0x01, 0x04, 0x40


class SoftwarePasskey:
    """A passkey. `flags` and `origin` can be changed to those of a bad device or page."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.credential_id = os.urandom(32)
        self.count = 0
        self.flags = PRESENT | VERIFIED
        self.origin = SITE
        self.rp_id = "letter.example.org"
        self.user_handle = b""

    def create(self, options: dict[str, Any]) -> str:
        """Answer a request to create a passkey."""
        self.user_handle = websafe_decode(options["user"]["id"])
        key = cbor.encode(ES256.from_cryptography_key(self.key.public_key()))
        length = len(self.credential_id).to_bytes(2, "big")
        data = self._data(self.flags | WITH_KEY) + bytes(16) + length + self.credential_id + key
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        return self._answer(
            clientDataJSON=self._client_data("webauthn.create", options),
            attestationObject=attestation,
        )

    def sign(self, options: dict[str, Any]) -> str:
        """Answer a request to sign in."""
        data, client_data = self._data(self.flags), self._client_data("webauthn.get", options)
        signed = data + hashlib.sha256(client_data).digest()
        return self._answer(
            clientDataJSON=client_data,
            authenticatorData=data,
            signature=self.key.sign(signed, ec.ECDSA(SHA256())),
            userHandle=self.user_handle,
        )

    def _data(self, flags: int) -> bytes:
        rp_id_hash = hashlib.sha256(self.rp_id.encode()).digest()
        return rp_id_hash + bytes([flags]) + self.count.to_bytes(4, "big")

    def _client_data(self, kind: str, options: dict[str, Any]) -> bytes:
        given = {"type": kind, "challenge": options["challenge"], "origin": self.origin}
        return json.dumps(given).encode()

    def _answer(self, **response: bytes) -> str:
        own_id = websafe_encode(self.credential_id)
        parts = {name: websafe_encode(value) for name, value in response.items()}
        return json.dumps({"id": own_id, "rawId": own_id, "type": "public-key", "response": parts})
