"""What other sites and search engines show of a page: image, locale and JSON-LD."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import to_locale

from delivery.models import Newsletter
from publishing.archive.shown_images import ShownImage

# `static/card.png` shows no words, because a title can have letters of any script, and no font of
# the server has them all.
CARD_SIZE = (1200, 630)
# Characters that could end the element `script`, or that old JavaScript takes for a line break.
_ESCAPES = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}
# Open Graph wants a territory. For these languages it is the language's code, in capitals.
_OWN_TERRITORY = ("de", "fr", "es", "pt", "it", "nl", "pl")
_TERRITORIES = {"en": "US", "ar": "AR", "he": "IL", **{one: one.upper() for one in _OWN_TERRITORY}}


@dataclass(frozen=True, slots=True)
class PreviewImage:
    """The image of a link's preview; a large one fills the width of the preview."""

    address: str
    alt: str
    width: int = 0
    height: int = 0
    is_large: bool = True


def preview_image(image: ShownImage | None, newsletter: Newsletter) -> PreviewImage:
    """Return the image, else the newsletter's logo, else a drawn card."""
    if image:
        width, height = (image.size.width, image.size.height) if image.size else (0, 0)
        return PreviewImage(of_site(image.address), image.alt, width, height)
    if newsletter.logo:
        size = newsletter.logo_width, newsletter.logo_height
        return PreviewImage(of_site(newsletter.logo), newsletter.name, *size, is_large=False)
    return PreviewImage(of_site(static("card.png")), newsletter.name, *CARD_SIZE)


def locale_of(language: str) -> str:
    """Return a language as Open Graph writes it, such as pt_PT; empty if it is unsure."""
    locale = to_locale(language)
    territory = _TERRITORIES.get(locale)
    return locale if "_" in locale else f"{locale}_{territory}" if territory else ""


def news_article(
    newsletter: Newsletter,
    *,
    title: str,
    summary: str,
    url: str,
    author: str,
    published_at: datetime,
    modified_at: datetime,
    image: PreviewImage,
) -> SafeString:
    """Return a letter as JSON-LD (schema.org/NewsArticle), for an element `script`."""
    publisher: dict[str, Any] = _thing(
        "Organization", name=newsletter.name, url=of_site(reverse("home"))
    )
    if newsletter.logo:
        publisher["logo"] = _thing("ImageObject", url=of_site(newsletter.logo))
    article = {
        "@context": "https://schema.org",
        **_thing("NewsArticle", headline=title, description=summary),
        "inLanguage": newsletter.language,
        "datePublished": published_at.isoformat(timespec="seconds"),
        "dateModified": modified_at.isoformat(timespec="seconds"),
        "author": [_thing("Person", name=author) if author else publisher],
        "publisher": publisher,
        "image": [image.address],
        "mainEntityOfPage": url,
    }
    text = json.dumps(article, ensure_ascii=False).translate(_ESCAPES)
    return mark_safe(text)  # noqa: S308 -- escaped for an element `script`


def of_site(path: str) -> str:
    """Return an address with scheme and host, if it is a path of this site."""
    return f"{settings.SITE_URL}{path}" if path.startswith("/") else path


def _thing(kind: str, **values: str) -> dict[str, str]:
    return {"@type": kind, **{name: value for name, value in values.items() if value}}
