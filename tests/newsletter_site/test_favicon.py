"""Browsers request /favicon.ico automatically."""

from django.contrib.staticfiles import finders
from django.test import Client


def test_favicon_ico_redirects_to_the_icon(client: Client) -> None:
    there = client.get("/favicon.ico", secure=True)
    assert there.status_code == 302
    assert there["Location"] == "/static/favicon.svg"
    assert finders.find("favicon.svg")
    assert "max-age" in there["Cache-Control"]
