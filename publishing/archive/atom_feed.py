"""The Atom feed (RFC 4287) of issues, each with its content and a permanent id."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.syndication.views import Feed
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.feedgenerator import Atom1Feed
from django.utils.xmlutils import SimplerXMLGenerator

from delivery.models import Edition, Newsletter
from publishing.archive.archived_editions import listed_editions
from publishing.content.edition_content import only_xml_characters, plain_title
from publishing.content.finish_sanitised_tags import absolute_addresses
from publishing.content.summary import summarise
from publishing.templatetags.desk import signature
from subscribers.links.token_page import newsletter_of

IN_FEED = 20


class AtomOfLetters(Atom1Feed):
    """An Atom feed whose items have a plain-text summary and maybe the letter."""

    def root_attributes(self) -> dict[str, str]:
        return {**super().root_attributes(), "xml:lang": self.feed["letters_language"]}

    def add_item_elements(self, handler: SimplerXMLGenerator, item: dict[str, Any]) -> None:
        super().add_item_elements(handler, {**item, "description": None})
        if item["summary"]:
            handler.addQuickElement("summary", item["summary"], {"type": "text"})
        if item["letter"]:
            attributes = {"type": "html", "xml:base": item["link"]}
            handler.addQuickElement("content", item["letter"], attributes)


class IssueFeed(Feed):  # type: ignore[type-arg]  # `Feed` takes no types at run time
    """A feed of the latest issues.

    `render` is the function that renders an edition; None for a feed of summaries.
    """

    feed_type = AtomOfLetters

    def __init__(self, render: Callable[[Edition], str] | None) -> None:
        self._render = render

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Newsletter:
        return newsletter_of(request)

    def title(self, newsletter: Newsletter) -> str:
        return only_xml_characters(newsletter.name)

    author_name = title

    def subtitle(self, newsletter: Newsletter) -> str:
        return only_xml_characters(newsletter.tagline)

    def link(self, newsletter: Newsletter) -> str:
        return f"{settings.SITE_URL}{reverse('archive:index')}"

    def feed_url(self, newsletter: Newsletter) -> str:
        return f"{settings.SITE_URL}{reverse('archive:feed')}"

    def feed_extra_kwargs(self, newsletter: Newsletter) -> dict[str, Any]:
        return {"letters_language": newsletter.language}

    def items(self, newsletter: Newsletter) -> Any:
        # A correction moves its issue to the top of the feed, unless readers see no note about it.
        return list(listed_editions().order_by("-updated_at", "-pk")[:IN_FEED])

    def item_title(self, item: Edition) -> str:
        return plain_title(item)

    def item_description(self, item: Edition) -> str:
        return ""  # the elements `summary` and `content` are added as plain text and HTML

    def item_extra_kwargs(self, item: Any) -> dict[str, Any]:
        summary = summarise(item.html_content, item.text_content, item.preview_text)
        # Make addresses absolute, because many feed readers ignore `xml:base`.
        body = absolute_addresses(self._render(item), item.archive_url) if self._render else ""
        if body and item.corrected_at:
            with timezone.override(Newsletter.objects.get_current().zone):
                body = (
                    render_to_string("archive/corrected.html", {"corrected_at": item.corrected_at})
                    + body
                )
        return {"summary": only_xml_characters(summary), "letter": body}

    def item_author_name(self, item: Edition) -> str | None:
        return only_xml_characters(signature(item.author)) or None

    def item_link(self, item: Edition) -> str:
        return item.archive_url

    def item_guid(self, item: Edition) -> str:
        return item.issue_id.urn

    def item_pubdate(self, item: Any) -> Any:
        return item.first_public_at

    def item_updateddate(self, item: Any) -> Any:
        return item.updated_at
