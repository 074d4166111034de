"""How the desk writes numbers and names."""

from __future__ import annotations

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def grouped(number: int) -> str:
    """52418 as 52,418."""
    return f"{number:,}"


@register.filter
def counted(number: int, noun: str) -> str:
    """3 with “reader” as “3 readers”, 1 as “1 reader”. Only for nouns that take an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


@register.filter
def breakable(address: str) -> SafeString:
    """An address that a narrow page breaks after the @ before it breaks a word."""
    return mark_safe(conditional_escape(address).replace("@", "@<wbr>"))  # noqa: S308 -- escaped


@register.filter
def signature(author: object) -> str:
    """
    The name under a letter that everybody may read: the author's full name, if they gave one. What
    they sign in with is for nobody to know.
    """
    return getattr(author, "get_full_name", str)()


@register.filter
def called(user: object) -> str:
    """The name a person goes by: their full name, or what they sign in with."""
    if user is None:
        return "someone who is gone"
    full_name = getattr(user, "get_full_name", str)()
    return full_name or getattr(user, "username", "")
