"""The language of readers' pages and mails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import translation

if TYPE_CHECKING:
    from delivery.models import Newsletter

ENGLISH = "en"


def catalogue_language(code: str) -> str:
    """Return the language of our texts for `code`: pt for pt-PT, else English."""
    try:
        return translation.get_supported_language_variant(code.lower())
    except LookupError:
        return ENGLISH


def in_language_of(newsletter: Newsletter) -> translation.override:
    """Write texts for readers in the newsletter's language, as a context manager."""
    return translation.override(catalogue_language(newsletter.language))
