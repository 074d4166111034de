"""Check the images of a letter: alternative texts, and whether readers can load them. Pure."""

from collections.abc import Iterator

from publishing.preflight.facts import Facts
from publishing.preflight.finding import Finding, FixIn, advice, passed
from publishing.preflight.link_address import absolute_url, is_encrypted, is_web_url, looks_public
from publishing.preflight.parse_letter import Image


def check_images(facts: Facts) -> Iterator[Finding]:
    """Find problems with images; nothing if there are none."""
    images = facts.letter.images
    if not images:
        return
    without_alt = [image for image in images if _lacks_alt(image, facts)]
    if without_alt:
        yield _images_finding("images_without_alt", [_url(one, facts) for one in without_alt])
    else:
        yield passed("images_have_alt", images=len(images))
    urls = [_url(image, facts) for image in images]
    if not looks_public(facts.site_url):
        # `site_unreachable` says so already: nothing is wrong with the letter.
        urls = [url for url in urls if not url.startswith(f"{facts.site_url.rstrip('/')}/")]
    unreachable = [url for url in urls if not (is_web_url(url) and looks_public(url))]
    if unreachable:
        yield _images_finding("images_unreachable", unreachable)
    left_out = set(unreachable)
    if unencrypted := [url for url in urls if url not in left_out and not is_encrypted(url)]:
        yield _images_finding("images_over_http", unencrypted)


def _images_finding(code: str, urls: list[str]) -> Finding:
    examples = tuple(dict.fromkeys(url or "(no address)" for url in urls))
    return advice(code, FixIn.LETTER, examples=examples, images=len(urls))


def _lacks_alt(image: Image, facts: Facts) -> bool:
    # In HTML an empty alt marks an ornament. Markdown cannot say that.
    return image.alt is None or (facts.is_markdown and not image.alt)


def _url(image: Image, facts: Facts) -> str:
    return absolute_url(image.address, facts.site_url)
