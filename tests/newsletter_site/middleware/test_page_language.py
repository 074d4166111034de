"""Readers' pages use the newsletter's language; the desk uses the browser's."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from delivery.models import Newsletter

pytestmark = pytest.mark.django_db


def html_tag(path: str, accepts: str) -> str:
    """Return the tag <html> of a page, for a browser that accepts these languages."""
    page = Client().get(path, headers={"Accept-Language": accepts}, secure=True).content.decode()
    return page[page.index("<html") :].partition(">")[0]


@pytest.mark.parametrize(
    ("accepts", "language"),
    [
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("en-GB,de;q=0.9", "en"),
        ("fr,de;q=0.5", "de"),
        ("ar,fr", "en"),
        ("", "en"),
    ],
)
def test_the_desk_comes_in_english_or_german(accepts: str, language: str) -> None:
    Newsletter.objects.update_or_create(pk=1, defaults={"language": "he"})

    assert f'lang="{language}"' in html_tag("/admin/login/", accepts)


def test_a_readers_page_ignores_the_browsers_language() -> None:
    Newsletter.objects.update_or_create(pk=1, defaults={"language": "he"})

    assert 'lang="he"' in html_tag("/nothing-here", "de")


def test_the_newsletter_is_read_once_for_a_page() -> None:
    with CaptureQueriesContext(connection) as queries:
        Client().get("/record/", secure=True)

    read = [query for query in queries if 'FROM "newsletter"' in query["sql"]]
    assert len(read) == 1


@pytest.mark.parametrize("path", ["/api/v1/openapi.json", "/webhooks/postmark/", "/favicon.ico"])
def test_programs_cost_no_query_for_the_language(path: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        Client().get(path, secure=True)

    assert not [query for query in queries if 'FROM "newsletter"' in query["sql"]]
