"""Compose the two parts of a mail from an author's content, with merge fields."""

import re
from dataclasses import dataclass
from functools import lru_cache
from html import escape, unescape
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from delivery.languages import in_language_of
from delivery.mail import merge_fields
from delivery.mail.colours_and_typefaces import Look, look_of
from delivery.mail.fit_pictures import fit_images, take_first_picture
from delivery.mail.inline_css import inline_styles
from delivery.mail.letter_addresses import complete_rooted
from delivery.mail.transactional_mail_texts import TransactionalText, transactional_text
from delivery.models import Newsletter
from delivery.models.newsletter import Layout
from delivery.short_markdown import html_paragraphs, plain_lines

_WHOLE_DOCUMENT = re.compile(r"<\s*(!doctype|html|body)\b", re.IGNORECASE)
_END_OF_BODY = re.compile(r"</\s*body\s*>", re.IGNORECASE)
# These patterns are for normalised letters, in which every tag is complete.
_HEADING = re.compile(r"<h1\b")
_TAG = re.compile(r"<[^>]*>")
# An inbox shows at most this many characters after the subject. A shorter preview text is filled up
# with blanks, because the inbox would otherwise add the first words of the letter.
INBOX_PREVIEW_LENGTH = 140
_BLANK = "&#8199;&#847; "
# The look of links in the footer of a mail, as in `templates/mail/footer.html`.
_QUIET_LINK = {"class": "quiet", "style": "color:#55626a;"}


@dataclass(frozen=True, slots=True)
class MailParts:
    """The two parts of a mail, with merge fields. Either part may be empty."""

    html: str
    text: str

    @property
    def size(self) -> int:
        """The size in bytes of the part that most mail programs show and may clip."""
        return len((self.html or self.text).encode("utf-8", "surrogatepass"))


def compose(
    title: str,
    html_content: str,
    text_content: str,
    *,
    newsletter: Newsletter,
    site_url: str,
    preview_text: str = "",
    has_topics: bool = False,
    has_page: bool = True,
) -> MailParts:
    """Compose the mail of an edition, with a link to its page if `has_page`.

    A complete HTML document is kept as it is; a fragment gets a frame and styles. A part without
    the field `unsubscribe_url` gets a footer, with a link to choose topics if it `has_topics`. URLs
    that begin with a slash are completed with `site_url`.
    """
    html, look = "", look_of(newsletter)
    footer = {
        "newsletter": newsletter,
        "look": look,
        "own_footer": html_paragraphs(newsletter.footer, **_QUIET_LINK),
        "own_footer_text": "\n".join(plain_lines(newsletter.footer)),
        "needs_footer": True,
        "has_topics": has_topics,
        "has_page": has_page,
    }
    if _WHOLE_DOCUMENT.search(html_content):
        html = _with_footer(html_content, footer)
    elif html_content.strip():
        letter, picture = inline_styles(html_content, look), None
        if look.layout == Layout.PICTURE:
            picture, letter = take_first_picture(letter)
        html = _render_letter(
            fit_images(letter),
            title,
            look,
            newsletter=newsletter,
            own_footer=footer["own_footer"],
            picture=picture,
            preview_text=merge_fields.plain_to_html(preview_text),
            filler=_BLANK * ((INBOX_PREVIEW_LENGTH - len(preview_text)) // 2),
            home=f"{site_url}/",
            needs_title=not _begins_with(title, letter),
            needs_footer=not merge_fields.uses_field(letter, "unsubscribe_url"),
            has_topics=has_topics and not merge_fields.uses_field(letter, "preferences_url"),
            has_page=has_page,
        )
    text = _compose_text(text_content, footer) if text_content.strip() else ""
    return MailParts(complete_rooted(html, site_url), text)


def compose_transactional(kind: str, newsletter: Newsletter) -> tuple[str, MailParts]:
    """Compose a transactional mail in the current look and language: title and parts.

    The mail has the same frame as a letter, but another footer. The newsletter's name and address
    stay merge fields.
    """
    with in_language_of(newsletter):
        words = transactional_text(kind)
        nameplate = _Nameplate(
            newsletter.tagline, newsletter.language, newsletter.logo, newsletter.dark_logo
        )
        mail = _compose_transactional(
            words, look_of(newsletter), nameplate, f"{settings.SITE_URL}/"
        )
    return words.title, mail


@dataclass(frozen=True, slots=True)
class _Nameplate:
    """The newsletter as the frame of a transactional mail shows it."""

    tagline: str
    language: str
    logo: str
    dark_logo: str
    name: str = "{{ newsletter }}"


@lru_cache(maxsize=32)
def _compose_transactional(
    words: TransactionalText, look: Look, newsletter: _Nameplate, home: str
) -> MailParts:
    context = {"title": escape(words.title), "words": words, "look": look, "link": "{{ link }}"}
    html = _render_letter(
        inline_styles(render_to_string("mail/transactional.html", context).strip(), look),
        words.title,
        look,
        words=words,
        newsletter=newsletter,
        home=home,
        needs_title=True,
        footer="mail/transactional_footer.html",
    )
    text = f"{render_to_string('mail/transactional.txt', context).strip()}\n"
    return MailParts(complete_rooted(html, home.removesuffix("/")), text)


def _render_letter(letter: str, title: str, look: Look, **context: Any) -> str:
    # The author's HTML is the letter itself, so it is not escaped.
    content = mark_safe(letter)  # noqa: S308
    return render_to_string(
        f"mail/layouts/{look.layout}.html",
        {"title": merge_fields.plain_to_html(title), "content": content, "look": look, **context},
    )


def _begins_with(title: str, letter: str) -> bool:
    first = _HEADING.search(letter)
    if first is None:
        return False
    heading = letter[first.start() : letter.find("</h1", first.start())]
    words = unescape(merge_fields.plain_to_html(title))
    return unescape(_TAG.sub("", heading)).casefold().split() == words.casefold().split()


def _with_footer(document: str, context: dict[str, Any]) -> str:
    if merge_fields.uses_field(document, "unsubscribe_url"):
        return document
    footer = render_to_string("mail/footer.html", context)
    ends = [match.start() for match in _END_OF_BODY.finditer(document)]
    end = ends[-1] if ends else len(document)
    return document[:end] + footer + document[end:]


def _compose_text(content: str, context: dict[str, Any]) -> str:
    body = content.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if merge_fields.uses_field(body, "unsubscribe_url"):
        return f"{body}\n"
    return f"{body}\n\n{render_to_string('mail/footer.txt', context).strip()}\n"
