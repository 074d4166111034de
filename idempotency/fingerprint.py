"""Keyed fingerprints of posts.

Without the key, an attacker cannot compare the fingerprints with guessed content.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

from django.conf import settings
from django.core.files.base import File
from django.http import HttpRequest


@dataclass(frozen=True)
class FileDigest:
    """A posted file: its name, and the SHA-256 of its bytes in hexadecimal."""

    name: str
    sha256: str


Value = str | FileDigest


def content_hash(method: str, path: str, fields: Mapping[str, Sequence[Value]]) -> bytes:
    """Hash the content to 32 bytes. Line ends CRLF and LF give the same hash."""
    content = [
        method.upper(),
        path,
        [[name, [_canonical(value) for value in fields[name]]] for name in sorted(fields)],
    ]
    encoded = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(encoded.encode("ascii")).digest()


def form_hash(request: HttpRequest, names: Sequence[str]) -> bytes:
    """Return the content hash of a posted form's text fields and files in `names`."""
    fields: dict[str, list[Value]] = {
        name: [
            *request.POST.getlist(name),
            *(_digest(file) for file in request.FILES.getlist(name)),
        ]
        for name in names
    }
    return content_hash(request.method or "", request.path, fields)


def keyed_fingerprints(content: bytes) -> list[bytes]:
    """Return the fingerprint to save, then one for each of SECRET_KEY_FALLBACKS."""
    return [
        hashlib.blake2b(content, key=_key(secret), digest_size=32).digest()
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    ]


@lru_cache(maxsize=8)
def _key(secret: str) -> bytes:
    """Derive a key for this purpose only, from a secret of any length."""
    return hashlib.blake2b(secret.encode(), digest_size=32, person=b"fingerprint").digest()


def _canonical(value: Value) -> object:
    return re.sub("\r\n?", "\n", value) if isinstance(value, str) else asdict(value)


def _digest(file: File[bytes]) -> FileDigest:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)  # the form and the work read the file from its start
    return FileDigest(file.name or "", digest.hexdigest())
