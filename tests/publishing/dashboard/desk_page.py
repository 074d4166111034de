"""Read the desk's page of issues and its sections."""

import re

from tests.publishing.author_browser import Page

DESK = "/admin/newsletters/issues/"


def section(page: Page, name: str) -> str:
    """Return the text of a section of the page; empty if there is no such section."""
    found = re.search(
        rf'<section class="sec" aria-labelledby="{name}">(.*?)</section>', page.html, re.S
    )
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split()) if found else ""


def titles(page: Page) -> list[str]:
    """Return the titles in the section of issues, from the top."""
    issues = page.html.partition('id="issues"')[2].partition("</section>")[0]
    return re.findall(r'class="title"[^>]*>([^<]+)<', issues)


def lede(page: Page) -> str:
    return " ".join(re.search(r'<p class="lede">(.*?)</p>', page.html, re.S)[1].split())
