"""The text of a receipt as canonical JSON, and the signature under it. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

SALT = "homing.receipt"
LONGEST = 20_000


class NotAReceiptError(ValueError):
    """The given text is no receipt; the sentence says what was found."""


@dataclass(frozen=True, slots=True)
class SignedReceipt:
    """The text of a receipt, and its signature."""

    text: str
    signature: str

    @property
    def fields(self) -> dict[str, Any]:
        """The fields in the text."""
        return dict(json.loads(self.text))

    @property
    def is_genuine(self) -> bool:
        """Whether this text was signed here, under today's key or an earlier one."""
        return any(
            constant_time_compare(_sign(self.text, secret), self.signature)
            for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        )

    def as_json(self) -> str:
        """Return text and signature as one JSON object."""
        return _canonical({"receipt": self.fields, "signature": self.signature})


def _canonical(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _sign(text: str, secret: str | None = None) -> str:
    return salted_hmac(SALT, text, secret=secret, algorithm="sha256").hexdigest()


def sign_receipt(fields: Mapping[str, Any]) -> SignedReceipt:
    """Return these fields with a signature."""
    text = _canonical(fields)
    return SignedReceipt(text, _sign(text))


def parse_receipt(pasted: str) -> SignedReceipt:
    """Return the receipt in a pasted text. Raises `NotAReceiptError`."""
    if len(pasted) > LONGEST:
        raise NotAReceiptError(
            f"This is longer than any receipt: {len(pasted):,} characters, and at most "
            f"{LONGEST:,} are expected."
        )
    try:
        found = json.loads(pasted, object_pairs_hook=_refuse_repeats, parse_constant=_refuse)
        # An escaped half of a surrogate pair cannot be encoded, so it was never signed.
        _canonical(found).encode()
    except (ValueError, RecursionError):
        raise NotAReceiptError(
            "This is no receipt: it cannot be read as JSON. Paste the whole file, from its first "
            "brace to its last."
        ) from None
    match found:
        case {"receipt": dict(fields), "signature": str(signature)} if len(found) == 2:
            return SignedReceipt(_canonical(fields), signature)
    raise NotAReceiptError(
        "This is no receipt: “receipt” and “signature” are expected, and nothing beside them."
    )


def diff_receipts(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return the fields that differ: name, one value, the other value."""
    flat, beside = _flatten(one), _flatten(other)
    return [
        (name.replace("_", " "), flat.get(name), beside.get(name))
        for name in sorted(flat.keys() | beside.keys())
        if flat.get(name) != beside.get(name)
    ]


def _flatten(fields: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return flat


def _refuse_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is repeated")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of a receipt")
