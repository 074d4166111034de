"""
How many words a reader reads in a text: the one counter, for the composer and for the check. Pure.

A merge field is a word, as is what will stand there. An address is none, written out or in a merge
field, nor is a line that is drawn.
"""

from __future__ import annotations

import re

from delivery.mail import merge_fields

# What lets two runs of letters be one word: well-known, it’s, 1,000, 10:30, ada@posthouse.example.
_WORD = re.compile(r"[^\W_]+(?:(?:['’.@_-]|(?<=\d)[,:](?=\d))[^\W_]+)*")
_ADDRESS = re.compile(r"\b(?:https?://|mailto:|tel:)[^\s<>]+", re.IGNORECASE)
_POSTMARKS_OWN = re.compile(r"\{\{\{[^{}]*\}\}\}")
_TAG = re.compile(r"<[^<>]*>")
_ADDRESSES = frozenset({"unsubscribe_url", "archive_url"})


def count_words(text: str) -> int:
    """How many words there are in a plain text."""
    # Before addresses are looked for: they may have fields in them, with blanks.
    filled = merge_fields.FIELD_PATTERN.sub(_stand_in, _POSTMARKS_OWN.sub("", text))
    return len(_WORD.findall(_ADDRESS.sub(" ", filled)))


def estimate_word_count(letter: str) -> int:
    """About how many there are in a letter as it is written, Markdown or HTML, not rendered."""
    return count_words(_TAG.sub(" ", letter))


def _stand_in(field: re.Match[str]) -> str:
    return "" if field[1].strip() in _ADDRESSES else "x"
