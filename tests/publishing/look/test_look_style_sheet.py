"""The pages for readers have the newsletter's look."""

import re

import pytest
from django.urls import reverse

from delivery.mail.colours_and_typefaces import accent_for, look_of
from delivery.models import Newsletter
from publishing.look.look_style_sheet import look_sheet
from tests.subscribers.signup_browser import visitor

pytestmark = pytest.mark.django_db


def change(**values: object) -> None:
    Newsletter.objects.update_or_create(pk=1, defaults=values)


def sheet_of(page: str) -> str:
    [address] = re.findall(r'href="(/look\.css\?v=\w{12})"', page)
    return str(address)


@pytest.mark.parametrize("page", ["home", "archive:index", "subscribers:request_data"])
def test_readers_pages_name_the_sheet_of_the_current_look(page: str) -> None:
    before = sheet_of(visitor().get(reverse(page)).content.decode())
    change(name="Tides", accent="#ffee00", typeface="magazine")
    after = sheet_of(visitor().get(reverse(page)).content.decode())
    assert after != before
    answer = visitor().get(after)
    assert answer["Content-Type"] == "text/css; charset=utf-8"
    assert answer["Cache-Control"] == "public, max-age=31536000"
    sheet = answer.content.decode()
    accent = accent_for("#ffee00")
    assert f"--sent: {accent.light};" in sheet
    assert f"--sent: {accent.dark};" in sheet
    assert "--heading: var(--sans); --text: var(--serif); --bold: 700;" in sheet
    # `before` is the address of an older style sheet. Caches keep this answer for only a minute.
    assert visitor().get(before)["Cache-Control"] == "public, max-age=60"


def test_error_pages_of_readers_have_the_look_too() -> None:
    change(name="Tides")
    page = visitor().get("/nowhere/")
    assert page.status_code == 404
    assert sheet_of(page.content.decode())
    assert "<span>Tides</span>" in page.content.decode()
    assert "look.css" not in visitor().get("/admin/newsletters/nowhere/").content.decode()


@pytest.mark.parametrize("typeface", ["book", "modern", "magazine", "journal"])
def test_each_pair_of_typefaces_has_its_own_sheet(typeface: str) -> None:
    sheet = look_sheet(look_of(Newsletter(typeface=typeface)))
    pair = re.findall(r"--(?:heading|text): var\(--(\w+)\)", sheet)
    sans = {"book": [], "modern": [0, 1], "magazine": [0], "journal": [1]}[typeface]
    assert pair == ["sans" if place in sans else "serif" for place in (0, 1)]


def test_only_the_newsletter_without_a_name_has_the_swifts() -> None:
    assert 'id="swift"' in visitor().get("/").content.decode()
    change(name="Tides")
    assert 'id="swift"' not in visitor().get("/").content.decode()


@pytest.mark.parametrize("page", ["home", "archive:index", "subscribers:request_data"])
def test_logo_takes_the_place_of_the_name(page: str) -> None:
    logo = {"logo": "/pictures/x.png", "logo_width": 600, "logo_height": 120}
    change(name="Tides", header="logo", **logo)
    html = visitor().get(reverse(page)).content.decode()
    assert re.search(r'class="logo on-plate" src="/pictures/x.png"\s+width="200" height="40"', html)
    assert 'alt="Tides"' in html
    change(header="both")
    html = visitor().get(reverse(page)).content.decode()
    assert 'alt=""' in html
    assert "<span>Tides</span>" in html
    change(dark_logo="/pictures/y.png", dark_logo_width=100, dark_logo_height=50)
    html = visitor().get(reverse(page)).content.decode()
    assert 'media="(prefers-color-scheme: dark)" srcset="/pictures/y.png"' in html
    assert "on-plate" not in html
