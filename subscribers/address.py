"""Validate and mask addresses.

One strict regular expression accepts most plain ASCII addresses without a full validation, so that
imports are fast.
"""

import re
from collections.abc import Iterable

import email_validator
from email_validator import EmailNotValidError, validate_email

from delivery.control_characters import INVISIBLE, strip_invisible
from subscribers.files.safe_csv import unguarded
from subscribers.models.suppression import LONGEST_ADDRESS
from subscribers.refusal_sentences import InputRefusal, refuse

LONGEST_LOCAL_PART = 64  # RFC 5321 4.5.3.1.1, in octets
# The characters before the @ that every provider accepts: those of RFC 5322 except `?`. For the
# domain, providers accept what email-validator accepts.
LOCAL_PART = re.compile(r"[A-Za-z0-9.!#$%&'`*+\-/=^_{}|~]+")

# This pattern is stricter than needed: it allows no doubled hyphen in the domain (punycode), and
# only letters after the last dot. An address that does not match is validated in full.
_PLAIN = re.compile(
    r"([A-Za-z0-9!#$%&'`*+\-/=^_{}|~]+(?:\.[A-Za-z0-9!#$%&'`*+\-/=^_{}|~]+)*)"
    r"@((?:[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\.)+([A-Za-z]{2,63}))"
)
_LONGEST_PLAIN_LABEL = 63
# Mail programs copy an address as `Ada Whitlock <ada@example.org>` or `mailto:ada@example.org`.
_NAME_AND_ADDRESS = re.compile(r"(?:([^@<>]*)<)?([^<>]+)>?")
_MAILTO = re.compile(r"\Amailto:", re.IGNORECASE)
_SPECIAL_USE_ENDINGS = frozenset(
    name.rpartition(".")[2] for name in email_validator.SPECIAL_USE_DOMAIN_NAMES
)


def read_address(text: str) -> str | InputRefusal:
    """Return the address, with the domain in lower case and ASCII, or the refusal."""
    typed = strip_invisible(text)
    return _plain(typed) or _careful(typed)


def read_address_cell(cell: str) -> tuple[str | InputRefusal, str]:
    """Return a cell's address or its refusal, and the name in the cell, if any."""
    email = strip_invisible(unguarded(cell))
    address = read_address(email)
    if isinstance(address, InputRefusal) and (copied := _NAME_AND_ADDRESS.fullmatch(email)):
        inside = read_address(_MAILTO.sub("", strip_invisible(copied[2])))
        if not isinstance(inside, InputRefusal):
            return inside, (copied[1] or "").strip(" \"'")
    return address, ""


def spellings(address: str) -> list[str]:
    """Return an address and, if its domain is international, its Unicode spelling."""
    try:
        found = validate_email(address, check_deliverability=False)
    except EmailNotValidError:
        return [address]
    local_part = address.rpartition("@")[0]
    return list(dict.fromkeys((address, f"{local_part}@{found.domain}")))


def in_ascii(text: str) -> str:
    """Convert a searched text to ASCII, because addresses are stored in ASCII.

    If the text has an `@`, only the text after the `@` is converted. A search for a part of an
    international domain finds only complete labels, that is, the text between two dots.
    """
    local_part, at_sign, domain = text.rpartition("@")
    labels = [label if label.isascii() else _label_in_ascii(label) for label in domain.split(".")]
    return f"{local_part}{at_sign}{'.'.join(labels)}".lower()


def _label_in_ascii(label: str) -> str:
    address = read_address(f"x@{label}.org")
    return address[len("x@") : -len(".org")] if isinstance(address, str) else label


def _plain(typed: str) -> str | None:
    if len(typed) > LONGEST_ADDRESS or not (found := _PLAIN.fullmatch(typed)):
        return None
    local_part, domain, ending = found.groups()
    domain = domain.lower()
    if (
        len(local_part) > LONGEST_LOCAL_PART
        or ending.lower() in _SPECIAL_USE_ENDINGS
        or max(map(len, domain.split("."))) > _LONGEST_PLAIN_LABEL
    ):
        return None
    return f"{local_part}@{domain}"


def _careful(typed: str) -> str | InputRefusal:
    if not typed:
        return refuse("address_missing")
    if len(typed) > LONGEST_ADDRESS:
        return refuse("address_too_long", length=len(typed), longest=LONGEST_ADDRESS)
    if typed.count("@") > 1:
        return refuse("address_two_at_signs")
    if invisible := dict.fromkeys(INVISIBLE.findall(typed)):
        # Refuse invisible characters before the validation. The validation would remove some
        # invisible characters from a domain, and the result would be another domain.
        return refuse("address_invisible", characters=_codes(invisible))
    try:
        found = validate_email(typed, check_deliverability=False, allow_smtputf8=False, strict=True)
    except EmailNotValidError:
        return _why_invalid(typed)
    local_part = typed.rpartition("@")[0]
    if not LOCAL_PART.fullmatch(local_part):
        return refuse("address_question_mark")
    return f"{local_part}@{found.ascii_domain.lower()}"


def _why_invalid(typed: str) -> InputRefusal:
    """Return the code of the first fault of an address that email-validator refuses."""
    local_part, at_sign, _ = typed.rpartition("@")
    if not at_sign:
        return refuse("address_no_at_sign")
    if any(character.isspace() for character in typed):
        return refuse("address_space")
    if wrong := dict.fromkeys(LOCAL_PART.sub("", local_part)):
        return refuse("address_characters", characters=_codes(wrong))
    if not all(local_part.split(".")) or len(local_part) > LONGEST_LOCAL_PART:
        return refuse("address_before_at_sign")
    return refuse("address_after_at_sign")


def _codes(characters: Iterable[str]) -> str:
    """List characters; an invisible character is written as a code such as U+200B."""
    return " ".join(
        one if one.isprintable() and not INVISIBLE.match(one) else f"U+{ord(one):04X}"
        for one in characters
    )


def mask_address(email: str) -> str:
    """Mask an address so that only its owner recognises it: `m…a@example.org`."""
    local_part, _, domain = email.rpartition("@")
    last = local_part[-1] if len(local_part) > 2 else ""
    return f"{local_part[:1]}…{last}@{domain}"
