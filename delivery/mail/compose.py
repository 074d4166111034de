"""
From what an author wrote to the two parts of the mail, with merge fields still in place.

Composed once, when an edition is published, and frozen with it: a change of template or of the
postal address never makes two readers of one edition get different letters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape, unescape

from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from delivery.mail import merge_fields
from delivery.mail.inline_css import inline_styles
from delivery.mail.transactional_mail import TransactionalText
from delivery.models import Newsletter

_WHOLE_DOCUMENT = re.compile(r"<\s*(!doctype|html|body)\b", re.IGNORECASE)
_END_OF_BODY = re.compile(r"</\s*body\s*>", re.IGNORECASE)
# For letters that were made well-formed: every tag of theirs ends.
_HEADING = re.compile(r"<h1\b")
_TAG = re.compile(r"<[^>]*>")
# An inbox shows so many characters beside the subject: what the preheader leaves of them is filled
# with blanks, or the letter's first words would follow it.
SHOWN_IN_AN_INBOX = 140
_BLANK = "&#8199;&#847; "
_ROOTED_ADDRESS = re.compile(r"""(\b(?:src|href)\s*=\s*["'])/(?!/)""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MailParts:
    """The two parts of a mail, either of which may be empty, with merge fields in place."""

    html: str
    text: str

    @property
    def size(self) -> int:
        """The size in bytes of the part most mail programs show; they cut off a long one."""
        return len((self.html or self.text).encode("utf-8", "surrogatepass"))


def compose(
    title: str,
    html_content: str,
    text_content: str,
    *,
    newsletter: Newsletter,
    site_url: str,
    preheader: str = "",
) -> MailParts:
    """
    The mail of an edition: a fragment of HTML gets the letter's frame and dress, a whole document
    is kept as it is.

    A part without `{{ unsubscribe_url }}` gets a foot with it. Addresses that begin with a slash
    are made absolute with `site_url`, since a mail has no site of its own.
    """
    html = ""
    if _WHOLE_DOCUMENT.search(html_content):
        html = _with_a_way_out(html_content, newsletter)
    elif html_content.strip():
        html = _in_the_frame(title, html_content, newsletter, preheader, f"{site_url}/")
    text = _compose_text(text_content, newsletter) if text_content.strip() else ""
    return MailParts(_ROOTED_ADDRESS.sub(rf"\g<1>{site_url}/", html), text)


def compose_transactional(words: TransactionalText) -> MailParts:
    """A mail on request: its words in the letter's frame, under a foot of its own."""
    facts = {
        "title": escape(words.title),
        "words": words,
        # Merge fields stand where a letter has the newsletter's values of the day.
        "newsletter": {"name": "{{ newsletter }}", "language": "{{ language }}"},
        "needs_title": True,
        "foot": "mail/on_request_foot.html",
    }
    words_in_html = render_to_string("mail/on_request.html", facts).strip()
    facts["content"] = mark_safe(inline_styles(words_in_html))  # noqa: S308
    return MailParts(
        render_to_string("mail/letter.html", facts),
        f"{render_to_string('mail/on_request.txt', facts).strip()}\n",
    )


def _in_the_frame(
    title: str, content: str, newsletter: Newsletter, preheader: str, home: str
) -> str:
    letter = inline_styles(content)
    facts = {
        "title": escape(title),
        "preheader": escape(preheader),
        "filler": _BLANK * ((SHOWN_IN_AN_INBOX - len(preheader)) // 2),
        "newsletter": newsletter,
        "home": home,
        "needs_title": not _begins_with(title, letter),
        "needs_foot": not merge_fields.uses_field(letter, "unsubscribe_url"),
        # The author's own HTML goes to readers who asked for it; it is not ours to escape.
        "content": mark_safe(letter),  # noqa: S308
    }
    return render_to_string("mail/letter.html", facts)


def _begins_with(title: str, letter: str) -> bool:
    """Whether the first heading of a well-formed letter is its title."""
    first = _HEADING.search(letter)
    if first is None:
        return False
    heading = letter[first.start() : letter.find("</h1", first.start())]
    return unescape(_TAG.sub("", heading)).casefold().split() == title.casefold().split()


def _with_a_way_out(document: str, newsletter: Newsletter) -> str:
    """A whole document as it is, to the byte; only a foot is added where it has no way out."""
    if merge_fields.uses_field(document, "unsubscribe_url"):
        return document
    foot = render_to_string("mail/foot.html", {"newsletter": newsletter, "needs_foot": True})
    ends = [match.start() for match in _END_OF_BODY.finditer(document)]
    end = ends[-1] if ends else len(document)
    return document[:end] + foot + document[end:]


def _compose_text(content: str, newsletter: Newsletter) -> str:
    body = content.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if merge_fields.uses_field(body, "unsubscribe_url"):
        return f"{body}\n"
    return f"{body}\n\n{render_to_string('mail/foot.txt', {'newsletter': newsletter}).strip()}\n"
