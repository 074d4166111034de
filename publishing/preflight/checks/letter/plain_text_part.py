"""Check the plain text that is sent with the HTML."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from delivery.issue_attributes import TEXT
from publishing.content.text_part import html_to_text
from publishing.content.word_count import count_words
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, advice, passed

# A plain text with less than half the words of the letter may be outdated. A letter with fewer
# words than this number is not compared with its plain text.
_MIN_WORDS_TO_COMPARE = 60


def check(context: CheckContext) -> Iterator[Finding]:
    """Find a plain text that is missing or outdated."""
    if not context.mail.text.strip():
        yield advice(
            _("There is no plain text"),
            _("Mail programs without HTML show an empty letter, and spam filters may reject it."),
            TEXT,
        )
        return
    words = count_words(context.content.text)
    letter_words = (
        count_words(html_to_text(context.content.html)) if context.has_own_text else words
    )
    if letter_words >= _MIN_WORDS_TO_COMPARE and words * 2 < letter_words:
        yield advice(
            _("The plain text is much shorter than the letter: {words} of {letter_words} words"),
            _(
                "Did you forget to update the plain text? If you empty it, Homing makes it from "
                "the letter."
            ),
            TEXT,
            words=words,
            letter_words=letter_words,
        )
    else:
        has = ngettext_lazy(
            "The plain text has {words} word.", "The plain text has {words} words.", "words"
        )
        yield passed(has, words=words)
    if not context.mail.html.strip():
        yield passed(_("It is sent as plain text."))
