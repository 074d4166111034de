"""
The fingerprint of a posted form: tells the same form from another one under the same key.

It covers the method, the path and the fields that matter. What the author did not write (the
CSRF token, the key itself) is left out because no view names it among its fields.

Forms and calls are about people too, a test letter about an address, and what is known of them is
soon guessed: what is kept is made under a key, so that nobody can try names and addresses against
it once somebody was erased.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings
from django.core.files.base import File
from django.http import HttpRequest


@dataclass(frozen=True)
class UploadedContent:
    """A file that came with the form: its name and the SHA-256 of its bytes, in hexadecimal."""

    name: str
    sha256: str


Value = str | UploadedContent


def fingerprint(method: str, path: str, fields: Mapping[str, Sequence[Value]]) -> bytes:
    """
    Return 32 bytes that are equal for equal content and differ for any other.

    Line ends are normalised, because a browser sends CRLF where a script sends LF. JSON keeps
    the parts apart: no value, however it is written, can pass for two, or for another field.
    """
    content = [
        method.upper(),
        path,
        [[name, [_canonical(value) for value in fields[name]]] for name in sorted(fields)],
    ]
    encoded = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(encoded.encode("ascii")).digest()


def fingerprint_of(request: HttpRequest, names: Sequence[str]) -> bytes:
    """Return the fingerprint of a posted form, over its text fields and files called `names`."""
    fields: dict[str, list[Value]] = {
        name: [
            *request.POST.getlist(name),
            *(_content_of(file) for file in request.FILES.getlist(name)),
        ]
        for name in names
    }
    return fingerprint(request.method or "", request.path, fields)


def fingerprints_of(request: HttpRequest, names: Sequence[str]) -> list[bytes]:
    """Of a posted form: the fingerprint to write, and then each that may have been written."""
    return keyed(fingerprint_of(request, names))


def keyed(fingerprint: bytes) -> list[bytes]:
    """
    A fingerprint as it is kept where nobody is to guess what it is of: the one to write, under the
    key of today, and then as it was written under each earlier one (`SECRET_KEY_FALLBACKS`).
    """
    return [
        hashlib.blake2b(fingerprint, key=_key(secret), digest_size=32).digest()
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    ]


@lru_cache(maxsize=8)
def _key(secret: str) -> bytes:
    """A key for this purpose alone, whatever the length of the secret."""
    return hashlib.blake2b(secret.encode(), digest_size=32, person=b"fingerprint").digest()


def _canonical(value: Value) -> object:
    match value:
        case UploadedContent(name, sha256):
            return {"name": name, "sha256": sha256}
        case str():
            return re.sub("\r\n?", "\n", value)


def _content_of(file: File[bytes]) -> UploadedContent:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)  # the form and the work read the file from its start
    return UploadedContent(file.name or "", digest.hexdigest())
