"""Every layout and look follows the rules of docs/mail-html.md."""

import re
from html.parser import HTMLParser
from itertools import product

import pytest

from delivery.mail.html_and_text import compose, compose_transactional
from delivery.models import Edition, Newsletter
from delivery.models.newsletter import Header, Layout, Typeface

SITE = "https://letter.example.org"
LETTER = (
    '<p><img src="/pictures/hedge.png" alt="A hedge" width="1200" height="400"></p>'
    "<h2>Swifts</h2><p>They <a href='/x'>came</a>.</p><ul><li>one</li></ul>"
    "<blockquote><p>Soon.</p></blockquote><table><tr><th>a</th><td>b</td></tr></table>"
)
GMAIL_STYLES, CLASSIC_FRAME = 8_192, 6_700
# Word or Gmail drop these properties, so a layout that needs such a property would break there.
UNSUPPORTED = re.compile(r"\b(?:display:(?:flex|grid)|position:|float:|var\()")


class _Rules(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.broken: list[str] = []
        self.styles: list[str] = []
        self.metas: set[str] = set()
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        style = re.sub(r":\s+", ":", found.get("style", ""))
        self._in_style = tag == "style"
        if tag == "html":
            self._need(tag, found, "lang", "dir")
        elif tag == "meta":
            self.metas.add(found.get("name", ""))
        elif tag == "img":
            self._need(tag, found, "alt", "width", "height")
        elif tag == "table" and "border-collapse" not in style:
            self._need(tag, found, "role", "cellpadding", "cellspacing", "border")
            if "width:auto" not in style:
                self._need(tag, found, "width")
        elif tag in ("div", "p", "a") and "padding" in style:
            self.broken.append(f"<{tag}> has a padding, which Outlook ignores")
        if UNSUPPORTED.search(style):
            self.broken.append(f"<{tag}>: {style}")

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.styles.append(data)
            self._in_style = False

    def _need(self, tag: str, found: dict[str, str], *names: str) -> None:
        self.broken += [f"<{tag}> has no {name}" for name in names if not found.get(name)]


def broken_rules(html: str) -> list[str]:
    """Return a text for each broken rule of mail HTML."""
    rules = _Rules()
    rules.feed(html)
    broken = rules.broken
    if not {"color-scheme", "supported-color-schemes", "viewport"} <= rules.metas:
        broken.append(f"metas: {sorted(rules.metas)}")
    if sum(map(len, rules.styles)) > GMAIL_STYLES:
        broken.append("Gmail drops style sheets of this size")
    # Gmail drops a whole style element if one of its selectors is unknown to Gmail.
    if any("[data-" in sheet and "@media" in sheet for sheet in rules.styles):
        broken.append("selectors of Outlook.com beside the rules for others")
    if html.count("<!--[if ") != html.count("<![endif]-->"):
        broken.append("a condition for Outlook without its end")
    return broken


def newsletter(*, dark_logo: str = "/pictures/dark.png", **values: str) -> Newsletter:
    return Newsletter(
        name="Ada & Friends",
        tagline="Birds & tides",
        postal_address="1 Quay",
        footer="Written\nby hand",
        logo="/pictures/logo.png",
        logo_width=600,
        logo_height=120,
        dark_logo=dark_logo,
        dark_logo_width=100,
        dark_logo_height=20,
        **values,
    )


@pytest.mark.parametrize(
    ("layout", "typeface", "header", "language"),
    [*product(Layout.values, Typeface.values, Header.values, ["en", "ar"])],
)
def test_mail_follows_the_rules(layout: str, typeface: str, header: str, language: str) -> None:
    own = newsletter(layout=layout, typeface=typeface, header=header, language=language)
    letter = compose("Swifts", LETTER, "", newsletter=own, site_url=SITE, has_topics=True)
    _, confirmation = compose_transactional(Edition.Kind.CONFIRMATION, own)
    for html in (letter.html, confirmation.html):
        assert broken_rules(html) == []
        assert f'lang="{language}" dir="{"rtl" if language == "ar" else "ltr"}"' in html
        assert ('src="http' in html) == (header != "name" or html is letter.html)
    assert letter.html.count("Written<br>by hand") == 1


@pytest.mark.parametrize("has_dark_logo", [True, False])
def test_dark_mode_shows_the_dark_logo_or_a_light_plate(has_dark_logo: bool) -> None:
    own = newsletter(header=Header.LOGO, **({} if has_dark_logo else {"dark_logo": ""}))
    html = compose("x", LETTER, "", newsletter=own, site_url=SITE).html
    at_night = html.split("(prefers-color-scheme: dark) {")[1].split("</style>")[0]
    assert (".by-day { display: none !important; }" in at_night) == has_dark_logo
    assert (".on-plate { padding: 8px 12px !important;" in at_night) == (not has_dark_logo)
    logos = re.findall(r'<img class="([\w-]+)" src="[^"]*/(\w+)\.png"', html)
    shown = [("by-day", "logo"), ("by-night", "dark")] if has_dark_logo else [("on-plate", "logo")]
    assert logos == shown
    assert ("display:none;margin:0 auto" in html) == has_dark_logo


def test_the_checker_finds_what_breaks_a_rule() -> None:
    bad = '<html><table><tr><td><div style="padding: 9px; display: flex"><img src="x">'
    assert len(broken_rules(bad)) == 13


def test_right_to_left_letter_begins_on_the_right() -> None:
    html = compose("x", LETTER, "", newsletter=newsletter(language="he"), site_url=SITE).html
    assert "padding-right:26px" in html
    assert "border-right:1px solid" in html
    assert 'align="left"' not in html


@pytest.mark.parametrize(
    "opening",
    [
        '<p><img src="/a.png" alt="a" width="900" height="300"></p>',
        '<h1>Swifts</h1>\n<p><a href="/to"><img src="/a.png" alt="a" width="9" height="3"></a></p>',
        '<figure><img src="/a.png" alt="a" width="900" height="300"></figure>',
    ],
)
def test_picture_that_opens_a_letter_goes_above_the_title(opening: str) -> None:
    own = newsletter(layout=Layout.PICTURE)
    html = compose("Swifts", f"{opening}<p>x</p>", "", newsletter=own, site_url=SITE).html
    assert html.count("/a.png") == html.count("<h1") == 1
    assert html.index(f'{SITE}/a.png" alt="a"') < html.index("<h1")
    assert re.search(r'width="600" height="200"', html)
    assert ("/to" in html) == ("/to" in opening)


@pytest.mark.parametrize(
    "opening",
    [
        "<p>First <img src='/a.png' alt=''></p>",
        "<p>First.</p><p><img src='/a.png' alt=''></p>",
        "<figure><img src='/a.png' alt=''><figcaption>c</figcaption></figure>",
        "<p><a href='/b'><img src='/a.png' alt=''> and more</a></p>",
    ],
)
def test_other_pictures_stay_where_they_are(opening: str) -> None:
    own = newsletter(layout=Layout.PICTURE)
    html = compose("Swifts", opening, "", newsletter=own, site_url=SITE).html
    assert html.index("<h1") < html.index("/a.png")


def test_wide_pictures_fit_into_the_column() -> None:
    pictures = (
        "<p>x <img src='/a.png' alt='>' WIDTH=1072 height='400'><img src='/b.png' width='100%'></p>"
        '<p><img src="/c.png" alt="width=999" width="400" height="900"></p>'
    )
    html = compose("x", pictures, "", newsletter=newsletter(), site_url=SITE).html
    sizes = re.findall(r'<img src="https://[^"]*/(\w).png"[^\n]*? width="(\S+?)"', html)
    assert sizes == [("a", "536"), ("b", "100%"), ("c", "400")]
    assert 'height="200"' in html
    assert 'alt="width=999"' in html


def test_frame_of_a_classic_letter_stays_small() -> None:
    own = Newsletter(name="Ada", postal_address="1 Quay")
    assert len(compose("x", "<p>x</p>", "", newsletter=own, site_url=SITE).html) < CLASSIC_FRAME
