"""Count the words of a text. A merge field is one word; URLs are not counted."""

import re

from delivery.mail import merge_fields

# The number of words that people read in a minute, in a language such as English.
WORDS_PER_MINUTE = 230

# Each of these is one word: well-known, it’s, 1,000, 10:30, ada@posthouse.example.
_WORD = re.compile(r"[^\W_]+(?:(?:['’.@_-]|(?<=\d)[,:](?=\d))[^\W_]+)*")
_ADDRESS = re.compile(r"\b(?:https?://|mailto:|tel:)[^\s<>]+", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


def count_words(text: str) -> int:
    """Count the words of a plain text."""
    # Replace merge fields first and remove URLs after that, because a URL may contain a field with
    # spaces.
    filled = merge_fields.ANY_BRACES.sub(_placeholder, text)
    return len(_WORD.findall(_ADDRESS.sub(" ", filled)))


def estimate_word_count(letter: str) -> int:
    """Estimate the number of words of a letter's source, in Markdown or HTML."""
    return count_words(_TAG.sub(" ", letter))


def reading_minutes(words: int) -> int:
    """Return how many minutes it takes to read this number of words, at least 1."""
    return max(1, round(words / WORDS_PER_MINUTE))


def _placeholder(found: re.Match[str]) -> str:
    if merge_fields.is_field(found):
        return "" if found[1].strip() in merge_fields.URL_FIELDS else "x"
    return found[0] if found[0].startswith("\\") else ""
