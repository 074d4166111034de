"""Footnotes, anchors and buttons in letters of other products keep working."""

import re

import pytest

from delivery.mail.html_and_text import compose
from delivery.models import Newsletter
from publishing.content.sanitise_html import render_public_issue
from publishing.content.text_part import html_to_text
from publishing.past_issues.clean_letter import clean_letter
from publishing.past_issues.past_issue import Product

# A letter with a footnote, as Substack exports it.
SUBSTACK_FOOTNOTE = (
    "<p>They left"
    '<a class="footnote-anchor" data-component-name="FootnoteAnchorToDOM" id="footnote-anchor-1"'
    ' href="#footnote-1" target="_self">1</a>.</p>'
    '<div class="footnote" data-component-name="FootnoteToDOM"><a id="footnote-1"'
    ' href="#footnote-anchor-1" class="footnote-number" contenteditable="false" target="_self">1'
    '</a><div class="footnote-content"><p>In <em>August</em>.</p><p></p></div></div>'
)
# Letters with footnotes, as Ghost's Markdown card and Ghost's editor write them.
GHOST_FOOTNOTE = (
    '<h2 id="where-they-are">Where</h2><p>They left<sup class="footnote-ref">'
    '<a href="#fn1" id="fnref1">[1]</a></sup>. <a href="#where-they-are">See above</a></p>'
    '<hr class="footnotes-sep"><section class="footnotes"><ol class="footnotes-list">'
    '<li id="fn1" class="footnote-item"><p>In August. <a href="#fnref1" class="footnote-backref">'
    "\u21a9\ufe0e</a></p></li></ol></section>"
)
WRAPPED = (
    '<p class="button-wrapper" data-attrs="{{&quot;url&quot;:&quot;{0}&quot;}}"'
    ' data-component-name="ButtonCreateButton"><a class="button primary" href="{0}">'
    "<span>Press &amp; go</span></a></p>"
)
CAPTIONED = (
    '<div class="captioned-button-wrap" data-component-name="CaptionedButtonToDOM">'
    '<div class="preamble"><p class="cta-caption">The caption.</p></div>' + WRAPPED + "</div>"
)
SUBSTACK_BUTTONS = (WRAPPED, CAPTIONED)
GHOST_BUTTONS = (
    """<div class="kg-card kg-button-card kg-align-center">
    <a href="{0}" class="kg-btn kg-btn-accent">Press &amp; go</a></div>""",
    """<div class="kg-card kg-cta-card kg-cta-bg-grey" data-layout="minimal">
    <div class="kg-cta-content"><div class="kg-cta-text"><p>The text.</p></div>
    <a href="{0}" class="kg-cta-button" style="color: #fff;">Press &amp; go</a></div></div>""",
    """<div class="kg-card kg-product-card"><div class="kg-product-card-container">
    <h4 class="kg-product-card-title">Book</h4><a href="{0}" class="kg-product-card-button"
    target="_blank" rel="noopener noreferrer"><span>Press &amp; go</span></a></div></div>""",
    """<div class="kg-card kg-header-card"><h2 class="kg-header-card-heading">Hi</h2>
    <a href="{0}" class="kg-header-card-button">Press &amp; go</a></div>""",
)
ALL_BUTTONS = [
    *((Product.SUBSTACK, one) for one in SUBSTACK_BUTTONS),
    *((Product.GHOST, one) for one in GHOST_BUTTONS),
]


def cleaned(product: Product, letter: str, slug: str = "") -> str:
    return clean_letter(product, letter, lambda _address: None, slug)[0]


def unprefixed(html: str) -> str:
    """Return the HTML with ids that lack the letter's prefix, and without `rel`."""
    return re.sub(r"at-[0-9a-f]{8}-", "", html).replace(' rel="noopener noreferrer nofollow"', "")


def test_footnotes_of_substack_work_both_ways() -> None:
    letter = cleaned(Product.SUBSTACK, SUBSTACK_FOOTNOTE)
    assert unprefixed(letter) == (
        '<p>They left<sup><a href="#footnote-1" id="footnote-anchor-1">1</a></sup>.</p>'
        '<div><div><p><sup><a href="#footnote-anchor-1" id="footnote-1">1</a></sup> '
        "In <em>August</em>.</p><p></p></div></div>"
    )
    assert html_to_text(letter) == "They left[1].\n\n[1] In August."


