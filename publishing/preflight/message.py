"""The mail that is made of the letter: its size, its two parts, what the law asks for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.conf.locale import LANG_INFO

from delivery.humanise import KB, counted, kilobytes
from delivery.mail import merge_fields
from publishing.content.text_part import html_to_text
from publishing.content.word_count import count_words
from publishing.preflight.facts import Facts
from publishing.preflight.finding import Finding, Where, advice, in_order
from publishing.preflight.link_address import is_from_outside

GMAIL_CUTS_AT = 102 * KB
_CLOSE_TO_IT = 0.9
# A text part with less than half the words of a letter of some length was perhaps forgotten.
_LONG_ENOUGH_TO_COMPARE = 60


def of_the_mail(facts: Facts) -> Iterator[Finding]:
    """Everything about the mail itself."""
    yield from _size(facts)
    yield from _text_part(facts)
    yield from _preheader(facts)
    yield from _unsubscribing(facts)
    yield from _newsletter(facts)
    if not is_from_outside(facts.site_url):
        yield advice(
            "Readers cannot reach this site",
            f"Every mail leads to {facts.site_url}, for leaving, for reading on the web and for "
            "the pictures that were added here. An "
            "operator sets SITE_URL to the address that readers see.",
        )


def _size(facts: Facts) -> Iterator[Finding]:
    size = len(facts.html_mail.encode("utf-8", "surrogatepass"))
    if size > GMAIL_CUTS_AT:
        yield advice(
            f"Gmail will cut this letter off: it has {kilobytes(size)} kB",
            "At 102 kB it shows “View entire message” instead of the rest, with the link for "
            "leaving in it. Pictures do not count.",
            Where.LETTER,
        )
    elif size > GMAIL_CUTS_AT * _CLOSE_TO_IT:
        yield advice(
            f"The letter has {kilobytes(size)} kB, and Gmail cuts at 102 kB",
            "What stands for each reader in the place of a merge field comes on top.",
            Where.LETTER,
        )
    elif size:
        yield in_order("The size is far from the limit.")


def _text_part(facts: Facts) -> Iterator[Finding]:
    if not facts.text_mail.strip():
        yield advice(
            "There is no text part",
            "Readers whose mail shows no HTML get an empty letter, and filters take it for spam.",
            Where.TEXT,
        )
        return
    words = count_words(facts.content.text)
    letter = count_words(html_to_text(facts.content.html)) if facts.own_text else words
    if letter >= _LONG_ENOUGH_TO_COMPARE and words * 2 < letter:
        yield advice(
            f"The text part has {words:,} words and the letter {letter:,}",
            "It is your own and was perhaps forgotten; emptied, it is made from the letter again.",
            Where.TEXT,
        )
    else:
        yield in_order(f"The text part has {counted(words, 'word')}.")
    if not facts.html_mail.strip():
        yield in_order("It goes out as plain text.")


def _preheader(facts: Facts) -> Iterator[Finding]:
    # A whole document brings its own; only what Homing frames shows ours.
    if facts.content.preheader:
        yield in_order("The preheader is set.")
    elif facts.html_mail.strip():
        yield advice(
            "There is no preheader",
            "Beside the subject an inbox shows the first words of the letter instead.",
            Where.PREHEADER,
        )


def _unsubscribing(facts: Facts) -> Iterator[Finding]:
    own = merge_fields.uses_field(facts.content.html or facts.content.text, "unsubscribe_url")
    link = "The link for leaving stands in the letter" if own else "The foot has the link to leave"
    yield in_order(
        f"{link}, and one-click unsubscribe is present."
        if facts.adds_unsubscribe_link
        else f"{link}; Postmark adds one-click unsubscribe."
    )


def _newsletter(facts: Facts) -> Iterator[Finding]:
    if not facts.is_named:
        yield advice(
            f"The newsletter is still called “{facts.newsletter}”",
            "That is the name it was installed with; it stands at the head of every mail and page.",
            Where.NEWSLETTER,
        )
    if not facts.postal_address.strip():
        yield advice(
            "There is no postal address",
            "The law of many countries asks for one in every newsletter; it stands in the foot.",
            Where.NEWSLETTER,
        )
    if not facts.language.strip():
        yield advice(
            "No language is set",
            "Screen readers use it, and mail programs that translate.",
            Where.NEWSLETTER,
        )
    else:
        yield in_order(f"The language is set to {_called(facts.language)}.")


def _called(code: str) -> str:
    """A language by its English name, or its code."""
    for wanted in (code.lower(), re.split(r"[-_]", code.lower())[0]):
        name = LANG_INFO.get(wanted, {}).get("name")
        if isinstance(name, str):
            return name
    return code
