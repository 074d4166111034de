"""
From what an author wrote to the two parts of the mail, with merge fields still in place.

Composed once, when an edition is published, and frozen with it: a change of template or of the
postal address never makes two readers of one edition get different letters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from delivery import merge_fields
from delivery.mail_on_request import Words
from delivery.models import Newsletter

_WHOLE_DOCUMENT = re.compile(r"<\s*(!doctype|html|body)\b", re.IGNORECASE)
_END_OF_BODY = re.compile(r"</\s*body\s*>", re.IGNORECASE)
_HEADING = re.compile(r"<\s*h1\b", re.IGNORECASE)
_ROOTED_ADDRESS = re.compile(r"""(\b(?:src|href)\s*=\s*["'])/(?!/)""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mail:
    """The two parts of a mail, either of which may be empty, with merge fields in place."""

    html: str
    text: str


def compose(
    title: str,
    html_content: str,
    text_content: str,
    *,
    newsletter: Newsletter,
    site_url: str,
) -> Mail:
    """
    The mail of an edition: a fragment of HTML gets the letter's frame, a whole document is kept.

    A part without `{{ unsubscribe_url }}` gets a foot with it. Addresses that begin with a slash
    are made absolute with `site_url`, since a mail has no site of its own.
    """
    html = _compose_html(title, html_content, newsletter) if html_content.strip() else ""
    text = _compose_text(text_content, newsletter) if text_content.strip() else ""
    return Mail(_ROOTED_ADDRESS.sub(rf"\g<1>{site_url}/", html), text)


def compose_on_request(words: Words) -> Mail:
    """A mail on request: its words in the letter's frame, under a foot of its own."""
    facts = {
        "title": escape(words.title),
        "words": words,
        # Merge fields stand where a letter has the newsletter's values of the day.
        "newsletter": {"name": "{{ newsletter }}", "language": "{{ language }}"},
        "needs_title": True,
        "foot": "mail/on_request_foot.html",
    }
    facts["content"] = mark_safe(render_to_string("mail/on_request.html", facts).strip())  # noqa: S308
    return Mail(
        render_to_string("mail/letter.html", facts),
        f"{render_to_string('mail/on_request.txt', facts).strip()}\n",
    )


def _compose_html(title: str, content: str, newsletter: Newsletter) -> str:
    facts = {
        "title": escape(title),
        "newsletter": newsletter,
        "needs_title": not _HEADING.search(content),
        "needs_foot": not merge_fields.uses(content, "unsubscribe_url"),
        # The author's own HTML goes to readers who asked for it; it is not ours to escape.
        "content": mark_safe(content),  # noqa: S308
    }
    if not _WHOLE_DOCUMENT.search(content):
        return render_to_string("mail/letter.html", facts)
    if not facts["needs_foot"]:
        return content
    foot = render_to_string("mail/foot.html", facts)
    ends = [match.start() for match in _END_OF_BODY.finditer(content)]
    end = ends[-1] if ends else len(content)
    return content[:end] + foot + content[end:]


def _compose_text(content: str, newsletter: Newsletter) -> str:
    body = content.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if merge_fields.uses(body, "unsubscribe_url"):
        return f"{body}\n"
    return f"{body}\n\n{render_to_string('mail/foot.txt', {'newsletter': newsletter}).strip()}\n"
