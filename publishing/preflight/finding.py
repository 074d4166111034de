"""A finding: one thing that was looked at, how much it weighs, and where it is mended. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Weight(StrEnum):
    """What a finding means for publishing."""

    STOP = "stop"
    ADVICE = "advice"
    NOT_KNOWN = "not known"
    IN_ORDER = "in order"


class Where(StrEnum):
    """Where a thing is mended."""

    NOWHERE = ""
    TITLE = "title"
    PREHEADER = "preheader"
    LETTER = "letter"
    PICTURES = "pictures"
    TEXT = "text"
    TEST = "test"
    NEWSLETTER = "newsletter"
    READERS = "readers"
    DNS = "dns"
    PROGRESS = "progress"


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One sentence, and what else there is to say of it.

    `code` follows the sentence letter by letter, as a merge field does. `examples` are addresses or
    words from the letter. `subject` is the issue that the way to mend it leads to, if any.
    """

    weight: Weight
    sentence: str
    detail: str = ""
    where: Where = Where.NOWHERE
    code: str = ""
    examples: tuple[str, ...] = ()
    subject: str = ""


def stop(sentence: str, detail: str = "", where: Where = Where.NOWHERE, code: str = "") -> Finding:
    """It has to be mended before the issue goes out."""
    return Finding(Weight.STOP, sentence, detail, where, code)


def advice(
    sentence: str,
    detail: str = "",
    where: Where = Where.NOWHERE,
    *,
    code: str = "",
    examples: tuple[str, ...] = (),
    subject: str = "",
) -> Finding:
    """It may go out as it is."""
    return Finding(Weight.ADVICE, sentence, detail, where, code, examples, subject)


def not_known(
    sentence: str,
    detail: str = "",
    where: Where = Where.NOWHERE,
    *,
    examples: tuple[str, ...] = (),
) -> Finding:
    """Nobody can say; it is neither well nor wrong."""
    return Finding(Weight.NOT_KNOWN, sentence, detail, where, examples=examples)


def in_order(sentence: str) -> Finding:
    """It was looked at and is well."""
    return Finding(Weight.IN_ORDER, sentence)
