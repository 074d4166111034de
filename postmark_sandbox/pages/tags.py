"""The filters and tags of the sandbox's templates."""

from django.template import Library
from django.utils.html import format_html

from postmark_sandbox.pages.layout import counted
from postmark_sandbox.times import clock_text, day_text

register = Library()
register.filter("counted", counted)
register.filter("clock", clock_text)
register.filter("day", day_text)


@register.filter
def comma(number: float) -> str:
    """A whole number with commas."""
    return f"{number:,.0f}"


@register.simple_tag
def glyph(name: str, look: str = "") -> str:
    """A symbol. It stands beside a word, so it is hidden from screen readers."""
    return format_html(
        '<svg class="glyph {}" aria-hidden="true"><use href="#{}"/></svg>', look, name
    )


@register.simple_tag
def state(name: str, look: str, word: object) -> str:
    """A symbol and the word beside it."""
    return format_html('<span class="state {}">{}{}</span>', look, glyph(name), word)
