"""Check the composed mail: size, plain text, legal requirements. Pure."""

import re
from collections.abc import Iterator

from django.conf.locale import LANG_INFO
from django.utils.translation import gettext as _

from delivery.humanise import KB, kilobytes
from delivery.mail import merge_fields
from publishing.content.text_part import html_to_text
from publishing.content.word_count import count_words
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FixIn, advice, passed
from publishing.preflight.link_address import looks_public

GMAIL_CUTS_AT = 102 * KB
_NEARLY = 0.9
# If the plain text has less than half the words of the letter, it may be outdated.
_MIN_WORDS_TO_COMPARE = 60


def check_composed_mail(context: CheckContext) -> Iterator[Finding]:
    """Find problems with the mail itself."""
    yield from _size(context)
    yield from _text_part(context)
    # A complete HTML document brings its own preview text, so `preheader` is not used there.
    if context.content.preheader:
        yield passed("preheader_set")
    elif context.mail.html.strip():
        yield advice("no_preheader", FixIn.PREHEADER)
    is_own = merge_fields.uses_field(
        context.content.html or context.content.text, "unsubscribe_url"
    )
    if context.adds_unsubscribe_link:
        yield passed("own_unsubscribe_link" if is_own else "unsubscribe_link")
    else:
        yield passed("own_link_postmark" if is_own else "link_postmark")
    yield from _newsletter(context)
    if not looks_public(context.site_url):
        yield advice("site_unreachable", site_url=context.site_url)


def _size(context: CheckContext) -> Iterator[Finding]:
    size = len(context.mail.html.encode("utf-8", "surrogatepass"))
    if size > GMAIL_CUTS_AT:
        yield advice("clipped", FixIn.LETTER, size=kilobytes(size))
    elif size > GMAIL_CUTS_AT * _NEARLY:
        yield advice("nearly_clipped", FixIn.LETTER, size=kilobytes(size))
    elif size:
        yield passed("size_ok")


def _text_part(context: CheckContext) -> Iterator[Finding]:
    if not context.mail.text.strip():
        yield advice("no_text_part", FixIn.TEXT)
        return
    words = count_words(context.content.text)
    letter_words = (
        count_words(html_to_text(context.content.html)) if context.has_own_text else words
    )
    if letter_words >= _MIN_WORDS_TO_COMPARE and words * 2 < letter_words:
        yield advice("short_text_part", FixIn.TEXT, words=words, letter_words=letter_words)
    else:
        yield passed("text_part", words=words)
    if not context.mail.html.strip():
        yield passed("plain_text_only")


def _newsletter(context: CheckContext) -> Iterator[Finding]:
    newsletter = context.newsletter
    if not newsletter.is_named:
        yield advice("unnamed_newsletter", FixIn.NEWSLETTER, name=newsletter.name)
    if not newsletter.postal_address.strip():
        yield advice("no_postal_address", FixIn.NEWSLETTER)
    if not newsletter.language.strip():
        yield advice("no_language", FixIn.NEWSLETTER)
    else:
        yield passed("language_set", language=_language_name(newsletter.language))


def _language_name(code: str) -> str:
    for key in (code.lower(), re.split(r"[-_]", code.lower())[0]):
        name = LANG_INFO.get(key, {}).get("name")
        if isinstance(name, str):
            return _(name)  # from the catalogue of Django
    return code
