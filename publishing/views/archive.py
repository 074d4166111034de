"""The archive that everybody may read: its list, its letters, its feed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.syndication.views import Feed
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from delivery.models import Edition, Newsletter
from publishing.archive import letters_of, listed_editions, published_editions
from publishing.issue_list import plain_title
from publishing.public_letter import PublicLetter, public_letter
from publishing.status import BODIES
from publishing.xml_characters import only_xml_characters

if TYPE_CHECKING:
    EditionFeed = Feed[Edition, Newsletter]
else:
    EditionFeed = Feed  # it takes no types at run time

PAGE = 50
IN_FEED = 20
# A correction should be seen within minutes; a crowd should not ask the database.
public_for_a_while = cache_control(public=True, max_age=60)


@require_safe
@public_for_a_while
def index(request: HttpRequest) -> HttpResponse:
    """What was published, newest first."""
    editions = listed_editions()
    page = Paginator(editions, PAGE).get_page(request.GET.get("page"))
    letters = letters_of(editions, max(page.start_index() - 1, 0), page.end_index())
    return _public_page(request, "archive/index.html", {"page": page, "letters": letters})


@require_safe
@public_for_a_while
def issue(request: HttpRequest, slug: str) -> HttpResponse:
    """The newest public edition of one issue."""
    edition = published_editions().filter(issue__slug=slug).first()
    if edition is None:
        raise Http404("There is no letter at this address, or not yet.")
    earlier = listed_editions().filter(first_public_at__lt=edition.first_public_at)
    return _public_page(
        request,
        "archive/issue.html",
        {
            "edition": edition,
            "letter": letter_of(edition),
            "earlier": (other := earlier.defer(*BODIES).first()),
            "earlier_title": plain_title(other) if other else "",
        },
    )


def letter_of(edition: Edition) -> PublicLetter:
    """An edition as everybody may read it."""
    return public_letter(
        plain_title(edition),
        edition.html_content,
        edition.text_content,
        home_url=f"{settings.SITE_URL}/",
        archive_url=edition.archive_url,
    )


def _public_page(request: HttpRequest, template: str, facts: dict[str, Any]) -> HttpResponse:
    newsletter = Newsletter.objects.the_one()
    with timezone.override(newsletter.zone):
        return render(request, template, {"newsletter": newsletter, **facts})


class LetterFeed(EditionFeed):
    """The latest letters as Atom, each whole."""

    feed_type = Atom1Feed

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Newsletter:
        """The newsletter, which names the feed."""
        return Newsletter.objects.the_one()

    def title(self, newsletter: Newsletter) -> str:
        return only_xml_characters(newsletter.name)

    def subtitle(self, newsletter: Newsletter) -> str:
        return only_xml_characters(newsletter.tagline)

    def link(self, newsletter: Newsletter) -> str:
        return f"{settings.SITE_URL}{reverse('archive:index')}"

    def feed_url(self, newsletter: Newsletter) -> str:
        return f"{settings.SITE_URL}{reverse('archive:feed')}"

    def items(self, newsletter: Newsletter) -> Any:
        # By the day of the version that is shown: a correction of an old letter is news.
        return list(listed_editions().order_by("-published_at", "-pk")[:IN_FEED])

    def item_title(self, item: Edition) -> str:
        return plain_title(item)

    def item_description(self, item: Any) -> str:
        if not item.corrects:
            return letter_of(item).body
        with timezone.override(Newsletter.objects.the_one().zone):
            corrected = render_to_string("archive/corrected.html", {"edition": item})
        return corrected + letter_of(item).body

    def item_link(self, item: Edition) -> str:
        return item.archive_url

    def item_guid(self, item: Edition) -> str:
        return item.issue_id.urn

    def item_pubdate(self, item: Any) -> Any:
        return item.first_public_at

    def item_updateddate(self, item: Edition) -> Any:
        return item.published_at


feed = public_for_a_while(LetterFeed())
