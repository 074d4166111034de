"""
The form by which people sign up: what was typed into it, and what is wrong with that.

It also carries two things against programs that fill in forms: a field that no person sees, and
the sealed moment at which it was shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.core import signing

from subscribers.address import Address, Refusal, read_address
from subscribers.models.consent_record import How
from subscribers.name import read_name

# What is given back to the person in the form again; nobody types more.
LONGEST_SHOWN = 1000
TRAP = "reply"  # Only a program fills it in.
EXAMPLE = "An address such as ada@example.org is expected."
_SEAL = signing.Signer(salt="the moment at which a sign-up form was shown")


@dataclass(frozen=True, slots=True)
class SignUpForm:
    """A form, as it was sent or still empty. `address` and `kept_name` are None where refused."""

    email: str = ""
    name: str = ""
    how: How = How.FORM
    address: str | None = None
    kept_name: str | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    is_trapped: bool = False
    seconds_filling_in: float | None = None


def sent(fields: Mapping[str, str], now: float) -> SignUpForm:
    """What was sent, judged. `now` is in seconds, by the clock that `moment` was told."""
    email, name = fields.get("email", ""), fields.get("name", "")
    address, kept_name = read_address(email), read_name(name)
    errors: dict[str, str] = {}
    if isinstance(address, Refusal):
        errors["email"] = f"{address.reason} {EXAMPLE}"
    if isinstance(kept_name, Refusal):
        errors["name"] = kept_name.reason
    return SignUpForm(
        email=email[:LONGEST_SHOWN],
        name=name[:LONGEST_SHOWN],
        how=How.EMBEDDED_FORM if fields.get("how") == How.EMBEDDED_FORM else How.FORM,
        address=address.email if isinstance(address, Address) else None,
        kept_name=kept_name if isinstance(kept_name, str) else None,
        errors=errors,
        is_trapped=bool(fields.get(TRAP)),
        seconds_filling_in=_since(fields["shown"], now) if "shown" in fields else None,
    )


def filled_in_elsewhere(fields: Mapping[str, str]) -> SignUpForm:
    """A form on another site was sent here: the same words in ours, not judged yet."""
    return SignUpForm(
        email=fields.get("email", "")[:LONGEST_SHOWN],
        name=fields.get("name", "")[:LONGEST_SHOWN],
        how=How.EMBEDDED_FORM,
    )


def moment(now: float) -> str:
    """The moment at which a form is shown, sealed so that nobody makes one up."""
    return _SEAL.sign(f"{now:.3f}")


def _since(shown: str, now: float) -> float:
    """Seconds since the form was shown; 0 if the moment is none of ours."""
    try:
        return now - float(_SEAL.unsign(shown))
    except signing.BadSignature:
        return 0.0
