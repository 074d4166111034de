"""The author's links in the footer of public pages, with About and the imprint."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.urls import reverse
from django.utils.translation import gettext as _

from delivery.models import Newsletter

MOST = 8
LONGEST_TITLE, LONGEST_ADDRESS = 60, 300  # in characters
_LINE = re.compile(r"(?:(.*\S)\s+)?(https://\S+)", re.IGNORECASE)
_check_address = URLValidator(schemes=["https"])


@dataclass(frozen=True, slots=True)
class FooterLink:
    """A link to another site or to a page of this site."""

    title: str
    address: str
    is_elsewhere: bool = True
    is_own_title: bool = True
    """Whether the author wrote the title, in the newsletter's language."""


def read_links(text: str) -> tuple[list[FooterLink], list[str]]:
    """Return the links, one from each line, and the lines without a usable link.

    A line has a title and an address. Without a title, the link gets the name of the site.
    """
    links, unusable = list[FooterLink](), list[str]()
    for line in filter(None, map(str.strip, text.splitlines())):
        found = _LINE.fullmatch(line)
        if found is None or not is_https_address(found[2]):
            unusable.append(line)
        else:
            title = found[1] or str(urlsplit(found[2]).hostname)
            links.append(FooterLink(title[:LONGEST_TITLE], found[2]))
    return links, unusable


def write_links(links: Sequence[FooterLink]) -> str:
    """Return the links as lines, which `read_links` reads."""
    return "\n".join(f"{link.title} {link.address}" for link in links)


def is_https_address(text: str) -> bool:
    """Return whether the text is one address with https and nothing else."""
    try:
        _check_address(text)
    except ValidationError:
        return False
    return len(text) <= LONGEST_ADDRESS


def footer_links(newsletter: Newsletter) -> list[FooterLink]:
    """Return all links of the author, in the order in which the footer shows them."""
    links, _unusable = read_links(newsletter.own_links)
    if newsletter.about:
        links.append(FooterLink(_("About"), reverse("about"), False, False))
    if is_https_address(newsletter.imprint):
        links.append(FooterLink(_("Imprint"), newsletter.imprint, True, False))
    elif newsletter.imprint:
        links.append(FooterLink(_("Imprint"), reverse("imprint"), False, False))
    return links
