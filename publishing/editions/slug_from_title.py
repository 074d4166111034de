"""Make the words of an issue's address from a title in any script.

An address has lower-case letters (also with marks, such as accents), digits, hyphens and
underscores. Invisible characters are left out. Latin letters become ASCII. Letters of other scripts
stay: browsers show them, and each language has its own rules for writing them in Latin letters.
"""

import re
import unicodedata
from itertools import groupby
from urllib.parse import quote

LONGEST_SLUG = 60
# A number of characters. A mail has the address percent-encoded, with up to nine characters for
# each letter of another script.
_LONGEST_ENCODED = 300
# These Latin letters do not become ASCII when their marks are removed.
_SPELLED = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i"}
)
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
# These letters and marks are invisible: fillers of Hangul and Khmer, and variation selectors.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_APOSTROPHES = re.compile("['\"’‘ʼ´`]")
_NAMES_USED = 3


def address_words(title: str, language: str = "en", *, longest: int = LONGEST_SLUG) -> str:
    """Return the address of a title; empty if the title has no words.

    In German, “ä” becomes “ae”. If the title has no words but symbols, the names of the first
    symbols become the address.
    """
    text = unicodedata.normalize("NFKC", title).lower()
    if language.partition("-")[0] == "de":
        text = text.translate(_GERMAN)
    return _cut(_words(text) or _words(_names(title)), longest)


def is_address(text: str) -> bool:
    """Return whether a text has only characters that `address_words` keeps."""
    return bool(text) and not _UNSEEN.search(text) and all(map(_is_kept, text))


def first_address(text: str) -> str:
    """Return the first part that can be an address, in lower case; empty without one."""
    composed = unicodedata.normalize("NFC", text)
    runs = ("".join(signs) for are_kept, signs in groupby(composed, _is_kept) if are_kept)
    return next(filter(None, (run.strip("-_") for run in runs)), "").lower()


def _words(text: str) -> str:
    kept: list[str] = []
    is_latin = True  # Marks after a Latin letter are dropped.
    text = unicodedata.normalize("NFD", _UNSEEN.sub("", _APOSTROPHES.sub("", text)))
    for sign in text.translate(_SPELLED):
        kind = unicodedata.category(sign)
        if kind[0] == "M" and not is_latin:
            kept.append(sign)
        elif kind[0] == "L":
            is_latin = unicodedata.name(sign, "").startswith("LATIN")
            kept.append(sign)
        elif kind == "Nd" or sign == "_":
            is_latin = True
            kept.append(sign)
        elif kind[0] not in "MC":
            is_latin = True
            kept.append("-")
    words = unicodedata.normalize("NFC", "".join(kept))
    return re.sub("-+", "-", words).strip("-_")


def _names(title: str) -> str:
    """Return the Unicode names of the first symbols, such as “party popper”."""
    symbols = [sign for sign in title if unicodedata.category(sign) == "So"]
    return " ".join(unicodedata.name(sign, "").lower() for sign in symbols[:_NAMES_USED])


def _cut(words: str, longest: int) -> str:
    words = words[:longest]
    while len(quote(words)) > _LONGEST_ENCODED:
        words = words[:-1]
    return words.rstrip("-_")


def _is_kept(sign: str) -> bool:
    return sign in "-_" or unicodedata.category(sign)[0] in "LM" or sign.isdecimal()
