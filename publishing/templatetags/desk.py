"""Template tags and filters for glyphs, numbers and names."""

import re
from datetime import UTC, datetime
from email.utils import parseaddr

from django import template
from django.conf import settings
from django.forms.utils import flatatt
from django.template.defaultfilters import capfirst
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from delivery.humanise import clock, digits, duration
from delivery.interface import reason_sentence
from delivery.mail.colours_and_typefaces import direction_of, look_of
from delivery.models import Edition
from delivery.reports.edition_sentences import alarm_words
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.approval.record_approval import current_rule, shortage_sentence
from publishing.archive.link_preview import locale_of, of_site, preview_image
from publishing.content.edition_content import plain_title
from publishing.desk_permissions import MAY_ACT, MAY_LOOK, MAY_WRITE, load_publishers
from publishing.display_name import called
from publishing.editions.audience import edition_audience
from publishing.editions.edition_status import EditionStatus
from publishing.look.look_style_sheet import look_address
from publishing.progress_bar import outcome_label
from publishing.scheduling.local_time import scheduled_for
from publishing.settings.footer_links import footer_links

register = template.Library()
register.simple_tag(lambda: settings.RELEASE, name="release")
register.simple_tag(lambda: [called(one) for one in load_publishers()], name="publishers")
register.simple_tag(lambda: shortage_sentence(current_rule()), name="approval_shortage")
register.filter("called", called)
register.filter("activity_sentence", plain_sentence_of)
register.filter("reason_sentence", reason_sentence)
register.filter("alarm_words", alarm_words)
register.filter("duration", duration)
register.filter("grouped", digits)
register.filter("outcome_label", outcome_label)
register.filter("plain_title", plain_title)
register.filter("audience", edition_audience)
register.filter("author_links", footer_links)
register.filter("look", look_of)
register.filter("look_address", look_address)
register.filter("of_site", of_site)
register.filter("open_graph_locale", locale_of)
register.filter("preview_image", preview_image)
register.filter("scheduled_for", scheduled_for)

# The entries of the menu, each with a pattern for the paths below the desk's URL that belong to the
# entry.
_MENU = {
    "write": r"$|write|drafts|pictures|snippets|test/$",
    "issues": r"issues|receipts|move/issues|[0-9a-f]{8}-",
    "readers": "readers",
    "imports": "imports|move/$",
    "settings": "settings",
    "log": "log",
    "authors": "/admin/(authors|invitations)/",
    "profile": "/admin/profile/",
}
_WAYS = {"write": MAY_WRITE, "act": MAY_ACT, "look": MAY_LOOK}
_NOTE_GLYPHS = {"doubt": "attention", "fault": "failed", "sent": "sent", "held": "held"}


@register.simple_tag
def glyph(name: str, tone: str = "") -> SafeString:
    """Return a symbol, hidden from screen readers."""
    look = f"glyph {tone}" if tone else "glyph"
    return format_html('<svg class="{}" aria-hidden="true"><use href="#{}"/></svg>', look, name)


@register.filter
def lang_and_dir(language: str) -> SafeString:
    """Return the attributes for an element in a language, such as lang="ar" dir="rtl"."""
    return format_html('lang="{}" dir="{}"', language, direction_of(language))


@register.simple_tag
def version_url(name: str, edition: Edition) -> str:
    """Return the URL of a page about a version of an issue."""
    return f"{reverse(name, args=[edition.issue_id])}?version={edition.version}"


@register.simple_tag
def published_by(status: EditionStatus, edition: Edition) -> str:
    """Return when and by whom a version was published or scheduled."""
    by, scheduled = called(edition.author), status.counts.scheduled
    if scheduled and not status.counts.has_started:
        return _("Scheduled for {time} by {name}").format(time=scheduled.words, name=by)
    at = date_format(timezone.localtime(status.counts.published_at), _("D j M Y, H:i:s"))
    if status.counts.version == 1 and edition.issue.moved_from:
        return _("Published {time}").format(time=at)
    return _("Published {time} by {name}").format(time=at, name=by)


@register.simple_tag
def state(name: str, tone: str, words: str) -> SafeString:
    """Return a symbol, and after it the text with a capital first letter."""
    return format_html('<span class="state {}">{}{}</span>', tone, glyph(name), capfirst(words))


@register.simple_block_tag
def note(content: str, tone: str, name: str = "", **attributes: str) -> SafeString:
    """Return a note with attributes and a symbol, by default the symbol of its tone."""
    return format_html(
        '<div class="{}"{}>{}<div>{}</div></div>',
        f"note {tone}" if tone else "note",
        flatatt(attributes),
        glyph(name or _NOTE_GLYPHS[tone]),
        content,
    )


@register.filter
def in_zone(at: datetime) -> str:
    """Return the zone to write after a time. If the zone is not UTC, add the UTC time."""
    zone = timezone.get_current_timezone_name()
    return "UTC" if zone == "UTC" else f"{zone} ({clock(at, UTC)} UTC)"


@register.filter
def machine_time(at: datetime) -> str:
    """Return a time in HTML's format, with at most three decimals of a second."""
    return timezone.localtime(at).isoformat(timespec="milliseconds")


@register.filter
def breakable(address: str) -> SafeString:
    """Return an address as HTML that breaks only in its domain."""
    name, at, domain = conditional_escape(address).rpartition("@")
    labels = domain.replace(".", ".<wbr>")
    return mark_safe(f"{name}{at}<wbr>{labels}" if at else domain)  # noqa: S308 -- escaped


@register.filter
def mailbox(sender: str) -> str:
    """Return a sender without the quotation marks of a mail header (RFC 5322)."""
    name, address = parseaddr(sender)
    return f"{name} <{address}>" if name else address


@register.filter
def signature(author: object) -> str:
    """Return the author's full name for public pages; never the user name."""
    return getattr(author, "get_full_name", str)()


@register.simple_tag(takes_context=True)
def here(context: template.Context, entry: str) -> SafeString:
    """Return `aria-current` if the current page belongs to this menu entry."""
    path = context["request"].path.removeprefix(reverse("desk:publish"))
    return mark_safe(' aria-current="page"' if re.match(_MENU[entry], path) else "")  # noqa: S308


@register.filter
def may(user: object, way: str) -> bool:
    """Return whether a user may “write”, “act” on issues, or “look” at them."""
    has_perm = getattr(user, "has_perm", None)
    return has_perm is not None and any(map(has_perm, _WAYS[way]))
