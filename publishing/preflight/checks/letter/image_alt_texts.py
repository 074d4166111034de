"""Check alt texts and addresses of the images in a letter."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from delivery.issue_attributes import LETTER
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, Words, advice, passed
from publishing.preflight.link_address import absolute_url, is_encrypted, is_web_url, looks_public
from publishing.preflight.parse_letter import Image


def check(context: CheckContext) -> Iterator[Finding]:
    """Find images without alt text, and images whose address readers cannot open."""
    images = context.letter.images
    if not images:
        return
    # In HTML, an empty `alt` marks an image as decoration. In Markdown, an empty alt text
    # counts as missing.
    missing = (None, "") if context.is_markdown else (None,)
    without_alt = [image for image in images if image.alt in missing]
    if without_alt:
        yield _advice(
            ngettext_lazy(
                "{images} image has no alt text", "{images} images have no alt text", "images"
            ),
            _("Readers with a screen reader or without images get nothing in its place."),
            [_url(one, context) for one in without_alt],
        )
    else:
        have = ngettext_lazy(
            "{images} image has alt text.", "{images} images have alt text.", "images"
        )
        yield passed(have, images=len(images))
    urls = [_url(image, context) for image in images]
    if not looks_public(context.site_url):
        # Skip images on our site. If readers cannot reach our site, another check reports that.
        urls = [url for url in urls if not url.startswith(f"{context.site_url.rstrip('/')}/")]
    unreachable = [url for url in urls if not (is_web_url(url) and looks_public(url))]
    if unreachable:
        yield _advice(
            ngettext_lazy(
                "Readers cannot load {images} image",
                "Readers cannot load {images} images",
                "images",
            ),
            _("An image in a mail needs a complete public address with https://."),
            unreachable,
        )
    left_out = set(unreachable)
    if unencrypted := [url for url in urls if url not in left_out and not is_encrypted(url)]:
        yield _advice(
            ngettext_lazy("{images} image uses http", "{images} images use http", "images"),
            _("Some mail programs show only images that use https."),
            unencrypted,
        )


def _advice(sentence: Words, detail: str, urls: list[str]) -> Finding:
    examples = (url or _("(no address)") for url in urls)
    return advice(sentence, detail, LETTER, examples=examples, images=len(urls))


def _url(image: Image, context: CheckContext) -> str:
    return absolute_url(image.address, context.site_url)
