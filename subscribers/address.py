"""
The only place that decides whether a text is an address that can be mailed.

Two rule books apply. `email-validator` knows the RFCs, international domains and the domains that
lead nowhere (`.test`, `.local`). Postmark refuses some addresses that the RFCs allow; refusing
them here, where a person can still mend them, is better than a failed copy later.

Most addresses of a real list are plain ASCII. They are recognised by one regular expression that
is stricter than both rule books, which is what makes an import fast; everything else takes the
careful way. A property test holds that the fast way never accepts more or anything different.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import email_validator
from email_validator import EmailNotValidError, validate_email

from subscribers.models.suppression import LONGEST_ADDRESS


class Address(NamedTuple):
    """An address in the form in which it is stored and mailed."""

    email: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a text is no address that can be mailed: one sentence for the person who typed it."""

    reason: str


LONGEST_LOCAL_PART = 64  # RFC 5321 4.5.3.1.1, in octets
# Postmark's own pattern for the part before the @-sign: RFC 5322 without `?`. Its pattern for the
# domain allows whatever email-validator lets through, once that is in ASCII.
POSTMARK_LOCAL_PART = re.compile(r"[A-Za-z0-9.!#$%&'`*+\-/=^_{}|~]+")

# Stricter than needed on purpose: no doubled hyphen (punycode is looked at with care), and an
# ending of letters only. What does not match is not refused but looked at.
_PLAIN = re.compile(
    r"([A-Za-z0-9!#$%&'`*+\-/=^_{}|~]+(?:\.[A-Za-z0-9!#$%&'`*+\-/=^_{}|~]+)*)"
    r"@((?:[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\.)+([A-Za-z]{2,63}))"
)
_LONGEST_PLAIN_LABEL = 63
_ENDINGS_THAT_LEAD_NOWHERE = frozenset(
    name.rpartition(".")[2] for name in email_validator.SPECIAL_USE_DOMAIN_NAMES
)
# Blanks and the invisible characters that copying from pages and spreadsheets leaves behind:
# zero-width space, word joiner, byte order mark, and the marks of writing direction.
_INVISIBLE = "\u200b\u200e\u200f\u2060\ufeff"


def read_address(text: str) -> Address | Refusal:
    """
    The address that `text` holds, blanks around it aside; or why it holds none.

    The part before the @-sign stays as typed. The domain is put in lower case and, where it is
    international, into its ASCII form (`exämple.com` → `xn--exmple-cua.com`).
    """
    typed = text.strip().strip(_INVISIBLE).strip()
    return _plain(typed) or _careful(typed)


def _plain(typed: str) -> Address | None:
    """The address, if it is so plain that no rule book needs to be asked."""
    if len(typed) > LONGEST_ADDRESS or not (found := _PLAIN.fullmatch(typed)):
        return None
    local_part, domain, ending = found.groups()
    domain = domain.lower()
    if (
        len(local_part) > LONGEST_LOCAL_PART
        or ending.lower() in _ENDINGS_THAT_LEAD_NOWHERE
        or max(map(len, domain.split("."))) > _LONGEST_PLAIN_LABEL
    ):
        return None
    return Address(f"{local_part}@{domain}")


def _careful(typed: str) -> Address | Refusal:
    """The address as both rule books see it, or the first reason against it."""
    if not typed:
        return Refusal("There is no address.")
    if len(typed) > LONGEST_ADDRESS:
        return Refusal(
            f"The address has {len(typed)} characters; at most {LONGEST_ADDRESS} are allowed."
        )
    if typed.count("@") > 1:
        return Refusal("There is more than one @-sign.")
    try:
        found = validate_email(typed, check_deliverability=False, allow_smtputf8=False, strict=True)
    except EmailNotValidError as refusal:
        return Refusal(str(refusal))
    local_part = typed.rpartition("@")[0]
    if not POSTMARK_LOCAL_PART.fullmatch(local_part):
        return Refusal("The mail provider does not accept a question mark before the @-sign.")
    return Address(f"{local_part}@{found.ascii_domain.lower()}")
