"""The tags of a sign-up form, signed so that visitors cannot invent any."""

from collections.abc import Iterable

from django.core import signing

NAME = "tags"  # of the hidden control, and of the parameter of a link
_SIGNER = signing.Signer(salt="the tags of a sign-up form")


def sign_tags(tags: Iterable[int]) -> str:
    """Sign the ids of tags; empty if there are none. A form keeps its value for years."""
    ids = "-".join(map(str, sorted(set(tags))))
    return _SIGNER.sign(ids) if ids else ""


def read_tags(signed: str) -> list[int]:
    """Return the ids; none if the value is not ours, as if the form had none."""
    try:
        return [int(tag) for tag in _SIGNER.unsign(signed).split("-")]
    except signing.BadSignature:
        return []