def test_number_of_a_footnote_without_paragraphs_stays() -> None:
    letter = SUBSTACK_FOOTNOTE.replace("<p>In", "In").replace("</p><p></p></div>", "</div>")
    assert html_to_text(cleaned(Product.SUBSTACK, letter)).endswith("[1] In August.")
    assert html_to_text(cleaned(Product.SUBSTACK, letter.partition("<div class=")[2])) != ""
    cut = SUBSTACK_FOOTNOTE.partition('<div class="footnote-content">')[0]
    assert html_to_text(cleaned(Product.SUBSTACK, cut)).endswith("[1]")


def test_footnotes_and_headings_of_ghost_work() -> None:
    letter = unprefixed(cleaned(Product.GHOST, GHOST_FOOTNOTE))
    for name in ("fn1", "fnref1", "where-they-are"):
        assert letter.count(f'id="{name}"') == letter.count(f'href="#{name}"') == 1
    assert "<sup><a" in letter
    assert "They left[1]." in html_to_text(letter)


def test_links_stay_right_in_archive_and_mail() -> None:
    newsletter = Newsletter(name="Tides", postal_address="1 Quay", language="en")
    letter = cleaned(Product.SUBSTACK, SUBSTACK_FOOTNOTE)
    urls = {"leave_url": "", "choose_url": "", "archive_url": "https://x.example/"}
    page = render_public_issue("x", letter, "", **urls)
    mail = compose("x", letter, "", newsletter=newsletter, site_url="https://x.example").html
    for shown in (page, mail):
        targets = re.findall(r'href="#([^"]+)"', shown)
        assert sorted(targets) == sorted(re.findall(r'id="(at-[^"]+)"', shown))
        assert len(targets) == 2


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("https://x.substack.com/p/swifts#footnote-1", "#footnote-1"),
        ("https://x.substack.com/p/swifts/#footnote-1", "#footnote-1"),
        ("https://x.substack.com/p/swifts#gone", "https://x.substack.com/p/swifts#gone"),
        ("https://x.substack.com/p/b#footnote-1", "https://x.substack.com/p/b#footnote-1"),
        ("https://x.substack.com/p/swifts", "https://x.substack.com/p/swifts"),
    ],
)
def test_old_address_of_an_own_anchor_leads_to_it(address: str, target: str) -> None:
    letter = f'{SUBSTACK_FOOTNOTE}<p><a href="{address}">x</a></p>'
    found = re.findall(r'href="([^"]*)"', unprefixed(cleaned(Product.SUBSTACK, letter, "swifts")))
    assert found[-1] == target


@pytest.mark.parametrize(("product", "button"), ALL_BUTTONS)
def test_buttons_of_the_author_stay_buttons(product: Product, button: str) -> None:
    letter = unprefixed(cleaned(product, button.format("https://birds.example/a?b=1&amp;c=2")))
    made = '<p class="button"><a href="https://birds.example/a?b=1&amp;c=2">Press &amp; go</a></p>'
    assert made in letter
    assert letter.count("Press") == 1
    for kept in ("The caption.", "The text.", "Book"):
        assert (kept in letter) == (kept in button)


@pytest.mark.parametrize(
    "address",
    [
        *("%%share_url%%", "https://x.substack.com/subscribe?", "https://x.org/leaderboard", ""),
        *("https://x.substack.com/p/swifts?utm_content=share&amp;action=share", "#/portal/signup"),
        *("https://x.org/p/swifts/comments", "https://x.org/#/portal/signup", "//["),
    ],
)
@pytest.mark.parametrize(("product", "button"), ALL_BUTTONS)
def test_buttons_of_the_product_go(product: Product, button: str, address: str) -> None:
    own = '<p><a href="https://birds.example/">Other</a></p>'
    letter = cleaned(product, button.format(address) + own)
    assert "Press" not in letter
    assert "The caption." not in letter
    assert "Other" in letter
