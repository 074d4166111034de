"""
What a receipt says, as text that has one spelling, and the signature under it. Pure.

The text is JSON with its names in order and no blanks, so that a receipt that was indented or
wrapped on its way is spelled as it was signed again before it is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

SALT = "homing.receipt"
LONGEST = 20_000


class NotAReceiptError(ValueError):
    """What was given is no receipt at all; the sentence says what was found."""


@dataclass(frozen=True, slots=True)
class Signed:
    """The text of a receipt, and what stands under it."""

    text: str
    signature: str

    @property
    def facts(self) -> dict[str, Any]:
        """What it says."""
        return dict(json.loads(self.text))

    @property
    def is_genuine(self) -> bool:
        """Whether this text was signed here, under today's key or an earlier one."""
        return any(
            constant_time_compare(signature_of(self.text, secret), self.signature)
            for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        )

    def as_json(self) -> str:
        """The whole receipt, to be kept: text and signature."""
        return canonical({"receipt": self.facts, "signature": self.signature})


def canonical(facts: Mapping[str, Any]) -> str:
    """The one spelling of these facts."""
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def signature_of(text: str, secret: str | None = None) -> str:
    """HMAC-SHA-256 of a text, with a key of its own derived from the site's."""
    return salted_hmac(SALT, text, secret=secret, algorithm="sha256").hexdigest()


def signed(facts: Mapping[str, Any]) -> Signed:
    """These facts with a signature under them."""
    text = canonical(facts)
    return Signed(text, signature_of(text))


def read(pasted: str) -> Signed:
    """The receipt in a text that somebody pasted. Raises `NotAReceiptError` with one sentence."""
    if len(pasted) > LONGEST:
        raise NotAReceiptError(
            f"This is longer than any receipt: {len(pasted):,} characters, and at most "
            f"{LONGEST:,} are expected."
        )
    try:
        found = json.loads(pasted, object_pairs_hook=_named_once, parse_constant=_refuse)
        # Half of a character, written as an escape, is no text that anything could be signed with.
        canonical(found).encode()
    except (ValueError, RecursionError):
        raise NotAReceiptError(
            "This is no receipt: it cannot be read as JSON. Paste the whole file, from its first "
            "brace to its last."
        ) from None
    if (
        not isinstance(found, dict)
        or set(found) != {"receipt", "signature"}
        or not isinstance(found["receipt"], dict)
        or not isinstance(found["signature"], str)
    ):
        raise NotAReceiptError(
            "This is no receipt: “receipt” and “signature” are expected, and nothing beside them."
        )
    return Signed(canonical(found["receipt"]), found["signature"])


def what_differs(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """The words that differ, by name, with what the one and the other says; None: nothing."""
    flat, beside = _flat(one), _flat(other)
    return [
        (name.replace("_", " "), flat.get(name), beside.get(name))
        for name in sorted(flat.keys() | beside.keys())
        if flat.get(name) != beside.get(name)
    ]


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Counts by their own names, beside the rest."""
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return flat


def _named_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands there twice")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of a receipt")
